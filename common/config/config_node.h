// A YAML or JSON document as a plain tree in which every value knows where it was written, so that
// errors can say so. What makes documents dangerous (anchors, aliases, tags, great depth or size)
// is refused while reading.
#ifndef TRIREME_COMMON_CONFIG_CONFIG_NODE_H_
#define TRIREME_COMMON_CONFIG_CONFIG_NODE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace trireme {

inline constexpr int64_t kMaxConfigBytes = 1 << 20;
inline constexpr int kMaxConfigDepth = 32;

struct ConfigEntry;

struct ConfigNode {
  enum class Kind : uint8_t { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string where;                 // "job.yaml:7", or "--set train.steps"
  std::string text;                  // of a scalar
  bool quoted = false;               // a scalar in quotes is never a number
  std::vector<ConfigNode> items;     // of a list
  std::vector<ConfigEntry> entries;  // of a map, in order, no repeats

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
  // The entry of a map, or null.
  ConfigNode* Find(std::string_view key);
  const ConfigNode* Find(std::string_view key) const;
};

struct ConfigEntry {
  ConfigEntry(std::string key, ConfigNode value)
      : first(std::move(key)), second(std::move(value)) {}

  std::string first;
  ConfigNode second;
};

// Reads one YAML or JSON document; an empty one is a null node. `file` names it in `where` and in
// errors; when `numbered` is false, `where` is `file` alone. Errors: kInvalidArgument "job.yaml:7:
// ..." on bad syntax or UTF-8, a repeated key (with both lines), anchors, aliases, tags, a second
// document, more than kMaxConfigBytes, or nesting deeper than kMaxConfigDepth.
StatusOr<ConfigNode> ReadConfig(std::string_view text, std::string_view file, bool numbered = true);

// How an error shows a value: 12, "ten", nothing, a list, a map. At most 60 characters.
std::string ShowNode(const ConfigNode& node);

// `text` in quotes, without control characters, cut to 60 characters.
std::string ShowText(std::string_view text);

// "a.b", or "b" when `path` is empty.
std::string JoinPath(std::string_view path, std::string_view key);

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_CONFIG_NODE_H_
