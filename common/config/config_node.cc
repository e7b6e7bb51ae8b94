// Builds the tree from yaml-cpp's events. Its exceptions end here; ours (ReadStop) only travels
// through it.
#include "common/config/config_node.h"

#include <exception>
#include <istream>
#include <set>
#include <streambuf>

#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/parser.h"

namespace trireme {
namespace {

// Leaves yaml-cpp at the first thing we refuse.
struct ReadStop : std::exception {
  explicit ReadStop(std::string text) : message(std::move(text)) {}
  const char* what() const noexcept override { return message.c_str(); }
  std::string message;
};

// Reads bytes in place.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

// Bytes of the UTF-8 character at the start of `text`, or 0 when there is none.
size_t Utf8Length(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) >= 0xa0) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) >= 0x90) return 0;
  return length;
}

// The 1-based line of the first byte that is not UTF-8, or 0.
int64_t LineOfBadUtf8(std::string_view text) {
  int64_t line = 1;
  while (!text.empty()) {
    if (text[0] == '\n') ++line;
    const size_t length = Utf8Length(text);
    if (length == 0) return line;
    text.remove_prefix(length);
  }
  return 0;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view file, bool numbered) : file_(file), numbered_(numbered) {}

  ConfigNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) Stop(mark, "a second document starts here; keep one document a file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    Place(mark, Start(ConfigNode::Kind::kNull, mark, "?"));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Stop(mark, "aliases (*name) are refused, they can make a small file huge; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseAnchor(mark, anchor);
    ConfigNode node = Start(ConfigNode::Kind::kScalar, mark, tag);
    node.text = value;
    node.quoted = tag == "!";
    Place(mark, std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    RefuseAnchor(mark, anchor);
    Open(mark, Start(ConfigNode::Kind::kList, mark, tag));
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    RefuseAnchor(mark, anchor);
    Open(mark, Start(ConfigNode::Kind::kMap, mark, tag));
  }
  void OnMapEnd() override { open_.pop_back(); }

  std::string Where(const YAML::Mark& mark) const {
    if (!numbered_) return file_;
    return file_ + ":" + std::to_string(mark.line < 0 ? 1 : mark.line + 1);
  }

 private:
  // A list or map whose end has not been seen. Pointers into a parent stay good: only the innermost
  // one grows.
  struct Frame {
    ConfigNode* node;
    std::string path;
    bool has_key = false;
    std::set<std::string> keys;
  };

  [[noreturn]] void Stop(const YAML::Mark& mark, const std::string& what) const {
    throw ReadStop(Where(mark) + ": " + what);
  }
  void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) Stop(mark, "anchors (&name) are refused; write the value out");
  }
  ConfigNode Start(ConfigNode::Kind kind, const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      Stop(mark, "tags (" + ShowText(tag) + ") are refused; write the value without one");
    }
    ConfigNode node;
    node.kind = kind;
    node.where = Where(mark);
    return node;
  }

  // Puts a finished value or an opened collection where it belongs; a key of a map waits for its
  // value.
  ConfigNode* Place(const YAML::Mark& mark, ConfigNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    Frame& frame = open_.back();
    if (frame.node->is_list()) return &frame.node->items.emplace_back(std::move(node));
    if (frame.has_key) {
      frame.has_key = false;
      ConfigNode& value = frame.node->entries.back().second;
      if (node.is_null()) node.where = value.where;
      value = std::move(node);
      return &value;
    }
    AddKey(mark, frame, node);
    return nullptr;
  }

  void AddKey(const YAML::Mark& mark, Frame& frame, const ConfigNode& key) {
    if (!key.is_scalar()) Stop(mark, "expected a name as key, got " + ShowNode(key));
    if (!frame.keys.insert(key.text).second) {
      Stop(mark, JoinPath(frame.path, key.text) + ": given twice, first at " +
                     frame.node->Find(key.text)->where + "; keep one of the two");
    }
    ConfigNode value;
    value.where = key.where;
    frame.node->entries.emplace_back(key.text, std::move(value));
    frame.has_key = true;
  }

  void Open(const YAML::Mark& mark, ConfigNode node) {
    if (open_.size() >= kMaxConfigDepth) {
      Stop(mark, "nested deeper than " + std::to_string(kMaxConfigDepth) + " levels");
    }
    std::string path;
    if (!open_.empty()) {
      const Frame& parent = open_.back();
      path = parent.path;
      if (parent.node->is_list()) {
        path = JoinPath(path, std::to_string(parent.node->items.size()));
      } else if (parent.has_key) {
        path = JoinPath(path, parent.node->entries.back().first);
      }
    }
    ConfigNode* placed = Place(mark, std::move(node));
    if (placed == nullptr) Stop(mark, "expected a name as key");
    open_.push_back({placed, std::move(path)});
  }

  std::string file_;
  bool numbered_;
  int documents_ = 0;
  ConfigNode root_;
  std::vector<Frame> open_;
};

}  // namespace

ConfigNode* ConfigNode::Find(std::string_view key) {
  for (auto& [name, node] : entries) {
    if (name == key) return &node;
  }
  return nullptr;
}

const ConfigNode* ConfigNode::Find(std::string_view key) const {
  return const_cast<ConfigNode*>(this)->Find(key);
}

StatusOr<ConfigNode> ReadConfig(std::string_view text, std::string_view file, bool numbered) {
  if (static_cast<int64_t>(text.size()) > kMaxConfigBytes) {
    return InvalidArgument(std::string(file) + ": " + std::to_string(text.size()) +
                           " bytes; at most " + std::to_string(kMaxConfigBytes) + " are read");
  }
  if (const int64_t line = LineOfBadUtf8(text); line > 0) {
    return InvalidArgument(std::string(file) + (numbered ? ":" + std::to_string(line) : "") +
                           ": not valid UTF-8; save the file as UTF-8");
  }
  TreeBuilder builder(file, numbered);
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const ReadStop& stop) {
    return InvalidArgument(stop.message);
  } catch (const YAML::Exception& error) {
    return InvalidArgument(builder.Where(error.mark) + ": not valid YAML or JSON: " + error.msg);
  } catch (const std::exception& error) {
    return InvalidArgument(std::string(file) + ": not valid YAML or JSON: " + error.what());
  }
  ConfigNode root = builder.TakeRoot();
  if (root.where.empty()) root.where = std::string(file) + (numbered ? ":1" : "");
  return root;
}

std::string ShowText(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text.substr(0, 60)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  if (text.size() > 60) {
    // A cut inside a UTF-8 character would leave half of it.
    while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xc0) == 0x80) {
      shown.pop_back();
    }
    if (static_cast<unsigned char>(shown.back()) >= 0xc0) shown.pop_back();
    shown += "...";
  }
  return shown + "\"";
}

std::string ShowNode(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return "nothing";
    case ConfigNode::Kind::kList:
      return "a list";
    case ConfigNode::Kind::kMap:
      return "a map";
    case ConfigNode::Kind::kScalar:
      break;
  }
  const bool numeric = !node.text.empty() && node.text.size() <= 40 &&
                       node.text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (numeric && !node.quoted) return node.text;
  return ShowText(node.text) + (numeric ? " in quotes" : "");
}

std::string JoinPath(std::string_view path, std::string_view key) {
  std::string joined(path);
  if (!joined.empty()) joined += '.';
  joined += key;
  return joined;
}

}  // namespace trireme
