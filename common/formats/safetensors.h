// Files of named tensors in the safetensors format: eight bytes of header length, a JSON header,
// the data. Source: huggingface/safetensors README, "Format".
#ifndef TRIREME_COMMON_FORMATS_SAFETENSORS_H_
#define TRIREME_COMMON_FORMATS_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/formats/files.h"
#include "common/tensor/dtype.h"

namespace trireme {

// As in the reference implementation.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = 100000000;

// A tensor to write. `pieces`, one after the other, are its elements in row-major order; they are
// borrowed.
struct TensorToWrite {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  std::vector<std::span<const std::byte>> pieces;
};

// Writes all tensors to `path`, atomically and synced; nothing but the header is copied.
// Errors: kInvalidArgument on a repeated or reserved name or pieces that do not add up;
// kUnavailable from the disk.
Status WriteSafetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                        const std::map<std::string, std::string>& metadata = {});

// A tensor of an open file; `data` lives as long as the file.
struct StoredTensor {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};

class SafetensorsFile {
 public:
  // Maps the file and checks the header: every tensor inside the data, sizes right, no overlap, no
  // gap. Errors: kNotFound, kUnavailable, or kInvalidArgument; all name the file.
  static StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Errors: kNotFound naming file and tensor.
  StatusOr<StoredTensor> Find(const std::string& name) const;

 private:
  explicit SafetensorsFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::map<std::string, StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace trireme

#endif  // TRIREME_COMMON_FORMATS_SAFETENSORS_H_
