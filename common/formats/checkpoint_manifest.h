// A checkpoint is a folder of safetensors files and a manifest.json that says which rectangle of
// which logical tensor lies where. The manifest is written last: a folder without one is not a
// checkpoint. No mesh is recorded, so any mesh loads any checkpoint.
#ifndef TRIREME_COMMON_FORMATS_CHECKPOINT_MANIFEST_H_
#define TRIREME_COMMON_FORMATS_CHECKPOINT_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/tensor/dtype.h"

namespace trireme {

inline constexpr int64_t kCheckpointFormatVersion = 1;

// The elements [start, start + size) of a tensor, stored as tensor `key` of `file` (a name inside
// the folder).
struct ManifestPiece {
  std::string file;
  std::string key;
  std::vector<int64_t> start;
  std::vector<int64_t> size;
  bool operator==(const ManifestPiece&) const = default;
};

// A logical, unpadded tensor; its pieces cover every element once.
struct ManifestTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  std::vector<ManifestPiece> pieces;
  bool operator==(const ManifestTensor&) const = default;
};

struct CheckpointManifest {
  int64_t step = 0;  // steps done
  std::string job;
  int64_t tokens_seen = 0;
  std::vector<ManifestTensor> tensors;

  // Null when there is none of that name.
  const ManifestTensor* Find(std::string_view name) const;
  bool operator==(const CheckpointManifest&) const = default;
};

std::string ManifestToJson(const CheckpointManifest& manifest);

// Errors: kInvalidArgument naming `file`, the tensor and what is wrong: another format version,
// pieces outside their tensor, that overlap, or that leave something out, files outside the folder.
StatusOr<CheckpointManifest> ParseManifest(std::string_view text, const std::string& file);

// Checks the manifest, then writes <folder>/manifest.json atomically: the commit of a checkpoint.
Status WriteManifest(const std::string& folder, const CheckpointManifest& manifest);
// Errors: kNotFound when the folder holds no complete checkpoint; those of ParseManifest.
StatusOr<CheckpointManifest> ReadManifest(const std::string& folder);

// "step-0000010"
std::string CheckpointFolderName(int64_t step);

struct CheckpointFolder {
  std::string path;
  int64_t step = 0;
  bool complete = false;  // has a manifest
};

// Checkpoint folders under `path`, by step; empty when `path` does not exist.
StatusOr<std::vector<CheckpointFolder>> ListCheckpoints(const std::string& path);
// Path of the complete one with the highest step, if any.
StatusOr<std::optional<std::string>> NewestCheckpoint(const std::string& path);

}  // namespace trireme

#endif  // TRIREME_COMMON_FORMATS_CHECKPOINT_MANIFEST_H_
