// A text as a memory-mapped file of tokens, made once beside the text (or in a cache folder) and
// made again when the text changes. Layout, little-endian: 48 bytes of header, then the tokens as
// uint16 or uint32.
#ifndef TRIREME_COMMON_FORMATS_TOKEN_FILE_H_
#define TRIREME_COMMON_FORMATS_TOKEN_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/formats/files.h"
#include "common/formats/tokenizer.h"

namespace trireme {

class TokenFile {
 public:
  // Opens the tokens of the text at `text_path`, encoding it first unless a file made from a text
  // of this size and modification time by this tokenizer is there. `cache_folder` empty: the file
  // lies beside the text. Processes that make it at the same time do not disturb each other.
  // Errors: kNotFound without the text; kInvalidArgument when it is empty; kUnavailable from the
  // disk.
  static StatusOr<TokenFile> OpenText(const std::string& text_path, const Tokenizer& tokenizer,
                                      const std::string& cache_folder = "");

  // Opens a token file as it is. Errors: kInvalidArgument naming the file and what is damaged.
  static StatusOr<TokenFile> Open(const std::string& path);

  int64_t size() const { return size_; }
  const std::string& path() const { return file_.path(); }
  // Copies tokens [start, start + count). Requires them to be inside.
  void Read(int64_t start, int64_t count, int32_t* out) const;

 private:
  explicit TokenFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  int64_t size_ = 0;
  int64_t token_bytes_ = 0;
};

// Where OpenText keeps the tokens.
std::string TokenFilePath(const std::string& text_path, std::string_view tokenizer,
                          const std::string& cache_folder);

// Several texts one after the other.
class TokenCorpus {
 public:
  // Errors: those of TokenFile::OpenText.
  static StatusOr<TokenCorpus> Open(const std::vector<std::string>& text_paths,
                                    const Tokenizer& tokenizer,
                                    const std::string& cache_folder = "");

  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  // Copies tokens [start, start + count) of the whole. Requires them to be inside.
  void Read(int64_t start, int64_t count, int32_t* out) const;

 private:
  std::vector<TokenFile> files_;
  std::vector<int64_t> ends_;  // tokens up to and with each file
};

}  // namespace trireme

#endif  // TRIREME_COMMON_FORMATS_TOKEN_FILE_H_
