// The reader trusts nothing: every number of the header is checked against the file before it is
// used.
#include "common/formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kMetadata[] = "__metadata__";
constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxDims = 16;

std::optional<DType> DTypeOf(const std::string& name) {
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBFloat16, DType::kFloat16}) {
    if (SafetensorsName(dtype) == name) return dtype;
  }
  return std::nullopt;
}

// Bytes of a tensor, or nullopt when a size is negative or the product leaves int64.
std::optional<int64_t> BytesOf(DType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = SizeOf(dtype);
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

std::optional<int64_t> ToSize(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<uint64_t>();
  if (number > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<int64_t>(number);
}

struct Placed {
  int64_t begin;
  int64_t end;
  std::string name;
};

// One entry of the header: fills `tensor` but for its data, and says where that lies.
StatusOr<Placed> ParseEntry(const std::string& name, const Json& entry, StoredTensor* tensor) {
  const auto bad = [&name](const std::string& what) {
    return InvalidArgument("tensor " + name + ": " + what);
  };
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return bad("expected dtype, shape and data_offsets");
  }
  const Json& dtype = entry["dtype"];
  if (!dtype.is_string()) return bad("expected a name as dtype");
  const std::optional<DType> known = DTypeOf(dtype.get<std::string>());
  if (!known) {
    return bad("dtype " + dtype.get<std::string>() + " is not one of F32, F64, I32, BF16, F16");
  }
  tensor->dtype = *known;
  const Json& shape = entry["shape"];
  if (!shape.is_array() || shape.size() > kMaxDims) return bad("expected a list of sizes as shape");
  for (const Json& item : shape) {
    const std::optional<int64_t> size = ToSize(item);
    if (!size) return bad("expected whole numbers >= 0 in shape");
    tensor->shape.push_back(*size);
  }
  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) return bad("expected two data_offsets");
  const std::optional<int64_t> begin = ToSize(offsets[0]);
  const std::optional<int64_t> end = ToSize(offsets[1]);
  const std::optional<int64_t> bytes = BytesOf(tensor->dtype, tensor->shape);
  if (!begin || !end || *begin > *end || !bytes || *end - *begin != *bytes) {
    return bad("data_offsets " + offsets.dump() + " do not fit shape " + shape.dump());
  }
  return Placed{*begin, *end, name};
}

Status ParseMetadata(const Json& entry, std::map<std::string, std::string>* metadata) {
  if (!entry.is_object()) return InvalidArgument("expected a map as __metadata__");
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) return InvalidArgument("expected text as __metadata__ " + key);
    (*metadata)[key] = value.get<std::string>();
  }
  return absl::OkStatus();
}

// The tensors must cover [0, data_bytes) one after the other.
Status CheckCover(std::vector<Placed> placed, int64_t data_bytes) {
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::make_pair(a.begin, a.end) < std::make_pair(b.begin, b.end);
  });
  int64_t at = 0;
  for (const Placed& one : placed) {
    if (one.begin != at) {
      return InvalidArgument("tensor " + one.name + ": starts at byte " +
                             std::to_string(one.begin) + " of the data, expected " +
                             std::to_string(at));
    }
    at = one.end;
  }
  if (at == data_bytes) return absl::OkStatus();
  return InvalidArgument("holds " + std::to_string(data_bytes) +
                         " bytes of data, its header needs " + std::to_string(at) +
                         "; it was cut short or is damaged");
}

Status ParseHeader(std::string_view text, std::span<const std::byte> data,
                   std::map<std::string, StoredTensor>* tensors,
                   std::map<std::string, std::string>* metadata) {
  const Json header = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return InvalidArgument("its header is not a JSON map");
  std::vector<Placed> placed;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      RETURN_IF_ERROR(ParseMetadata(entry, metadata));
      continue;
    }
    StoredTensor tensor;
    ASSIGN_OR_RETURN(Placed place, ParseEntry(name, entry, &tensor));
    if (!tensors->emplace(name, std::move(tensor)).second) {
      return InvalidArgument("tensor " + name + " is there twice");
    }
    placed.push_back(std::move(place));
  }
  RETURN_IF_ERROR(CheckCover(placed, static_cast<int64_t>(data.size())));
  for (const Placed& one : placed) {
    (*tensors)[one.name].data = data.subspan(one.begin, one.end - one.begin);
  }
  return absl::OkStatus();
}

