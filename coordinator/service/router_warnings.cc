// Adds the steps up layer by layer; each check then looks for its worst layer.
#include "coordinator/service/router_warnings.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace trireme {
namespace {

// One router over all of the steps.
struct LayerSums {
  int32_t layer = 0;
  double assignments = 0;
  double sender_dropped = 0;
  double receiver_dropped = 0;
  std::vector<double> loads;  // assignments by expert

  double dropped() const {
    return (sender_dropped + receiver_dropped) / std::max(assignments, 1.0);
  }
  // 0 when the experts got too little to be judged.
  double mean_load() const {
    const double mean = assignments / static_cast<double>(std::max<size_t>(loads.size(), 1));
    return mean >= kFewestTokensPerExpert ? mean : 0;
  }
};

std::vector<LayerSums> SumUp(const std::vector<const v1::StepMetrics*>& steps) {
  std::vector<LayerSums> layers;
  for (const v1::StepMetrics* step : steps) {
    layers.resize(std::max<size_t>(layers.size(), step->routers_size()));
    for (int i = 0; i < step->routers_size(); ++i) {
      const v1::RouterMetrics& router = step->routers(i);
      LayerSums& sums = layers[i];
      sums.layer = router.layer();
      sums.loads.resize(router.loads_size());
      const auto assignments = static_cast<double>(router.assignments());
      sums.assignments += assignments;
      sums.sender_dropped += static_cast<double>(router.sender_dropped());
      sums.receiver_dropped += static_cast<double>(router.receiver_dropped());
      for (int e = 0; e < router.loads_size(); ++e) sums.loads[e] += assignments * router.loads(e);
    }
  }
  return layers;
}

std::string Format(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// What evens the loads out in this job.
std::string BalanceAdvice(const JobSpec& spec) {
  const ExpertsSpec& experts = spec.model.experts;
  if (spec.model.type == "grug_moe") {
    return "raise moe.balance_group_sequences (" +
           std::to_string(spec.moe.balance_group_sequences) +
           "), so that the bias of the experts follows more tokens";
  }
  if (spec.model.type == "deepseek_moe" && experts.aux_loss_coef == 0) {
    return "raise model.router_bias_update_rate (" + Format("%g", experts.bias_update_rate) + ")";
  }
  return "raise model.router_aux_loss_coef (" + Format("%g", experts.aux_loss_coef) + ")";
}

std::string Over(int64_t steps) { return " over the last " + std::to_string(steps) + " steps; "; }

std::optional<v1::RouterWarning> Dropped(const std::vector<LayerSums>& layers, int64_t steps,
                                         const JobSpec& spec) {
  const auto worst = std::max_element(
      layers.begin(), layers.end(),
      [](const LayerSums& a, const LayerSums& b) { return a.dropped() < b.dropped(); });
  if (worst->dropped() <= kLargestDropped) return std::nullopt;
  const double senders = worst->sender_dropped / std::max(worst->assignments, 1.0);
  v1::RouterWarning warning;
  warning.set_kind(v1::RouterWarning::DROPPED);
  warning.set_layer(worst->layer);
  warning.set_expert(-1);
  warning.set_figure(worst->dropped());
  std::string where = " at their receivers";
  if (worst->sender_dropped > 0) where = " at their senders";
  if (worst->sender_dropped > 0 && worst->receiver_dropped > 0) {
    where += " (" + Format("%.1f %%", 100 * senders) + ") and receivers";
  }
  warning.set_text("layer " + std::to_string(worst->layer) + " dropped " +
                   Format("%.1f %%", 100 * worst->dropped()) + " of assignments" + where +
                   Over(steps) + "raise moe.capacity_factor (" +
                   Format("%g", spec.moe.capacity_factor) + ") or set it to none");
  return warning;
}

std::optional<v1::RouterWarning> Overloaded(const std::vector<LayerSums>& layers, int64_t steps,
                                            const JobSpec& spec) {
  v1::RouterWarning warning;
  warning.set_figure(kLargestLoad);
  for (const LayerSums& layer : layers) {
    if (layer.mean_load() == 0) continue;
    const auto largest = std::max_element(layer.loads.begin(), layer.loads.end());
    const double times = *largest / layer.mean_load();
    if (times <= warning.figure()) continue;
    warning.set_kind(v1::RouterWarning::OVERLOADED);
    warning.set_layer(layer.layer);
    warning.set_expert(static_cast<int32_t>(largest - layer.loads.begin()));
    warning.set_figure(times);
  }
  if (warning.kind() == v1::RouterWarning::KIND_UNSPECIFIED) return std::nullopt;
  warning.set_text("layer " + std::to_string(warning.layer()) + ": expert " +
                   std::to_string(warning.expert()) + " gets " + Format("%.1f", warning.figure()) +
                   " times the mean load" + Over(steps) + BalanceAdvice(spec));
  return warning;
}

std::optional<v1::RouterWarning> Starved(const std::vector<LayerSums>& layers, int64_t steps,
                                         const JobSpec& spec) {
  v1::RouterWarning warning;
  int64_t num_experts = 0;
  for (const LayerSums& layer : layers) {
    if (layer.mean_load() == 0) continue;
    const auto idle = std::count(layer.loads.begin(), layer.loads.end(), 0.0);
    if (static_cast<double>(idle) <= warning.figure()) continue;
    const auto first = std::find(layer.loads.begin(), layer.loads.end(), 0.0);
    warning.set_kind(v1::RouterWarning::STARVED);
    warning.set_layer(layer.layer);
    warning.set_expert(static_cast<int32_t>(first - layer.loads.begin()));
    warning.set_figure(static_cast<double>(idle));
    num_experts = static_cast<int64_t>(layer.loads.size());
  }
  if (warning.kind() == v1::RouterWarning::KIND_UNSPECIFIED) return std::nullopt;
  const auto others = static_cast<int64_t>(warning.figure()) - 1;
  std::string who = "expert " + std::to_string(warning.expert());
  if (others > 0) {
    who += " and " + std::to_string(others) + (others == 1 ? " other" : " others") + " of " +
           std::to_string(num_experts);
  }
  warning.set_text("layer " + std::to_string(warning.layer()) + ": " + who + " got nothing" +
                   Over(steps) + BalanceAdvice(spec));
  return warning;
}

}  // namespace

std::vector<v1::RouterWarning> RouterWarnings(const std::vector<const v1::StepMetrics*>& steps,
                                              const JobSpec& spec) {
  const auto num_steps = static_cast<int64_t>(steps.size());
  if (num_steps < kWarningSteps) return {};
  const std::vector<LayerSums> layers = SumUp(steps);
  if (layers.empty()) return {};
  std::vector<v1::RouterWarning> warnings;
  for (const auto check : {Dropped, Overloaded, Starved}) {
    std::optional<v1::RouterWarning> warning = check(layers, num_steps, spec);
    if (!warning.has_value()) continue;
    warning->set_steps(num_steps);
    warnings.push_back(*std::move(warning));
  }
  return warnings;
}

}  // namespace trireme
