// JSON in and out; the checks make "covered once" certain before a reader relies on it.
#include "common/formats/checkpoint_manifest.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>

#include "common/formats/files.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxManifestBytes = int64_t{1} << 30;
constexpr int64_t kMaxPieces = 8192;
constexpr int64_t kMaxDims = 16;
constexpr std::string_view kFolderPrefix = "step-";

std::string ManifestPath(const std::string& folder) { return folder + "/manifest.json"; }

// Elements, or nullopt when a size is negative or the product leaves int64.
std::optional<int64_t> VolumeOf(const std::vector<int64_t>& size) {
  int64_t volume = 1;
  for (const int64_t one : size) {
    if (one < 0 || __builtin_mul_overflow(volume, one, &volume)) return std::nullopt;
  }
  return volume;
}

bool Overlap(const ManifestPiece& a, const ManifestPiece& b) {
  for (size_t d = 0; d < a.start.size(); ++d) {
    if (a.start[d] >= b.start[d] + b.size[d] || b.start[d] >= a.start[d] + a.size[d]) return false;
  }
  return true;
}

bool Inside(const ManifestPiece& piece, const std::vector<int64_t>& shape) {
  if (piece.start.size() != shape.size() || piece.size.size() != shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (piece.start[d] < 0 || piece.size[d] < 0) return false;
    if (piece.start[d] > shape[d] || piece.size[d] > shape[d] - piece.start[d]) return false;
  }
  return true;
}

// A plain name: nothing that leaves the folder.
bool IsFileName(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

Status CheckTensor(const ManifestTensor& tensor) {
  const auto bad = [&tensor](const std::string& what) {
    return InvalidArgument("tensor " + tensor.name + ": " + what);
  };
  const std::optional<int64_t> volume = VolumeOf(tensor.shape);
  if (!volume || tensor.shape.size() > kMaxDims) return bad("impossible shape");
  if (tensor.pieces.size() > kMaxPieces) return bad("more than 8192 pieces");
  int64_t covered = 0;
  for (const ManifestPiece& piece : tensor.pieces) {
    if (!IsFileName(piece.file)) return bad("file " + piece.file + " is not a name in the folder");
    if (!Inside(piece, tensor.shape)) return bad("piece " + piece.key + " lies outside its shape");
    covered += *VolumeOf(piece.size);
    // Pieces inside the shape that do not overlap cannot exceed it, so the sum stays small.
    if (covered > *volume) return bad("pieces overlap or hold too much");
  }
  if (covered != *volume) {
    return bad("pieces hold " + std::to_string(covered) + " of " + std::to_string(*volume) +
               " elements");
  }
  for (size_t i = 0; i < tensor.pieces.size(); ++i) {
    for (size_t j = i + 1; j < tensor.pieces.size(); ++j) {
      if (*VolumeOf(tensor.pieces[i].size) > 0 && *VolumeOf(tensor.pieces[j].size) > 0 &&
          Overlap(tensor.pieces[i], tensor.pieces[j])) {
        return bad("pieces " + tensor.pieces[i].key + " and " + tensor.pieces[j].key + " overlap");
      }
    }
  }
  return absl::OkStatus();
}

Status CheckManifest(const CheckpointManifest& manifest) {
  if (manifest.step < 0 || manifest.tokens_seen < 0) {
    return InvalidArgument("step " + std::to_string(manifest.step) + " or tokens_seen " +
                           std::to_string(manifest.tokens_seen) + " is negative");
  }
  std::set<std::string> names;
  for (const ManifestTensor& tensor : manifest.tensors) {
    if (!names.insert(tensor.name).second) {
      return InvalidArgument("tensor " + tensor.name + " is there twice");
    }
    RETURN_IF_ERROR(CheckTensor(tensor));
  }
  return absl::OkStatus();
}

// A member of a JSON map, or an error that names it.
StatusOr<Json> Member(const Json& map, const char* name, Json::value_t type) {
  const auto found = map.is_object() ? map.find(name) : map.end();
  const bool is_int = type == Json::value_t::number_integer;
  if (!map.is_object() || found == map.end() ||
      (is_int ? !found->is_number_integer() : found->type() != type)) {
    return InvalidArgument(std::string("expected ") + name + " to be there and of its type");
  }
  return *found;
}

StatusOr<int64_t> IntMember(const Json& map, const char* name) {
  ASSIGN_OR_RETURN(const Json value, Member(map, name, Json::value_t::number_integer));
  return value.get<int64_t>();
}

StatusOr<std::string> TextMember(const Json& map, const char* name) {
  ASSIGN_OR_RETURN(const Json value, Member(map, name, Json::value_t::string));
  return value.get<std::string>();
}

StatusOr<std::vector<int64_t>> SizesMember(const Json& map, const char* name) {
  ASSIGN_OR_RETURN(const Json list, Member(map, name, Json::value_t::array));
  std::vector<int64_t> sizes;
  for (const Json& item : list) {
    if (!item.is_number_integer()) {
      return InvalidArgument(std::string("expected whole numbers in ") + name);
    }
    sizes.push_back(item.get<int64_t>());
  }
  return sizes;
}

StatusOr<ManifestTensor> ParseTensor(const Json& entry) {
  ManifestTensor tensor;
  ASSIGN_OR_RETURN(tensor.name, TextMember(entry, "name"));
  ASSIGN_OR_RETURN(const std::string dtype, TextMember(entry, "dtype"));
  ASSIGN_OR_RETURN(tensor.dtype, ParseDType(dtype));
  ASSIGN_OR_RETURN(tensor.shape, SizesMember(entry, "shape"));
  ASSIGN_OR_RETURN(const Json pieces, Member(entry, "pieces", Json::value_t::array));
  for (const Json& one : pieces) {
    ManifestPiece piece;
    ASSIGN_OR_RETURN(piece.file, TextMember(one, "file"));
    ASSIGN_OR_RETURN(piece.key, TextMember(one, "key"));
    ASSIGN_OR_RETURN(piece.start, SizesMember(one, "start"));
    ASSIGN_OR_RETURN(piece.size, SizesMember(one, "size"));
    tensor.pieces.push_back(std::move(piece));
  }
  return tensor;
}

StatusOr<CheckpointManifest> ParseRoot(std::string_view text) {
  const Json root = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return InvalidArgument("not a JSON map; it was cut short or is damaged");
  ASSIGN_OR_RETURN(const int64_t version, IntMember(root, "format_version"));
  if (version != kCheckpointFormatVersion) {
    return InvalidArgument("format_version " + std::to_string(version) + "; this program reads " +
                           std::to_string(kCheckpointFormatVersion));
  }
  CheckpointManifest manifest;
  ASSIGN_OR_RETURN(manifest.step, IntMember(root, "step"));
  ASSIGN_OR_RETURN(manifest.job, TextMember(root, "job"));
  ASSIGN_OR_RETURN(manifest.tokens_seen, IntMember(root, "tokens_seen"));
  ASSIGN_OR_RETURN(const Json tensors, Member(root, "tensors", Json::value_t::array));
  for (const Json& entry : tensors) {
    ASSIGN_OR_RETURN(ManifestTensor tensor, ParseTensor(entry));
    manifest.tensors.push_back(std::move(tensor));
  }
  RETURN_IF_ERROR(CheckManifest(manifest));
  return manifest;
}

}  // namespace

