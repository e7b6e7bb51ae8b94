// The header carries size and time of the text it was made from, so a stale file is known without
// reading the text.
#include "common/formats/token_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/base/check.h"
#include "common/base/math.h"

namespace trireme {
namespace {

constexpr uint64_t kMagic = 0x314b4f5445524954ull;  // "TIRETOK1" in a little-endian file
constexpr int64_t kEncodeBytes = 1 << 20;

struct Header {
  uint64_t magic = kMagic;
  uint32_t version = 1;
  uint32_t token_bytes = 0;
  uint64_t count = 0;
  uint64_t text_bytes = 0;
  int64_t text_time_ns = 0;
  uint64_t tokenizer_hash = 0;
};
static_assert(sizeof(Header) == 48);

// What a token file made from this text by this tokenizer would say, but for the count.
StatusOr<Header> HeaderFor(const std::string& text_path, const Tokenizer& tokenizer) {
  struct stat info = {};
  if (::stat(text_path.c_str(), &info) != 0) {
    const std::string reason = std::strerror(errno);
    return NotFound(text_path + ": " + reason +
                    "; data.train needs a text file that this host reads");
  }
  if (info.st_size == 0) return InvalidArgument(text_path + ": empty; nothing to train on");
  Header header;
  header.token_bytes = tokenizer.vocab_size() <= 65536 ? 2 : 4;
  header.text_bytes = static_cast<uint64_t>(info.st_size);
  header.text_time_ns = info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
  header.tokenizer_hash = StableHash(tokenizer.name());
  return header;
}

StatusOr<Header> ReadHeader(const MappedFile& file) {
  const std::span<const std::byte> data = file.data();
  Header header;
  if (data.size() < sizeof(header)) {
    return InvalidArgument(file.path() + ": too short for a token file; delete it to make it anew");
  }
  std::memcpy(&header, data.data(), sizeof(header));
  const bool good = header.magic == kMagic && header.version == 1 &&
                    (header.token_bytes == 2 || header.token_bytes == 4);
  if (!good) {
    return InvalidArgument(file.path() +
                           ": not a token file of version 1; delete it to make it "
                           "anew");
  }
  const uint64_t tokens = (data.size() - sizeof(header)) / header.token_bytes;
  if (header.count != tokens || tokens * header.token_bytes != data.size() - sizeof(header)) {
    return InvalidArgument(file.path() + ": holds " + std::to_string(tokens) + " tokens, says " +
                           std::to_string(header.count) + "; delete it to make it anew");
  }
  return header;
}

bool IsFresh(const std::string& path, const Header& wanted) {
  const StatusOr<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return false;
  StatusOr<Header> header = ReadHeader(*file);
  return header.ok() && header->token_bytes == wanted.token_bytes &&
         header->text_bytes == wanted.text_bytes && header->text_time_ns == wanted.text_time_ns &&
         header->tokenizer_hash == wanted.tokenizer_hash;
}

Status AppendTokens(const std::vector<int32_t>& tokens, uint32_t token_bytes,
                    AtomicFileWriter* writer) {
  if (token_bytes == 4) return writer->Append(std::as_bytes(std::span(tokens)));
  const std::vector<uint16_t> narrow(tokens.begin(), tokens.end());
  return writer->Append(std::as_bytes(std::span(narrow)));
}

// Encodes `text` in parts and hands each to `use`.
template <typename Use>
Status EncodeInParts(const MappedFile& text, const Tokenizer& tokenizer, Use use) {
  const std::string_view all(reinterpret_cast<const char*>(text.data().data()), text.data().size());
  const size_t part = tokenizer.cuts_anywhere() ? kEncodeBytes : all.size();
  std::vector<int32_t> tokens;
  for (size_t at = 0; at < all.size(); at += part) {
    tokens.clear();
    tokenizer.Encode(all.substr(at, part), &tokens);
    RETURN_IF_ERROR(use(tokens));
  }
  return absl::OkStatus();
}

Status Build(const std::string& text_path, const Tokenizer& tokenizer, Header header,
             const std::string& path) {
  ASSIGN_OR_RETURN(const MappedFile text, MappedFile::Open(text_path));
  RETURN_IF_ERROR(EncodeInParts(text, tokenizer, [&](const std::vector<int32_t>& tokens) {
    header.count += tokens.size();
    return absl::OkStatus();
  }));
  StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create(path);
  if (!writer.ok()) {
    return Annotate(writer.status(),
                    "cannot keep the tokens of " + text_path +
                        " there; make the folder writable or choose another cache folder");
  }
  RETURN_IF_ERROR(writer->Append(std::as_bytes(std::span(&header, 1))));
  RETURN_IF_ERROR(EncodeInParts(text, tokenizer, [&](const std::vector<int32_t>& tokens) {
    return AppendTokens(tokens, header.token_bytes, &*writer);
  }));
  return writer->Commit();
}

}  // namespace

std::string TokenFilePath(const std::string& text_path, std::string_view tokenizer,
                          const std::string& cache_folder) {
  const std::string suffix = "." + std::string(tokenizer) + ".tokens";
  if (cache_folder.empty()) return text_path + suffix;
  const std::filesystem::path text(text_path);
  char hash[24];
  std::snprintf(hash, sizeof(hash), "%016llx",
                static_cast<unsigned long long>(StableHash(text.lexically_normal().string())));
  return cache_folder + "/" + text.filename().string() + "." + hash + suffix;
}

StatusOr<TokenFile> TokenFile::OpenText(const std::string& text_path, const Tokenizer& tokenizer,
                                        const std::string& cache_folder) {
  ASSIGN_OR_RETURN(const Header wanted, HeaderFor(text_path, tokenizer));
  const std::string path = TokenFilePath(text_path, tokenizer.name(), cache_folder);
  if (!IsFresh(path, wanted)) {
    if (!cache_folder.empty()) RETURN_IF_ERROR(MakeFolders(cache_folder));
    RETURN_IF_ERROR(Build(text_path, tokenizer, wanted, path));
  }
  return Open(path);
}

StatusOr<TokenFile> TokenFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  ASSIGN_OR_RETURN(const Header header, ReadHeader(mapped));
  TokenFile file(std::move(mapped));
  file.size_ = static_cast<int64_t>(header.count);
  file.token_bytes_ = header.token_bytes;
  return file;
}

