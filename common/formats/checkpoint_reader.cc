// Intersects the region with each piece and copies the overlap row by row.
#include "common/formats/checkpoint_reader.h"

#include <algorithm>
#include <cstring>

#include "common/base/math.h"

namespace trireme {
namespace {

std::string ShowSizes(const std::vector<int64_t>& sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) text += (text.size() == 1 ? "" : ",") + std::to_string(size);
  return text + "]";
}

// A block inside two row-major arrays of float32: `size` elements, first at the offsets.
struct BlockCopy {
  std::vector<int64_t> size;
  std::vector<int64_t> from_strides;
  std::vector<int64_t> to_strides;
};

void CopyBlock(const BlockCopy& block, size_t dim, const std::byte* from, float* to) {
  if (dim == block.size.size()) {
    std::memcpy(to, from, sizeof(float));
    return;
  }
  if (dim + 1 == block.size.size()) {
    std::memcpy(to, from, block.size[dim] * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < block.size[dim]; ++i) {
    CopyBlock(block, dim + 1, from + i * block.from_strides[dim] * sizeof(float),
              to + i * block.to_strides[dim]);
  }
}

// Copies what `piece` and the region share; nothing when they do not meet.
void CopyOverlap(const ManifestPiece& piece, const std::byte* data,
                 const std::vector<int64_t>& start, const std::vector<int64_t>& size, float* out) {
  BlockCopy block;
  block.from_strides = DenseStrides(piece.size);
  block.to_strides = DenseStrides(size);
  int64_t from = 0;
  int64_t to = 0;
  for (size_t d = 0; d < size.size(); ++d) {
    const int64_t begin = std::max(start[d], piece.start[d]);
    const int64_t end = std::min(start[d] + size[d], piece.start[d] + piece.size[d]);
    if (begin >= end) return;
    block.size.push_back(end - begin);
    from += (begin - piece.start[d]) * block.from_strides[d];
    to += (begin - start[d]) * block.to_strides[d];
  }
  CopyBlock(block, 0, data + from * sizeof(float), out + to);
}

bool Meet(const ManifestPiece& piece, const std::vector<int64_t>& start,
          const std::vector<int64_t>& size) {
  for (size_t d = 0; d < size.size(); ++d) {
    if (std::max(start[d], piece.start[d]) >=
        std::min(start[d] + size[d], piece.start[d] + piece.size[d])) {
      return false;
    }
  }
  return true;
}

Status CheckRegion(const ManifestTensor& tensor, const std::vector<int64_t>& start,
                   const std::vector<int64_t>& size, size_t out_size) {
  bool good = start.size() == tensor.shape.size() && size.size() == tensor.shape.size();
  for (size_t d = 0; good && d < size.size(); ++d) {
    good = start[d] >= 0 && size[d] >= 0 && start[d] <= tensor.shape[d] &&
           size[d] <= tensor.shape[d] - start[d];
  }
  if (!good) {
    return InvalidArgument("region " + ShowSizes(size) + " at " + ShowSizes(start) + " leaves " +
                           tensor.name + " " + ShowSizes(tensor.shape));
  }
  if (tensor.dtype != DType::kFloat32) {
    return InvalidArgument(tensor.name + " is stored as " + std::string(Name(tensor.dtype)) +
                           "; only float32 is read now");
  }
  if (static_cast<size_t>(Product(size)) == out_size) return absl::OkStatus();
  return InvalidArgument("room for " + std::to_string(out_size) + " elements, but region " +
                         ShowSizes(size) + " of " + tensor.name + " has " +
                         std::to_string(Product(size)));
}

}  // namespace

StatusOr<CheckpointReader> CheckpointReader::Open(const std::string& folder) {
  ASSIGN_OR_RETURN(CheckpointManifest manifest, ReadManifest(folder));
  return CheckpointReader(folder, std::move(manifest));
}

StatusOr<StoredTensor> CheckpointReader::FindPiece(const ManifestTensor& tensor,
                                                   const ManifestPiece& piece) {
  const std::string path = folder_ + "/" + piece.file;
  auto found = files_.find(piece.file);
  if (found == files_.end()) {
    ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
    found = files_.emplace(piece.file, std::move(file)).first;
  }
  ASSIGN_OR_RETURN(StoredTensor stored, found->second.Find(piece.key));
  if (stored.dtype == tensor.dtype && stored.shape == piece.size) return stored;
  return InvalidArgument(path + ": tensor " + piece.key + " is " + std::string(Name(stored.dtype)) +
                         " " + ShowSizes(stored.shape) + ", but the manifest says " +
                         std::string(Name(tensor.dtype)) + " " + ShowSizes(piece.size));
}

Status CheckpointReader::ReadRegion(const std::string& name, const std::vector<int64_t>& start,
                                    const std::vector<int64_t>& size, std::span<float> out) {
  const ManifestTensor* tensor = manifest_.Find(name);
  if (tensor == nullptr) return NotFound(folder_ + ": the checkpoint holds no tensor " + name);
  RETURN_IF_ERROR(Annotate(CheckRegion(*tensor, start, size, out.size()), folder_));
  for (const ManifestPiece& piece : tensor->pieces) {
    if (!Meet(piece, start, size)) continue;
    ASSIGN_OR_RETURN(const StoredTensor stored, FindPiece(*tensor, piece));
    CopyOverlap(piece, stored.data.data(), start, size, out.data());
  }
  return absl::OkStatus();
}

}  // namespace trireme
