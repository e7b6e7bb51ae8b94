// Attributes of a node or instruction: a small sorted list of named constants.
#ifndef TRIREME_COMMON_IR_ATTRS_H_
#define TRIREME_COMMON_IR_ATTRS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trireme {

using AttrValue = std::variant<int64_t, double, std::string, std::vector<int64_t>>;

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> entries) {
    for (const auto& [name, value] : entries) Set(name, value);
  }

  // Adds or replaces.
  void Set(std::string_view name, AttrValue value);
  bool Has(std::string_view name) const { return Find(name) != nullptr; }

  // The value of `name`; CHECK-fails when it is missing or of another type. GetInt etc. with a
  // default return it when the name is missing.
  int64_t GetInt(std::string_view name) const;
  int64_t GetInt(std::string_view name, int64_t otherwise) const;
  double GetDouble(std::string_view name) const;
  double GetDouble(std::string_view name, double otherwise) const;
  const std::string& GetString(std::string_view name) const;
  const std::vector<int64_t>& GetInts(std::string_view name) const;

  const std::vector<std::pair<std::string, AttrValue>>& entries() const { return entries_; }
  bool operator==(const Attrs&) const = default;

  // Example: "{eps=1e-05, equation=abc,cd->abd}"; "" when empty.
  std::string ToText() const;

 private:
  const AttrValue* Find(std::string_view name) const;
  std::vector<std::pair<std::string, AttrValue>> entries_;  // sorted by name
};

}  // namespace trireme

#endif  // TRIREME_COMMON_IR_ATTRS_H_