void TokenFile::Read(int64_t start, int64_t count, int32_t* out) const {
  CHECK(start >= 0 && count >= 0 && start <= size_ - count)
      << path() << ": tokens [" << start << ", +" << count << ") of " << size_;
  const std::byte* from = file_.data().data() + sizeof(Header) + start * token_bytes_;
  if (token_bytes_ == 4) {
    std::memcpy(out, from, count * sizeof(int32_t));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    uint16_t token = 0;
    std::memcpy(&token, from + i * 2, sizeof(token));
    out[i] = token;
  }
}

StatusOr<TokenCorpus> TokenCorpus::Open(const std::vector<std::string>& text_paths,
                                        const Tokenizer& tokenizer,
                                        const std::string& cache_folder) {
  TokenCorpus corpus;
  for (const std::string& path : text_paths) {
    ASSIGN_OR_RETURN(TokenFile file, TokenFile::OpenText(path, tokenizer, cache_folder));
    corpus.ends_.push_back(corpus.size() + file.size());
    corpus.files_.push_back(std::move(file));
  }
  return corpus;
}

void TokenCorpus::Read(int64_t start, int64_t count, int32_t* out) const {
  CHECK(start >= 0 && count >= 0 && start <= size() - count)
      << "tokens [" << start << ", +" << count << ") of " << size();
  size_t index = std::upper_bound(ends_.begin(), ends_.end(), start) - ends_.begin();
  while (count > 0) {
    const int64_t begin = index == 0 ? 0 : ends_[index - 1];
    const int64_t part = std::min(count, ends_[index] - start);
    files_[index].Read(start - begin, part, out);
    start += part;
    out += part;
    count -= part;
    ++index;
  }
}

}  // namespace trireme