// Larger elements first, so that every tensor starts at a multiple of its element.
std::vector<const TensorToWrite*> FileOrder(const std::vector<TensorToWrite>& tensors) {
  std::vector<const TensorToWrite*> order;
  for (const TensorToWrite& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return SizeOf(a->dtype) > SizeOf(b->dtype);
  });
  return order;
}

StatusOr<std::string> MakeHeader(const std::vector<const TensorToWrite*>& order,
                                 const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::map<std::string, int> seen = {{kMetadata, 1}};
  int64_t at = 0;
  for (const TensorToWrite* tensor : order) {
    if (seen[tensor->name]++ > 0) {
      return InvalidArgument("tensor name " + tensor->name + " is reserved or given twice");
    }
    const std::optional<int64_t> bytes = BytesOf(tensor->dtype, tensor->shape);
    int64_t given = 0;
    for (const auto& piece : tensor->pieces) given += static_cast<int64_t>(piece.size());
    if (!bytes || *bytes != given) {
      return InvalidArgument("tensor " + tensor->name + ": pieces of " + std::to_string(given) +
                             " bytes in all do not fill its shape");
    }
    header[tensor->name] = Json{{"dtype", std::string(SafetensorsName(tensor->dtype))},
                                {"shape", tensor->shape},
                                {"data_offsets", {at, at + given}}};
    at += given;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  while (text.size() % 8 != 0) text += ' ';
  if (static_cast<int64_t>(text.size()) > kMaxSafetensorsHeaderBytes) {
    return InvalidArgument("a header of " + std::to_string(text.size()) + " bytes; at most " +
                           std::to_string(kMaxSafetensorsHeaderBytes) +
                           "; spread the tensors over more files");
  }
  return text;
}

}  // namespace

Status WriteSafetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  const std::vector<const TensorToWrite*> order = FileOrder(tensors);
  const StatusOr<std::string> header = MakeHeader(order, metadata);
  if (!header.ok()) return Annotate(header.status(), path);
  std::string length;
  for (int i = 0; i < kLengthBytes; ++i) {
    length += static_cast<char>((static_cast<uint64_t>(header->size()) >> (8 * i)) & 255);
  }
  ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path));
  RETURN_IF_ERROR(writer.Append(length));
  RETURN_IF_ERROR(writer.Append(*header));
  for (const TensorToWrite* tensor : order) {
    for (const auto& piece : tensor->pieces) RETURN_IF_ERROR(writer.Append(piece));
  }
  return writer.Commit();
}

StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  const std::span<const std::byte> bytes = mapped.data();
  if (bytes.size() < static_cast<size_t>(kLengthBytes)) {
    return InvalidArgument(path + ": " + std::to_string(bytes.size()) +
                           " bytes are too few for a safetensors file");
  }
  uint64_t header_bytes = 0;
  for (int i = 0; i < kLengthBytes; ++i) {
    header_bytes |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  }
  if (header_bytes > static_cast<uint64_t>(kMaxSafetensorsHeaderBytes) ||
      header_bytes > bytes.size() - kLengthBytes) {
    return InvalidArgument(path + ": says its header has " + std::to_string(header_bytes) +
                           " bytes, in a file of " + std::to_string(bytes.size()) +
                           "; it was cut short or is no safetensors file");
  }
  SafetensorsFile file(std::move(mapped));
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                                header_bytes);
  const Status status = ParseHeader(header, bytes.subspan(kLengthBytes + header_bytes),
                                    &file.tensors_, &file.metadata_);
  if (!status.ok()) return Annotate(status, path);
  return file;
}

StatusOr<StoredTensor> SafetensorsFile::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return NotFound(file_.path() + ": holds no tensor " + name);
  return found->second;
}

}  // namespace trireme
