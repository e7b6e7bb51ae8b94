// Walks the path and replaces what it finds.
#include "common/config/overrides.h"

#include <charconv>

#include "common/config/values.h"

namespace trireme {
namespace {

StatusOr<std::vector<std::string>> SplitPath(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (const std::string& part : parts) {
    if (part.empty()) {
      return InvalidArgument("--set " + path +
                             ": expected path.to.key=value, for example train.steps=10");
    }
  }
  if (parts.size() > kMaxConfigDepth) {
    return InvalidArgument("--set: nested deeper than " + std::to_string(kMaxConfigDepth));
  }
  return parts;
}

// The child `part` of `node`, made when absent. `path` is that of the child.
StatusOr<ConfigNode*> Child(ConfigNode* node, const std::string& part, const std::string& where,
                            const std::string& path) {
  if (node->is_list()) {
    size_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool good = error == std::errc() && end == part.data() + part.size();
    if (good && index < node->items.size()) return &node->items[index];
    return ConfigError(where, path,
                       "expected an index below " + std::to_string(node->items.size()) +
                           " of the list, got " + ShowText(part));
  }
  if (node->is_scalar()) {
    return ConfigError(where, path,
                       "cannot be set inside " + ShowNode(*node) + " of " + node->where +
                           "; set the key above it instead");
  }
  if (node->is_null()) {
    node->kind = ConfigNode::Kind::kMap;
    node->where = where;
  }
  if (ConfigNode* found = node->Find(part)) return found;
  ConfigNode& added = node->entries.emplace_back(part, ConfigNode()).second;
  added.where = where;
  return &added;
}

}  // namespace

Status ApplyOverride(const std::string& override_text, ConfigNode* root) {
  const size_t equals = override_text.find('=');
  if (equals == std::string::npos) {
    return InvalidArgument("--set " + override_text + ": no '=' in it; expected path.to.key=value");
  }
  const std::string path = override_text.substr(0, equals);
  const std::string where = "--set " + path;
  ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPath(path));
  ASSIGN_OR_RETURN(ConfigNode value,
                   ReadConfig(override_text.substr(equals + 1), where, /*numbered=*/false));
  ConfigNode* node = root;
  std::string walked;
  for (const std::string& part : parts) {
    walked = JoinPath(walked, part);
    ASSIGN_OR_RETURN(node, Child(node, part, where, walked));
  }
  *node = std::move(value);
  return absl::OkStatus();
}

}  // namespace trireme
