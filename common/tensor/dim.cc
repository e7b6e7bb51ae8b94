// Text form of dims.
#include "common/tensor/dim.h"

namespace trireme {

std::string ToText(const std::vector<Dim>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims[i].name + " " + std::to_string(dims[i].size);
    if (dims[i].physical() != dims[i].size) {
      text += " (" + std::to_string(dims[i].padded_size) + ")";
    }
  }
  return text + "]";
}

}  // namespace trireme
