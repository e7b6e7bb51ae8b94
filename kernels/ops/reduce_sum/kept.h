// Which dims of x reduce_sum keeps, as its rule and kernels read the attributes.
#ifndef TRIREME_KERNELS_OPS_REDUCE_SUM_KEPT_H_
#define TRIREME_KERNELS_OPS_REDUCE_SUM_KEPT_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "common/ir/attrs.h"

namespace trireme {

// Names of a comma list; "" has none.
inline std::vector<std::string> SplitNames(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    names.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return names;
}

// Indices of the kept dims of an x with `rank` dims, in order. Kernels see no dim names, so these
// come from the attribute `dims` (all of x's names); without it the kept dims are x's last ones.
inline std::vector<int> KeptDims(const Attrs& attrs, int rank) {
  const std::vector<std::string> keep = SplitNames(attrs.GetString("keep"));
  std::vector<int> kept;
  if (!attrs.Has("dims")) {
    for (int i = rank - static_cast<int>(keep.size()); i < rank; ++i) kept.push_back(i);
    return kept;
  }
  const std::vector<std::string> dims = SplitNames(attrs.GetString("dims"));
  CHECK_EQ(static_cast<int>(dims.size()), rank);
  for (int i = 0; i < rank; ++i) {
    if (kept.size() < keep.size() && dims[i] == keep[kept.size()]) kept.push_back(i);
  }
  return kept;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_REDUCE_SUM_KEPT_H_
