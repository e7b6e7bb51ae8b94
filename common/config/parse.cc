// Walks the tree of a job file beside the table of keys.
#include "common/config/parse.h"

#include <map>

#include "common/config/checks.h"
#include "common/config/config_node.h"
#include "common/config/keys.h"
#include "common/config/overrides.h"
#include "common/config/short_forms.h"
#include "common/config/values.h"

namespace trireme {
namespace {

const JobKey* FindKey(const std::string& path) {
  for (const JobKey& key : JobKeys()) {
    if (key.path == path) return &key;
  }
  return nullptr;
}

bool IsSection(const std::string& path) {
  for (const JobKey& key : JobKeys()) {
    if (key.path.size() > path.size() && key.path.compare(0, path.size() + 1, path + ".") == 0) {
      return true;
    }
  }
  return false;
}

std::string LastPart(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// Names that may stand inside `section` ("" is the top), in the order of the table.
std::vector<std::string> KnownInside(const std::string& section) {
  std::vector<std::string> names;
  const std::string prefix = section.empty() ? "" : section + ".";
  for (const JobKey& key : JobKeys()) {
    if (key.path.compare(0, prefix.size(), prefix) != 0) continue;
    const std::string rest = key.path.substr(prefix.size());
    const std::string name = rest.substr(0, rest.find('.'));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

// "did you mean train.steps?", from the same section, else from any; else what is known here.
std::string HintFor(const std::string& section, const std::string& name) {
  const std::vector<std::string> known = KnownInside(section);
  const std::string sibling = Nearest(name, known);
  if (!sibling.empty()) return "did you mean " + JoinPath(section, sibling) + "?";
  for (const JobKey& key : JobKeys()) {
    if (LastPart(key.path) == name) return "did you mean " + key.path + "?";
  }
  std::string text;
  for (const std::string& one : known) text += (text.empty() ? "known here: " : ", ") + one;
  return text;
}

class JobReader {
 public:
  // Reads every value of `node`, whose path is `section`.
  Status ReadSection(const ConfigNode& node, const std::string& section) {
    places_[section] = node.where;
    if (node.is_null() && !section.empty()) return absl::OkStatus();
    if (!node.is_map()) {
      return Expected(node, section, section.empty() ? "a map of sections" : "a map");
    }
    for (const auto& [name, value] : node.entries) {
      const std::string path = JoinPath(section, name);
      const bool nested = name.find('.') != std::string::npos;
      const JobKey* key = nested ? nullptr : FindKey(path);
      if (key != nullptr) {
        places_[path] = value.where;
        RETURN_IF_ERROR(key->read_short_form ? key->read_short_form(value, path, &forms_)
                                             : key->read(value, path, &spec_));
      } else if (!nested && IsSection(path)) {
        RETURN_IF_ERROR(ReadSection(value, path));
      } else {
        return ConfigError(value.where, path.size() <= 200 ? path : ShowText(path),
                           "unknown key " + ShowText(name) + "; " + HintFor(section, name));
      }
    }
    return absl::OkStatus();
  }

  StatusOr<JobSpec> Finish() {
    RETURN_IF_ERROR(CheckTypes());
    for (const JobKey& key : JobKeys()) {
      if (!key.required || places_.count(key.path) > 0) continue;
      if (!BelongsTo(key, spec_.model.type)) continue;
      return ConfigError(Locate(key.path), key.path, "required but missing; expected " + key.type);
    }
    const LocateKey locate = [this](const std::string& path) { return Locate(path); };
    const IsGivenKey given = [this](const std::string& path) { return places_.count(path) > 0; };
    RETURN_IF_ERROR(FillDerivedKeys(locate, given, &spec_));
    RETURN_IF_ERROR(ApplyShortForms(forms_, given, locate, &spec_));
    RETURN_IF_ERROR(CheckJob(spec_, locate));
    return std::move(spec_);
  }

 private:
  // Keys of another architecture are refused. Without a model.type, that is missing first of all.
  Status CheckTypes() const {
    if (spec_.model.type.empty()) return absl::OkStatus();
    for (const JobKey& key : JobKeys()) {
      const auto place = places_.find(key.path);
      if (place == places_.end() || BelongsTo(key, spec_.model.type)) continue;
      return ConfigError(place->second, key.path, NotAKeyOf(key, spec_.model.type));
    }
    return absl::OkStatus();
  }

  // The place of the key, or of the innermost section around it.
  std::string Locate(std::string path) const {
    while (true) {
      const auto found = places_.find(path);
      if (found != places_.end()) return found->second;
      const size_t dot = path.rfind('.');
      path = dot == std::string::npos ? "" : path.substr(0, dot);
    }
  }

  JobSpec spec_;
  ShortForms forms_;
  std::map<std::string, std::string> places_;  // path of a key or section -> where
};

}  // namespace

StatusOr<JobSpec> ParseJob(std::string_view text, std::string_view file,
                           const std::vector<std::string>& overrides) {
  ASSIGN_OR_RETURN(ConfigNode root, ReadConfig(text, file));
  for (const std::string& one : overrides) RETURN_IF_ERROR(ApplyOverride(one, &root));
  JobReader reader;
  RETURN_IF_ERROR(reader.ReadSection(root, ""));
  return reader.Finish();
}

std::string JobToJson(const JobSpec& spec) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const JobKey& key : JobKeys()) {
    if (!key.write || !BelongsTo(key, spec.model.type)) continue;
    nlohmann::ordered_json* at = &root;
    size_t begin = 0;
    for (size_t dot = key.path.find('.'); dot != std::string::npos;
         dot = key.path.find('.', begin)) {
      at = &(*at)[key.path.substr(begin, dot - begin)];
      begin = dot + 1;
    }
    (*at)[key.path.substr(begin)] = key.write(spec);
  }
  // Text that is not UTF-8 is replaced rather than thrown at us.
  return root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace trireme
