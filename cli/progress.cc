// Formats numbers with as many digits as a reader needs.
#include "cli/progress.h"

#include <cmath>
#include <cstdio>

#include "cli/router_json.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string TwoParts(int64_t large, const char* unit, int64_t small, const char* small_unit) {
  char text[64];
  std::snprintf(text, sizeof(text), "%lld%s%02lld%s", static_cast<long long>(large), unit,
                static_cast<long long>(small), small_unit);
  return text;
}

}  // namespace

std::string StepJson(const v1::StepMetrics& step) {
  nlohmann::ordered_json json{{"step", step.step()},
                              {"train/loss", step.loss()},
                              {"grad_norm", step.grad_norm()},
                              {"optim/learning_rate", step.learning_rate()},
                              {"throughput/tokens_per_second", step.tokens_per_second()},
                              {"throughput/duration", step.duration_s()},
                              {"communication/ici_bytes", step.ici_bytes()},
                              {"communication/dcn_bytes", step.dcn_bytes()}};
  AddRouterJson(step, json);
  return json.dump();
}

std::string StepLine(const v1::StepMetrics& step, int64_t total_steps) {
  std::string line = "step " + WithCommas(step.step());
  if (total_steps > 0) line += "/" + WithCommas(total_steps);
  line += "  loss " + Format("%.4f", step.loss());
  line += "  grad_norm " + Format("%.3g", step.grad_norm());
  line += "  lr " + Format("%.2e", step.learning_rate());
  if (step.has_router()) line += "  load " + Format("%.2fx", step.router().load_max_over_mean());
  line += "  " + HumanCount(step.tokens_per_second()) + " tok/s";
  line += "  " + HumanDuration(step.duration_s());
  const int64_t left = total_steps - step.step();
  if (left > 0) line += "  eta " + HumanDuration(static_cast<double>(left) * step.duration_s());
  return line;
}

std::string HumanDuration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  if (seconds < 0.9995) return Format("%.0f ms", seconds * 1000);
  if (seconds < 59.95) return Format("%.1f s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return TwoParts(whole / 60, "m", whole % 60, "s");
  if (whole < 86400) return TwoParts(whole / 3600, "h", whole % 3600 / 60, "m");
  return TwoParts(whole / 86400, "d", whole % 86400 / 3600, "h");
}

std::string HumanCount(double value) {
  if (value >= 999500) return Format("%.3gM", value / 1e6);
  if (value >= 999.5) return Format("%.3gk", value / 1e3);
  return Format("%.3g", value);
}

std::string WithCommas(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

}  // namespace trireme
