// Numbers are read with std::from_chars: no locale, no exceptions, no leading blanks.
#include "common/config/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

namespace trireme {
namespace {

std::string_view SkipPlus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

std::optional<int64_t> ToInt(std::string_view text) {
  text = SkipPlus(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ToNumber(std::string_view text) {
  text = SkipPlus(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

// "12 steps" -> 12; nullopt when there is no such suffix or no whole number before it.
std::optional<int64_t> ToStepsWithSuffix(std::string_view text) {
  for (const std::string_view suffix : {"steps", "step"}) {
    if (text.size() <= suffix.size()) continue;
    const size_t cut = text.size() - suffix.size();
    if (text.substr(cut) == suffix) return ToInt(Trim(text.substr(0, cut)));
  }
  return std::nullopt;
}

std::string ShowNumber(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.15g", value);
  return text;
}

int64_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Describe(const IntRange& range) {
  const bool has_min = range.min != IntRange().min;
  const bool has_max = range.max != IntRange().max;
  const std::string min = std::to_string(range.min);
  const std::string max = std::to_string(range.max);
  if (has_min && has_max) return "a whole number from " + min + " to " + max;
  if (has_min) return "a whole number >= " + min;
  if (has_max) return "a whole number <= " + max;
  return "a whole number";
}

std::string Describe(const NumberRange& range) {
  std::string text = "a number";
  if (std::isfinite(range.min)) text += (range.min_open ? " > " : " >= ") + ShowNumber(range.min);
  if (std::isfinite(range.max)) {
    text += std::isfinite(range.min) ? " and" : "";
    text += (range.max_open ? " < " : " <= ") + ShowNumber(range.max);
  }
  return text;
}

std::string Describe(const std::vector<std::string>& choices) {
  if (choices.size() == 1) return choices[0];
  std::string text = "one of ";
  for (size_t i = 0; i < choices.size(); ++i) text += (i == 0 ? "" : ", ") + choices[i];
  return text;
}

Status ConfigError(std::string_view where, std::string_view path, std::string_view what) {
  std::string text(where);
  if (!path.empty()) (text += ": ") += path;
  (text += ": ") += what;
  return InvalidArgument(text);
}

Status Expected(const ConfigNode& node, std::string_view path, std::string_view what) {
  return ConfigError(node.where, path, "expected " + std::string(what) + ", got " + ShowNode(node));
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 64) return "";
  std::string nearest;
  // Two letters that changed places are two edits.
  const int64_t allowed = std::max<int64_t>(word.size() < 4 ? 1 : 2, word.size() / 3);
  int64_t fewest = allowed + 1;
  for (const std::string& candidate : candidates) {
    const int64_t edits = EditDistance(word, candidate);
    if (edits >= fewest || edits >= static_cast<int64_t>(candidate.size())) continue;
    fewest = edits;
    nearest = candidate;
  }
  return nearest;
}

Status ReadInt(const ConfigNode& node, std::string_view path, const IntRange& range, int64_t* out) {
  if (!node.is_scalar() || node.quoted) return Expected(node, path, Describe(range));
  const std::optional<int64_t> value = ToInt(node.text);
  if (!value || *value < range.min || *value > range.max) {
    return Expected(node, path, Describe(range));
  }
  *out = *value;
  return absl::OkStatus();
}

Status ReadNumber(const ConfigNode& node, std::string_view path, const NumberRange& range,
                  double* out) {
  if (!node.is_scalar() || node.quoted) return Expected(node, path, Describe(range));
  const std::optional<double> value = ToNumber(node.text);
  const bool inside = value && (range.min_open ? *value > range.min : *value >= range.min) &&
                      (range.max_open ? *value < range.max : *value <= range.max);
  if (!inside) return Expected(node, path, Describe(range));
  *out = *value;
  return absl::OkStatus();
}

Status ReadBool(const ConfigNode& node, std::string_view path, bool* out) {
  const bool is_word = node.is_scalar() && !node.quoted;
  if (!is_word || (node.text != "true" && node.text != "false")) {
    return Expected(node, path, "true or false");
  }
  *out = node.text == "true";
  return absl::OkStatus();
}

Status ReadText(const ConfigNode& node, std::string_view path, std::string* out) {
  if (!node.is_scalar()) return Expected(node, path, "text");
  const bool printable = std::all_of(node.text.begin(), node.text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (!printable) return Expected(node, path, "text without control characters");
  if (node.text.size() > 4096) return Expected(node, path, "text of at most 4096 bytes");
  *out = node.text;
  return absl::OkStatus();
}

Status ReadChoice(const ConfigNode& node, std::string_view path,
                  const std::vector<std::string>& choices, std::string* out) {
  const bool known =
      node.is_scalar() && std::find(choices.begin(), choices.end(), node.text) != choices.end();
  if (known) {
    *out = node.text;
    return absl::OkStatus();
  }
  const Status error = Expected(node, path, Describe(choices));
  const std::string nearest = node.is_scalar() ? Nearest(node.text, choices) : "";
  if (nearest.empty()) return error;
  return InvalidArgument(std::string(ToStd(error.message())) + "; did you mean " + nearest + "?");
}

Status ReadStepCount(const ConfigNode& node, std::string_view path, StepCount* out) {
  constexpr std::string_view kWhat =
      "steps (\"20 steps\", or a whole number > 1) or a share of all steps (0 to 1, \"10%\")";
  if (!node.is_scalar()) return Expected(node, path, kWhat);
  const std::string text = Trim(node.text);
  if (const std::optional<int64_t> steps = ToStepsWithSuffix(text); steps && *steps >= 0) {
    *out = StepCount{false, static_cast<double>(*steps)};
    return absl::OkStatus();
  }
  if (!text.empty() && text.back() == '%') {
    const std::optional<double> percent = ToNumber(Trim(text.substr(0, text.size() - 1)));
    if (!percent || *percent < 0 || *percent > 100) return Expected(node, path, kWhat);
    *out = StepCount{true, *percent / 100};
    return absl::OkStatus();
  }
  const std::optional<double> value = node.quoted ? std::nullopt : ToNumber(text);
  const bool whole = value && *value == std::floor(*value) && *value < 1e15;
  if (!value || *value < 0 || (*value > 1 && !whole)) return Expected(node, path, kWhat);
  *out = StepCount{*value <= 1, *value};
  return absl::OkStatus();
}

Status ReadSteps(const ConfigNode& node, std::string_view path, int64_t* out) {
  constexpr std::string_view kWhat = "a whole number of steps >= 0 (10, or \"10 steps\")";
  if (!node.is_scalar()) return Expected(node, path, kWhat);
  std::optional<int64_t> steps = ToStepsWithSuffix(Trim(node.text));
  if (!steps && !node.quoted) steps = ToInt(node.text);
  if (!steps || *steps < 0) return Expected(node, path, kWhat);
  *out = *steps;
  return absl::OkStatus();
}

}  // namespace trireme
