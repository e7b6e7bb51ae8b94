// A job as people and scripts see it.
#ifndef TRIREME_CLI_JOB_VIEW_H_
#define TRIREME_CLI_JOB_VIEW_H_

#include <cstdint>
#include <string>

#include "trireme/v1/jobs.pb.h"
#include "trireme/v1/workers.pb.h"

namespace trireme {

// "RUNNING"; "STARTING (fetching)" when a sub-phase is known.
std::string StateText(v1::Job::State state, v1::Job::SubPhase sub_phase);

bool HasEnded(v1::Job::State state);

// One object: id, name, display_name, state, sub_phase, reason, attempt, num_ranks, step, total_steps, loss,
// router_warnings (objects of kind, layer, expert or null, figure, steps, text), checkpoint_step, checkpoint_folder,
// hosts, create_time, start_time, end_time (RFC 3339, null when absent), plan_summary and spec (null when left out).
std::string JobJson(const v1::Job& job);

// A screen about one job; `now_s` is the time of day in seconds since 1970.
std::string JobScreen(const v1::Job& job, int64_t now_s);

// One object of `nodes -o json`.
std::string NodeJson(const v1::Node& node);

// "2026-11-30 19:02:11 (3m05s ago)" in UTC.
std::string TimeText(const google::protobuf::Timestamp& time, int64_t now_s);

}  // namespace trireme

#endif  // TRIREME_CLI_JOB_VIEW_H_
