// A plan for scripts (JSON) and for people (texts). Everything printed here is read from the plan
// that runs; nothing is computed a second time. Costs are linear in ranks: 16,384 ranks take well
// under half a second.
#ifndef TRIREME_COORDINATOR_PLANNER_REPORT_H_
#define TRIREME_COORDINATOR_PLANNER_REPORT_H_

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/config/fleet.h"
#include "common/plan/plan.h"

namespace trireme {

// The stable JSON of `trireme plan -o json`; keys are only ever added. Bytes unless said otherwise:
//   job, device {name, memory, reserve}, fits
//   mesh {axes: [{name, size, fabric}]}                       in declaration order
//   train {steps, global_batch_size, microbatch_size, num_microbatches, sequence_length}
//   ranks [{rank, host, device, coordinates {axis: c}, stage}]
//   parameters [{name, shape, spec, local_shape, slices, stage}]
//   memory [{rank, params, grads, optimizer, activations, total, reserve}]
//   collectives [{op, axes, fabric, bytes_per_step, count_per_step, tensor, reason, stage}]   of
//   one rank of the stage
//       with hidden_s and exposed_s, predicted
//   prediction {step_s, tokens_per_s, bubble, source,
//               stages [{stage, busy_s, compute_s, exposed_s, hidden_s, sends_s, waits_s}],
//               phases [{stage, phase, chunk, seconds}]}       seconds of one rank; step_s 0 = not
//               predicted
//   reasons [{code, text}]
std::string PlanToJson(const Plan& plan, const DeviceKind& device);

// OK when every rank fits its device. A device kind without a limit always fits.
// Errors: kResourceExhausted naming the stage, its bytes, the device's, by how much it is over, and
// what to try.
Status CheckFits(const Plan& plan, const DeviceKind& device);

// A screen for people: mesh, batch, hosts, memory (fits or not), collectives grouped by op and
// axes, bytes per fabric.
std::string PlanSummary(const Plan& plan, const DeviceKind& device);

// Why it is so: role of every axis, sharding of every parameter (layers that are alike together),
// every collective with its tensor, reason, bytes and fabric, and what was decided.
std::string PlanExplain(const Plan& plan, const DeviceKind& device);

// What one rank holds: place, coordinates, groups, local shapes, pools.
// Errors: kInvalidArgument when there is no such rank.
StatusOr<std::string> PlanRank(const Plan& plan, int64_t rank);

// Every stage's program as text.
std::string PlanProgram(const Plan& plan);

// Every stage's step, with its legend; stages with the same text share a line.
std::string PlanSchedule(const Plan& plan);

// Stages x time as predicted, with its legend, and below it what each stage does in a step. A plan
// that is not predicted is drawn with equal costs.
std::string PlanGrid(const Plan& plan);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_REPORT_H_