const ManifestTensor* CheckpointManifest::Find(std::string_view name) const {
  for (const ManifestTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::string ManifestToJson(const CheckpointManifest& manifest) {
  Json tensors = Json::array();
  for (const ManifestTensor& tensor : manifest.tensors) {
    Json pieces = Json::array();
    for (const ManifestPiece& piece : tensor.pieces) {
      pieces.push_back(Json{
          {"file", piece.file}, {"key", piece.key}, {"start", piece.start}, {"size", piece.size}});
    }
    tensors.push_back(Json{{"name", tensor.name},
                           {"dtype", std::string(Name(tensor.dtype))},
                           {"shape", tensor.shape},
                           {"pieces", std::move(pieces)}});
  }
  const Json root{{"format_version", kCheckpointFormatVersion},
                  {"step", manifest.step},
                  {"job", manifest.job},
                  {"tokens_seen", manifest.tokens_seen},
                  {"tensors", std::move(tensors)}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<CheckpointManifest> ParseManifest(std::string_view text, const std::string& file) {
  StatusOr<CheckpointManifest> manifest = ParseRoot(text);
  if (!manifest.ok()) return Annotate(manifest.status(), file);
  return manifest;
}

Status WriteManifest(const std::string& folder, const CheckpointManifest& manifest) {
  RETURN_IF_ERROR(Annotate(CheckManifest(manifest), ManifestPath(folder)));
  return WriteFileAtomically(ManifestPath(folder), ManifestToJson(manifest));
}

StatusOr<CheckpointManifest> ReadManifest(const std::string& folder) {
  const std::string path = ManifestPath(folder);
  const StatusOr<std::string> text = ReadFile(path, kMaxManifestBytes);
  if (absl::IsNotFound(text.status())) {
    return NotFound(path + ": not there, so " + folder +
                    " is no complete checkpoint; give a folder such as ckpt/" +
                    CheckpointFolderName(10));
  }
  RETURN_IF_ERROR(text.status());
  return ParseManifest(*text, path);
}

std::string CheckpointFolderName(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof(name), "step-%07lld", static_cast<long long>(step));
  return name;
}

StatusOr<std::vector<CheckpointFolder>> ListCheckpoints(const std::string& path) {
  std::vector<CheckpointFolder> folders;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return folders;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.compare(0, kFolderPrefix.size(), kFolderPrefix) != 0) continue;
    CheckpointFolder folder{it->path().string()};
    const char* begin = name.data() + kFolderPrefix.size();
    const auto [stop, failure] = std::from_chars(begin, name.data() + name.size(), folder.step);
    if (failure != std::errc() || stop != name.data() + name.size() || folder.step < 0) continue;
    std::error_code ignored;  // a folder that cannot be read is not complete
    folder.complete = std::filesystem::is_regular_file(ManifestPath(folder.path), ignored);
    folders.push_back(std::move(folder));
  }
  if (error) return Unavailable(path + ": list the folder: " + error.message());
  std::sort(folders.begin(), folders.end(),
            [](const CheckpointFolder& a, const CheckpointFolder& b) { return a.step < b.step; });
  return folders;
}

StatusOr<std::optional<std::string>> NewestCheckpoint(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<CheckpointFolder> folders, ListCheckpoints(path));
  for (auto it = folders.rbegin(); it != folders.rend(); ++it) {
    if (it->complete) return std::optional<std::string>(it->path);
  }
  return std::optional<std::string>();
}

}  // namespace trireme
