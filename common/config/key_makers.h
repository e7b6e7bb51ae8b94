// Makes rows of the table for the usual kinds of values; a row of another kind sets `read` and
// `write` itself.
#ifndef TRIREME_COMMON_CONFIG_KEY_MAKERS_H_
#define TRIREME_COMMON_CONFIG_KEY_MAKERS_H_

#include <string>
#include <utility>
#include <vector>

#include "common/config/keys.h"
#include "common/config/values.h"

// Reads and writes one member of a JobSpec: TRIREME_FIELD(train.steps).
#define TRIREME_FIELD(member) \
  [](auto& spec) -> auto& { return spec.member; }

namespace trireme {

template <typename Field>
JobKey IntKey(std::string path, IntRange range, Field field, std::string meaning) {
  JobKey key{std::move(path), Describe(range), std::move(meaning)};
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    return ReadInt(node, at, range, &field(*spec));
  };
  key.write = [=](const JobSpec& spec) { return nlohmann::ordered_json(field(spec)); };
  return key;
}

template <typename Field>
JobKey NumberKey(std::string path, NumberRange range, Field field, std::string meaning) {
  JobKey key{std::move(path), Describe(range), std::move(meaning)};
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    return ReadNumber(node, at, range, &field(*spec));
  };
  key.write = [=](const JobSpec& spec) { return nlohmann::ordered_json(field(spec)); };
  return key;
}

template <typename Field>
JobKey BoolKey(std::string path, Field field, std::string meaning) {
  JobKey key{std::move(path), "true or false", std::move(meaning)};
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    return ReadBool(node, at, &field(*spec));
  };
  key.write = [=](const JobSpec& spec) { return nlohmann::ordered_json(field(spec)); };
  return key;
}

template <typename Field>
JobKey TextKey(std::string path, Field field, std::string meaning) {
  JobKey key{std::move(path), "text", std::move(meaning)};
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    return ReadText(node, at, &field(*spec));
  };
  key.write = [=](const JobSpec& spec) { return nlohmann::ordered_json(field(spec)); };
  return key;
}

template <typename Field>
JobKey ChoiceKey(std::string path, std::vector<std::string> choices, Field field,
                 std::string meaning) {
  JobKey key{std::move(path), Describe(choices), std::move(meaning)};
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    return ReadChoice(node, at, choices, &field(*spec));
  };
  key.write = [=](const JobSpec& spec) { return nlohmann::ordered_json(field(spec)); };
  return key;
}

// A choice kept as an enum: choices[i] stands for the enumerator of value i.
template <typename Enum>
Status ReadEnum(const ConfigNode& node, const std::string& path,
                const std::vector<std::string>& choices, Enum* out) {
  std::string word;
  RETURN_IF_ERROR(ReadChoice(node, path, choices, &word));
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == word) *out = static_cast<Enum>(i);
  }
  return absl::OkStatus();
}

template <typename Field>
JobKey EnumKey(std::string path, std::vector<std::string> choices, Field field,
               std::string meaning) {
  JobKey key{std::move(path), Describe(choices), std::move(meaning)};
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    return ReadEnum(node, at, choices, &field(*spec));
  };
  key.write = [=](const JobSpec& spec) {
    return nlohmann::ordered_json(choices[static_cast<size_t>(field(spec))]);
  };
  return key;
}

inline JobKey Required(JobKey key) {
  key.required = true;
  return key;
}

// The key belongs to these model types alone; see JobKey::quantity.
inline JobKey Of(std::vector<std::string> types, std::string quantity, JobKey key) {
  key.types = std::move(types);
  key.quantity = std::move(quantity);
  return key;
}

inline JobKey WithDefault(std::string text, JobKey key) {
  key.default_text = std::move(text);
  return key;
}

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_KEY_MAKERS_H_
