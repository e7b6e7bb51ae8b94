// Pieces that the texts of a plan share.
#ifndef TRIREME_COORDINATOR_PLANNER_REPORT_TEXT_H_
#define TRIREME_COORDINATOR_PLANNER_REPORT_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/plan/plan.h"

namespace trireme {

// "1 rank", "4 ranks"; `plural` where an s is not enough.
std::string Count(int64_t number, std::string_view singular, std::string_view plural = "");

// "(data, model)"
std::string AxesText(const std::vector<std::string>& axes);

// "[256, 128]"
std::string ShapeText(const std::vector<int64_t>& shape);

// One row a stage: params, grads, optimizer, activations, total, reserve.
std::string MemoryTable(const Plan& plan);

// "step 123 ms (compute 100 ms, exposed transfers 20 ms, hidden 35 ms), bubble 8 %, 12.3k tok/s
// (uncalibrated)", of the stage that is busiest; "" when nothing was predicted.
std::string PredictionText(const Plan& plan);

// One row a stage: what it does in a step.
std::string StageTimesTable(const Plan& plan);

// "  KV_HEADS_WHOLE  kv_heads 2 stay whole ..." one line a decision.
std::string ReasonLines(const Plan& plan);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_REPORT_TEXT_H_
