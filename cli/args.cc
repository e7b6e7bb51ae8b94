// Walks the words once; the table decides which of them take a value.
#include "cli/args.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "common/config/values.h"

namespace trireme {
namespace {

const FlagSpec* FindFlag(const std::vector<FlagSpec>& specs, const std::string& name) {
  for (const FlagSpec& spec : specs) {
    const bool is_letter = spec.letter != 0 && name == std::string(1, spec.letter);
    if (spec.name == name || is_letter) return &spec;
  }
  return nullptr;
}

Status UnknownFlag(const std::string& word, const std::string& name,
                   const std::vector<FlagSpec>& specs) {
  std::vector<std::string> names;
  for (const FlagSpec& spec : specs) names.push_back(spec.name);
  const std::string nearest = Nearest(name, names);
  if (!nearest.empty()) {
    return InvalidArgument("unknown flag " + Printable(word) + "; did you mean --" + nearest + "?");
  }
  std::string known;
  for (const std::string& one : names) known += (known.empty() ? "--" : ", --") + one;
  return InvalidArgument("unknown flag " + Printable(word) + "; known: " + known);
}

Status CheckChoice(const FlagSpec& spec, const std::string& value) {
  if (spec.choices.empty()) return absl::OkStatus();
  if (std::find(spec.choices.begin(), spec.choices.end(), value) != spec.choices.end()) {
    return absl::OkStatus();
  }
  return InvalidArgument("--" + spec.name + ": expected " + Describe(spec.choices) + ", got \"" +
                         Printable(value) + "\"");
}

bool IsFlag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         !(word[1] >= '0' && word[1] <= '9');  // a negative number is an argument
}

}  // namespace

std::string Args::Get(const std::string& flag, const std::string& fallback) const {
  const auto it = values_.find(flag);
  return it == values_.end() ? fallback : it->second.back();
}

const std::vector<std::string>& Args::All(const std::string& flag) const {
  static const auto* const none = new std::vector<std::string>;
  const auto it = values_.find(flag);
  return it == values_.end() ? *none : it->second;
}

StatusOr<int64_t> Args::GetInt(const std::string& flag, int64_t fallback, int64_t min,
                               int64_t max) const {
  if (!Has(flag)) return fallback;
  const std::string text = Get(flag);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return InvalidArgument("--" + flag + ": expected " + Describe(IntRange{min, max}) + ", got \"" +
                           Printable(text) + "\"");
  }
  return value;
}

StatusOr<double> Args::GetNumber(const std::string& flag, double fallback, double min,
                                 double max) const {
  if (!Has(flag)) return fallback;
  const std::string text = Get(flag);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !std::isfinite(value) || value < min || value > max) {
    return InvalidArgument("--" + flag + ": expected " + Describe(NumberRange{min, max}) +
                           ", got \"" + Printable(text) + "\"");
  }
  return value;
}

StatusOr<Args> ParseArgs(const std::vector<std::string>& words,
                         const std::vector<FlagSpec>& specs) {
  Args args;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      args.positional_.insert(args.positional_.end(), words.begin() + i + 1, words.end());
      break;
    }
    if (!IsFlag(word)) {
      args.positional_.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const size_t dashes = word[1] == '-' ? 2 : 1;
    const std::string name = word.substr(dashes, equals == std::string::npos ? equals : equals - dashes);
    const FlagSpec* spec = FindFlag(specs, name);
    if (spec == nullptr) return UnknownFlag(word.substr(0, equals), name, specs);
    std::vector<std::string>& values = args.values_[spec->name];
    if (!values.empty() && !spec->repeated) {
      return InvalidArgument("--" + spec->name + " is given twice; once is enough");
    }
    if (spec->value.empty()) {
      if (equals != std::string::npos) {
        return InvalidArgument("--" + spec->name + " takes no value");
      }
      values.push_back("");
      continue;
    }
    if (equals == std::string::npos && i + 1 == words.size()) {
      return InvalidArgument("--" + spec->name + " needs a value: --" + spec->name + " " +
                             spec->value);
    }
    values.push_back(equals == std::string::npos ? words[++i] : word.substr(equals + 1));
    RETURN_IF_ERROR(CheckChoice(*spec, values.back()));
  }
  return args;
}

std::string FlagHelp(const std::vector<FlagSpec>& specs) {
  constexpr size_t kColumns = 100;
  size_t width = 0;
  std::vector<std::string> heads;
  for (const FlagSpec& spec : specs) {
    std::string head = "  ";
    if (spec.letter != 0) head += std::string("-") + spec.letter + ", ";
    head += "--" + spec.name + (spec.value.empty() ? "" : " " + spec.value);
    width = std::max(width, head.size() + 2);
    heads.push_back(head);
  }
  std::string text;
  for (size_t i = 0; i < specs.size(); ++i) {
    std::string line = heads[i] + std::string(width - heads[i].size(), ' ');
    std::istringstream words(specs[i].meaning);
    for (std::string word; words >> word;) {
      if (line.size() + word.size() > kColumns) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = std::string(width, ' ');
      }
      line += word + " ";
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string Printable(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    clean += c == '\t' ? ' ' : byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return clean;
}

}  // namespace trireme
