// Sorted attribute list.
#include "common/ir/attrs.h"

#include <algorithm>
#include <sstream>

#include "common/base/check.h"

namespace trireme {
namespace {

auto LowerBound(auto& entries, std::string_view name) {
  return std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const auto& entry, std::string_view key) { return entry.first < key; });
}

template <typename T>
const T& As(const AttrValue* value, std::string_view name) {
  CHECK(value != nullptr) << "missing attribute " << name;
  const T* typed = std::get_if<T>(value);
  CHECK(typed != nullptr) << "attribute " << name << " has another type";
  return *typed;
}

}  // namespace

void Attrs::Set(std::string_view name, AttrValue value) {
  const auto it = LowerBound(entries_, name);
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.emplace(it, std::string(name), std::move(value));
  }
}

const AttrValue* Attrs::Find(std::string_view name) const {
  const auto it = LowerBound(entries_, name);
  return it != entries_.end() && it->first == name ? &it->second : nullptr;
}

int64_t Attrs::GetInt(std::string_view name) const { return As<int64_t>(Find(name), name); }
int64_t Attrs::GetInt(std::string_view name, int64_t otherwise) const {
  return Has(name) ? GetInt(name) : otherwise;
}
double Attrs::GetDouble(std::string_view name) const { return As<double>(Find(name), name); }
double Attrs::GetDouble(std::string_view name, double otherwise) const {
  return Has(name) ? GetDouble(name) : otherwise;
}
const std::string& Attrs::GetString(std::string_view name) const {
  return As<std::string>(Find(name), name);
}
const std::vector<int64_t>& Attrs::GetInts(std::string_view name) const {
  return As<std::vector<int64_t>>(Find(name), name);
}

std::string Attrs::ToText() const {
  if (entries_.empty()) return "";
  std::ostringstream text;
  const char* separator = "{";
  for (const auto& [name, value] : entries_) {
    text << separator << name << "=";
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
      text << "(";
      for (size_t i = 0; i < ints->size(); ++i) text << (i > 0 ? "," : "") << (*ints)[i];
      text << ")";
    } else {
      std::visit(
          [&text](const auto& v) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(v)>, std::vector<int64_t>>)
              text << v;
          },
          value);
    }
    separator = ", ";
  }
  text << "}";
  return text.str();
}

}  // namespace trireme
