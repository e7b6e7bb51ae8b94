// Padding is at the end of each dim, so the real part is a corner of the local box.
#include "worker/checkpoint/region.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/math.h"

namespace trireme {
namespace {

// Calls copy(offset in local, offset in real, count) for every row of the real part.
template <typename CopyRow>
void ForEachRow(const Region& region, CopyRow copy) {
  if (region.empty()) return;
  const int num_dims = static_cast<int>(region.size.size());
  if (num_dims == 0) return copy(0, 0, 1);
  const int64_t row = region.size.back();
  const int64_t num_rows = Product(region.size) / row;
  const std::vector<int64_t> strides = DenseStrides(region.local);
  for (int64_t i = 0; i < num_rows; ++i) {
    int64_t rest = i, offset = 0;
    for (int d = num_dims - 2; d >= 0; --d) {
      offset += rest % region.size[d] * strides[d];
      rest /= region.size[d];
    }
    copy(offset, i * row, row);
  }
}

}  // namespace

bool Region::empty() const {
  return std::any_of(size.begin(), size.end(), [](int64_t s) { return s == 0; });
}

Region RegionOf(const Mesh& mesh, const std::vector<Dim>& dims, const Sharding& sharding,
                int64_t rank) {
  Region region;
  region.local = LocalSizes(mesh, dims, sharding);
  region.start = LocalStart(mesh, dims, sharding, rank);
  for (size_t i = 0; i < dims.size(); ++i) {
    region.start[i] = std::min(region.start[i], dims[i].size);
    region.size.push_back(std::min(region.local[i], dims[i].size - region.start[i]));
  }
  return region;
}

std::vector<float> CutPadding(const Region& region, const std::vector<float>& local) {
  CHECK_EQ(static_cast<int64_t>(local.size()), Product(region.local));
  std::vector<float> real(Product(region.size));
  ForEachRow(region, [&](int64_t from, int64_t to, int64_t count) {
    std::copy_n(local.begin() + from, count, real.begin() + to);
  });
  return real;
}

std::vector<float> AddPadding(const Region& region, const std::vector<float>& real) {
  CHECK_EQ(static_cast<int64_t>(real.size()), Product(region.size));
  std::vector<float> local(Product(region.local), 0.0f);
  ForEachRow(region, [&](int64_t to, int64_t from, int64_t count) {
    std::copy_n(real.begin() + from, count, local.begin() + to);
  });
  return local;
}

}  // namespace trireme
