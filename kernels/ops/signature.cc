// Reads signatures and binds their words to dims.
#include "kernels/ops/signature.h"

#include <algorithm>

#include "common/base/check.h"

namespace trireme {
namespace {

constexpr std::string_view kLeading = "...";

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// One operand of a signature.
struct Operand {
  std::string_view name;
  std::string_view type;
  std::vector<std::string_view> words;
  bool has_leading = false;
};

Operand ParseOperand(std::string_view text) {
  const size_t colon = text.find(':');
  const size_t bracket = text.find('[');
  CHECK(colon != text.npos && bracket != text.npos && text.back() == ']') << text;
  Operand operand{.name = text.substr(0, colon),
                  .type = text.substr(colon + 1, bracket - colon - 1),
                  .words = Split(text.substr(bracket + 1, text.size() - bracket - 2), ',')};
  if (!operand.words.empty() && operand.words[0] == kLeading) {
    operand.has_leading = true;
    operand.words.erase(operand.words.begin());
  }
  return operand;
}

bool TypeMatches(std::string_view type, DType dtype) {
  if (type == "any") return true;
  if (type == "float") return dtype == DType::kFloat32 || dtype == DType::kFloat64;
  return type == Name(dtype);
}

bool Same(const Dim& a, const Dim& b) { return a.name == b.name && a.size == b.size; }

}  // namespace

class SignatureReader {
 public:
  SignatureReader(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  StatusOr<Binding> Read(std::string_view signature) {
    const std::vector<std::string_view> operands = Split(signature, ' ');
    if (operands.size() != node_.inputs.size()) {
      return OpError(node_, "has " + std::to_string(node_.inputs.size()) + " operands, takes " +
                                std::to_string(operands.size()) + ": " + std::string(signature));
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      RETURN_IF_ERROR(BindOne(ParseOperand(operands[i]), graph_.value(node_.inputs[i])));
    }
    return std::move(binding_);
  }

 private:
  Status BindOne(const Operand& operand, const Value& value) {
    if (!TypeMatches(operand.type, value.dtype)) {
      return Refuse(operand, value,
                    std::string("is ") + std::string(Name(value.dtype)) + ", must be " +
                        std::string(operand.type));
    }
    const size_t num_words = operand.words.size();
    if (operand.has_leading ? value.dims.size() < num_words : value.dims.size() != num_words) {
      return Refuse(operand, value,
                    "has " + std::to_string(value.dims.size()) + " dims, needs " +
                        (operand.has_leading ? "at least " : "") + std::to_string(num_words));
    }
    const size_t num_leading = value.dims.size() - num_words;
    if (operand.has_leading) RETURN_IF_ERROR(BindLeading(operand, value, num_leading));
    for (size_t i = 0; i < num_words; ++i) {
      const Dim& dim = value.dims[num_leading + i];
      const auto [it, added] = binding_.words_.try_emplace(std::string(operand.words[i]), dim);
      if (!Same(it->second, dim)) {
        return Refuse(operand, value,
                      "must have " + ToText(std::vector<Dim>{it->second}) + " at dim " +
                          std::to_string(num_leading + i));
      }
    }
    return absl::OkStatus();
  }

  Status BindLeading(const Operand& operand, const Value& value, size_t num_leading) {
    const std::vector<Dim> dims(value.dims.begin(), value.dims.begin() + num_leading);
    if (!binding_.has_leading_) {
      binding_.leading_ = dims;
      binding_.has_leading_ = true;
      return absl::OkStatus();
    }
    bool same = dims.size() == binding_.leading_.size();
    for (size_t i = 0; same && i < dims.size(); ++i) same = Same(dims[i], binding_.leading_[i]);
    if (same) return absl::OkStatus();
    return Refuse(operand, value, "must begin with " + ToText(binding_.leading_));
  }

  Status Refuse(const Operand& operand, const Value& value, const std::string& why) const {
    return OpError(node_, std::string(operand.name) + " (" + value.name + ") " +
                              ToText(value.dims) + " " + why);
  }

  const Graph& graph_;
  const Node& node_;
  Binding binding_;
};

std::vector<Dim> Binding::Dims(std::string_view pattern) const {
  std::vector<Dim> dims;
  for (const std::string_view word : Split(pattern, ',')) {
    if (word == kLeading) {
      dims.insert(dims.end(), leading_.begin(), leading_.end());
    } else {
      dims.push_back(dim(word));
    }
  }
  return dims;
}

const Dim& Binding::dim(std::string_view word) const {
  const auto it = words_.find(word);
  CHECK(it != words_.end()) << "no dim " << word << " in the signature";
  return it->second;
}

StatusOr<Binding> BindOperands(const Graph& graph, const Node& node, std::string_view signature) {
  return SignatureReader(graph, node).Read(signature);
}

std::vector<std::string> DimNames(const std::vector<Dim>& dims) {
  std::vector<std::string> names;
  for (const Dim& dim : dims) names.push_back(dim.name);
  return names;
}

}  // namespace trireme
