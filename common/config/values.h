// Reads single values of a config tree (whole numbers, fractions, choices, step counts) and words
// their errors: "job.yaml:7: train.steps: expected a whole number >= 1, got \"ten\"".
#ifndef TRIREME_COMMON_CONFIG_VALUES_H_
#define TRIREME_COMMON_CONFIG_VALUES_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/config/config_node.h"
#include "common/config/job_spec.h"

namespace trireme {

// Both ends belong to the range.
struct IntRange {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};

// An end that is open does not belong to the range.
struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;
  bool max_open = false;
};

// "a whole number from 1 to 4096", "a number > 0": what errors and the reference page call a range.
std::string Describe(const IntRange& range);
std::string Describe(const NumberRange& range);
// "one of adamw, lion"; "adamw" alone when there is one.
std::string Describe(const std::vector<std::string>& choices);

// "<where>: <path>: <what>"
Status ConfigError(std::string_view where, std::string_view path, std::string_view what);
// "<where>: <path>: expected <what>, got <node>"
Status Expected(const ConfigNode& node, std::string_view path, std::string_view what);

// The candidate with the fewest edits from `word`, when they are few enough to be a slip; else "".
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// Errors of all readers: kInvalidArgument from Expected().
Status ReadInt(const ConfigNode& node, std::string_view path, const IntRange& range, int64_t* out);
Status ReadNumber(const ConfigNode& node, std::string_view path, const NumberRange& range,
                  double* out);
Status ReadBool(const ConfigNode& node, std::string_view path, bool* out);
// Any scalar without control characters, at most 4096 bytes.
Status ReadText(const ConfigNode& node, std::string_view path, std::string* out);
Status ReadChoice(const ConfigNode& node, std::string_view path,
                  const std::vector<std::string>& choices, std::string* out);

// "2 steps", "1 step", a whole number > 1: steps. A number from 0 to 1, "10%": a fraction.
Status ReadStepCount(const ConfigNode& node, std::string_view path, StepCount* out);
// "10 steps" or 10, >= 0.
Status ReadSteps(const ConfigNode& node, std::string_view path, int64_t* out);

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_VALUES_H_
