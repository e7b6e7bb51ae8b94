// What a rank file says about itself stands in the safetensors metadata: attempt, step, counters,
// and for each tensor "piece:<key>" = "<start>;<logical shape>" with comma-separated numbers.
#include "worker/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "common/base/math.h"
#include "common/formats/checkpoint_manifest.h"
#include "common/formats/checkpoint_reader.h"
#include "common/formats/files.h"
#include "common/formats/safetensors.h"
#include "worker/checkpoint/region.h"

namespace trireme {
namespace {

constexpr int64_t kMaxRanks = 100000;  // five digits in the file name

std::string RankFileName(int64_t rank) {
  char name[64];
  std::snprintf(name, sizeof(name), "rank-%05lld.safetensors", static_cast<long long>(rank));
  return name;
}

// One stored tensor of this stage: a parameter or one of its states.
struct Stored {
  std::string key;
  const TensorPlacement* tensor = nullptr;
  const Sharding* sharding = nullptr;
  Place place;
};

std::vector<Stored> StoredTensors(const StageProgram& program) {
  std::vector<Stored> all;
  for (const TensorPlacement& tensor : program.tensors) {
    all.push_back(
        {tensor.name, &tensor, &tensor.param_sharding, {Pool::kParam, tensor.param_offset}});
    for (size_t i = 0; i < tensor.state_offsets.size(); ++i) {
      all.push_back({tensor.name + "#" + tensor.state_names[i],
                     &tensor,
                     &tensor.optimizer_sharding,
                     {Pool::kState, tensor.state_offsets[i]}});
    }
  }
  return all;
}

bool IsOwner(const RankProgram& program, const Stored& stored, int64_t rank) {
  const std::vector<int64_t> coordinates = program.mesh.Coordinates(rank);
  const std::vector<int64_t>& holders = stored.tensor->owner_members;
  if (!holders.empty() &&
      program.program.stage != *std::min_element(holders.begin(), holders.end())) {
    return false;
  }
  for (const int axis : ReplicatedAxes(program.mesh, *stored.sharding)) {
    if (axis != program.stage_axis && coordinates[axis] != 0) return false;
  }
  return true;
}

std::string JoinInts(const std::vector<int64_t>& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(values[i]);
  }
  return text;
}

// Digits only, so that a damaged file gives an error and not a wild number.
StatusOr<int64_t> ParseCount(const std::string& text, const std::string& where) {
  if (text.empty() || text.size() > 15 ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return InvalidArgument(where + ": '" + text + "' is not a count");
  }
  return std::stoll(text);
}

StatusOr<std::vector<int64_t>> ParseInts(const std::string& text, const std::string& where) {
  std::vector<int64_t> values;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    ASSIGN_OR_RETURN(const int64_t value, ParseCount(text.substr(begin, end - begin), where));
    values.push_back(value);
    begin = end + 1;
  }
  return values;
}

StatusOr<std::string> MetadataOf(const SafetensorsFile& file, const std::string& key,
                                 const std::string& path) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end()) {
    return InvalidArgument(path + ": metadata '" + key + "' is missing; it is no rank file");
  }
  return it->second;
}

StatusOr<int64_t> CountOf(const SafetensorsFile& file, const std::string& key,
                          const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, MetadataOf(file, key, path));
  return ParseCount(text, path + ": metadata " + key);
}

// This rank's elements of a stored tensor, padding cut off.
std::vector<float> ReadPiece(const Executor& executor, const Stored& stored, const Region& region) {
  std::vector<float> local(Product(region.local));
  executor.Read(stored.place, 0, local.data(), static_cast<int64_t>(local.size() * sizeof(float)));
  return region.padded() ? CutPadding(region, local) : local;
}

Status Expect(int64_t found, int64_t wanted, const std::string& what, const std::string& path) {
  if (found == wanted) return absl::OkStatus();
  return FailedPrecondition(path + " is of " + what + " " + std::to_string(found) +
                            ", the checkpoint of " + what + " " + std::to_string(wanted) +
                            "; it was left by an earlier run");
}

// Adds the pieces of one rank's file to the tensors by name.
Status AddPieces(const SafetensorsFile& file, const std::string& name, const std::string& path,
                 std::map<std::string, ManifestTensor>& tensors) {
  for (const auto& [key, stored] : file.tensors()) {
    ASSIGN_OR_RETURN(const std::string text, MetadataOf(file, "piece:" + key, path));
    const size_t middle = text.find(';');
    if (middle == std::string::npos) return InvalidArgument(path + ": piece of " + key);
    ManifestPiece piece = {.file = name, .key = key, .size = stored.shape};
    ASSIGN_OR_RETURN(piece.start, ParseInts(text.substr(0, middle), path));
    ASSIGN_OR_RETURN(const std::vector<int64_t> shape, ParseInts(text.substr(middle + 1), path));
    ManifestTensor& tensor = tensors[key];
    if (tensor.pieces.empty()) {
      tensor = {.name = key, .dtype = stored.dtype, .shape = shape};
    } else if (tensor.shape != shape || tensor.dtype != stored.dtype) {
      return InvalidArgument(path + ": tensor " + key + " has shape (" + JoinInts(shape) +
                             ") but another rank says (" + JoinInts(tensor.shape) + ")");
    }
    tensor.pieces.push_back(std::move(piece));
  }
  return absl::OkStatus();
}

