// A tensor's dims have names; mesh axes split them by name. A dim may be padded so that it splits evenly.
#ifndef TRIREME_COMMON_TENSOR_DIM_H_
#define TRIREME_COMMON_TENSOR_DIM_H_

#include <cstdint>
#include <string>
#include <vector>

namespace trireme {

struct Dim {
  std::string name;
  int64_t size = 0;         // logical elements
  int64_t padded_size = 0;  // physical elements over all shards, >= size; 0 until partitioned means `size`

  int64_t physical() const { return padded_size > 0 ? padded_size : size; }
  bool operator==(const Dim&) const = default;
};

// Logical sizes of dims, in order.
inline std::vector<int64_t> Sizes(const std::vector<Dim>& dims) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : dims) sizes.push_back(dim.size);
  return sizes;
}

// Index of the dim called `name`, or -1.
inline int FindDim(const std::vector<Dim>& dims, const std::string& name) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

// Example: "[batch 4, position 15 (16), embed 8]"; the padded size is in brackets where it differs.
std::string ToText(const std::vector<Dim>& dims);

}  // namespace trireme

#endif  // TRIREME_COMMON_TENSOR_DIM_H_
