// Reads any rectangle of any tensor of a checkpoint, whatever rectangles it was saved in, touching
// only the pages that hold it.
#ifndef TRIREME_COMMON_FORMATS_CHECKPOINT_READER_H_
#define TRIREME_COMMON_FORMATS_CHECKPOINT_READER_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/formats/checkpoint_manifest.h"
#include "common/formats/safetensors.h"

namespace trireme {

class CheckpointReader {
 public:
  // Reads the manifest; files are mapped when first needed. Errors: those of ReadManifest.
  static StatusOr<CheckpointReader> Open(const std::string& folder);

  const CheckpointManifest& manifest() const { return manifest_; }

  // Copies the elements [start, start + size) of `name`, row-major, into `out`, which has exactly
  // that many. Errors: kNotFound without such a tensor or file; kInvalidArgument when the region
  // leaves the tensor, `out` has another size, the tensor is not float32, or a file disagrees with
  // the manifest. Not thread-safe.
  Status ReadRegion(const std::string& name, const std::vector<int64_t>& start,
                    const std::vector<int64_t>& size, std::span<float> out);

 private:
  CheckpointReader(std::string folder, CheckpointManifest manifest)
      : folder_(std::move(folder)), manifest_(std::move(manifest)) {}

  StatusOr<StoredTensor> FindPiece(const ManifestTensor& tensor, const ManifestPiece& piece);

  std::string folder_;
  CheckpointManifest manifest_;
  std::map<std::string, SafetensorsFile> files_;
};

}  // namespace trireme

#endif  // TRIREME_COMMON_FORMATS_CHECKPOINT_READER_H_