Status LoadTensor(const Stored& stored, CheckpointReader& reader, Executor& executor) {
  const ManifestTensor* saved = reader.manifest().Find(stored.key);
  if (saved == nullptr) {
    return NotFound("the checkpoint has no tensor '" + stored.key +
                    "'; it is of another model or optimizer");
  }
  const std::vector<int64_t> shape = Sizes(stored.tensor->dims);
  if (saved->shape != shape) {
    return InvalidArgument("tensor '" + stored.key + "' has shape (" + JoinInts(saved->shape) +
                           ") in the checkpoint but (" + JoinInts(shape) + ") in the model");
  }
  const Region region =
      RegionOf(executor.program().mesh, stored.tensor->dims, *stored.sharding, executor.rank());
  std::vector<float> values(Product(region.size));
  if (!region.empty()) {
    RETURN_IF_ERROR(reader.ReadRegion(stored.key, region.start, region.size, values));
  }
  if (region.padded()) values = AddPadding(region, values);
  executor.Write(stored.place, 0, values.data(),
                 static_cast<int64_t>(values.size() * sizeof(float)));
  return absl::OkStatus();
}

}  // namespace

StatusOr<SavedCheckpoint> SaveCheckpoint(const Executor& executor, const SaveOptions& options) {
  SavedCheckpoint saved = {.folder = options.path + "/" + CheckpointFolderName(options.step)};
  RETURN_IF_ERROR(MakeFolders(saved.folder));
  const RankProgram& program = executor.program();
  std::map<std::string, std::string> metadata = {
      {"job", options.job},
      {"attempt", std::to_string(options.attempt)},
      {"step", std::to_string(options.step)},
      {"num_ranks", std::to_string(program.mesh.num_ranks())},
      {"applied_step", std::to_string(executor.AppliedStep())},
      {"tokens_seen", std::to_string(options.tokens_seen)}};
  std::vector<std::vector<float>> values;  // borrowed by `tensors`; moving a vector keeps its data
  std::vector<TensorToWrite> tensors;
  for (const Stored& stored : StoredTensors(program.program)) {
    if (!IsOwner(program, stored, executor.rank())) continue;
    const Region region =
        RegionOf(program.mesh, stored.tensor->dims, *stored.sharding, executor.rank());
    if (region.empty()) continue;
    values.push_back(ReadPiece(executor, stored, region));
    tensors.push_back({.name = stored.key,
                       .dtype = DType::kFloat32,
                       .shape = region.size,
                       .pieces = {std::as_bytes(std::span<const float>(values.back()))}});
    metadata["piece:" + stored.key] =
        JoinInts(region.start) + ";" + JoinInts(Sizes(stored.tensor->dims));
    saved.bytes += static_cast<int64_t>(values.back().size() * sizeof(float));
  }
  RETURN_IF_ERROR(
      WriteSafetensors(saved.folder + "/" + RankFileName(executor.rank()), tensors, metadata));
  return saved;
}

Status CommitCheckpoint(const CommitOptions& options) {
  if (options.num_ranks < 1 || options.num_ranks > kMaxRanks) {
    return InvalidArgument("a checkpoint of " + std::to_string(options.num_ranks) + " ranks");
  }
  CheckpointManifest manifest = {.step = options.step};
  std::map<std::string, ManifestTensor> tensors;
  for (int64_t rank = 0; rank < options.num_ranks; ++rank) {
    const std::string name = RankFileName(rank);
    const std::string path = options.folder + "/" + name;
    const StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
    if (!file.ok()) {
      return FailedPrecondition("the checkpoint lacks the pieces of rank " + std::to_string(rank) +
                                ": " + std::string(file.status().message()));
    }
    ASSIGN_OR_RETURN(const int64_t attempt, CountOf(*file, "attempt", path));
    RETURN_IF_ERROR(Expect(attempt, options.attempt, "attempt", path));
    ASSIGN_OR_RETURN(const int64_t step, CountOf(*file, "step", path));
    RETURN_IF_ERROR(Expect(step, options.step, "step", path));
    ASSIGN_OR_RETURN(manifest.tokens_seen, CountOf(*file, "tokens_seen", path));
    ASSIGN_OR_RETURN(manifest.job, MetadataOf(*file, "job", path));
    RETURN_IF_ERROR(AddPieces(*file, name, path, tensors));
  }
  for (auto& [name, tensor] : tensors) manifest.tensors.push_back(std::move(tensor));
  return WriteManifest(options.folder, manifest);
}

StatusOr<LoadedCheckpoint> LoadCheckpoint(const std::string& folder, Executor& executor) {
  ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::Open(folder));
  for (const Stored& stored : StoredTensors(executor.program().program)) {
    RETURN_IF_ERROR(Annotate(LoadTensor(stored, reader, executor), folder));
  }
  // The counter is the same in all files.
  const std::string path = folder + "/" + RankFileName(0);
  ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  ASSIGN_OR_RETURN(const int64_t applied_step, CountOf(file, "applied_step", path));
  executor.SetAppliedStep(applied_step);
  return LoadedCheckpoint{reader.manifest().step, reader.manifest().tokens_seen};
}

}  // namespace trireme
