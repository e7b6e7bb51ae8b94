// A small plan made by hand, for tests of what is printed: two stages of two ranks on two hosts, one tied tensor.
#ifndef TRIREME_COORDINATOR_PLANNER_FAKE_PLAN_H_
#define TRIREME_COORDINATOR_PLANNER_FAKE_PLAN_H_

#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/plan/plan.h"

namespace trireme {

inline StepSchedule FakeSchedule(int32_t stage) {
  StepSchedule schedule;
  schedule.stage = stage;
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate1}) {
    ScheduleItem item;
    item.phase = phase;
    if (phase != Phase::kUpdate1) item.microbatch = item.slot = 0;
    schedule.items.push_back(item);
  }
  return schedule;
}

inline StageProgram FakeProgram(int32_t stage) {
  StageProgram program;
  program.stage = stage;
  program.pools = {{Pool::kParam, 4096, 1}, {Pool::kSaved, 1024, 2}};
  program.groups = {{{1}, {}, Fabric::kIci}, {{0}, {0, 1}, Fabric::kDcn}};
  return program;
}

inline ParameterPlan FakeParameter(std::string name, int32_t stage) {
  return {std::move(name), {64, 32}, "[mlp/model, embed]", {32, 32}, 2, stage};
}

// Both stages run for 31 ms and then wait for 2 ms.
inline Prediction FakePrediction() {
  Prediction prediction{.step_s = 0.033, .bubble = 2.0 / 33, .source = "uncalibrated"};
  for (int32_t stage = 0; stage < 2; ++stage) {
    prediction.stages.push_back({0.028, 0.003, 0.004, 0, 0.002});
    prediction.phases.push_back({stage, Phase::kForward, 0, 0.010});
    prediction.phases.push_back({stage, Phase::kBackward, 0, 0.020});
    prediction.phases.push_back({stage, Phase::kUpdate1, 0, 0.001});
  }
  return prediction;
}

// Not predicted; FakePrediction() fits it.
inline Plan FakePlan() {
  Plan plan;
  plan.job_name = "tiny";
  auto mesh = Mesh::Create({{"stage", 2, Fabric::kDcn}, {"model", 2, Fabric::kIci}});
  CHECK_OK(mesh.status());
  plan.mesh = *std::move(mesh);
  plan.stage_axis = 0;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const std::vector<int64_t> coordinates = plan.mesh.Coordinates(rank);
    plan.ranks.push_back({rank, rank < 2 ? "host-0" : "host-1", static_cast<int32_t>(rank % 2),
                          coordinates, static_cast<int32_t>(coordinates[0])});
  }
  for (int32_t stage = 0; stage < 2; ++stage) {
    plan.programs.push_back(FakeProgram(stage));
    plan.schedules.push_back(FakeSchedule(stage));
    plan.memory.push_back({4096, 4096, 8192, 2048 + 1024 * stage, 18432 + 1024 * stage, 1024});
    plan.collectives.push_back({"all_reduce", {"model"}, Fabric::kIci, 65536, 4, "attention out",
                                "heads are split over model (shared_mapping heads: model)", stage});
    plan.collectives.push_back({"all_reduce", {"model"}, Fabric::kIci, 32768, 2, "mlp down",
                                "mlp is split over model (shared_mapping mlp: model)", stage});
  }
  plan.collectives.push_back({"all_reduce", {"stage"}, Fabric::kDcn, 512, 1, "wte", "", 1});
  plan.run = {.steps = 20,
              .global_batch_size = 16,
              .microbatch_size = 4,
              .num_microbatches = 4,
              .sequence_length = 128,
              .expected_tokens = 2048};
  for (const char* name : {"wte", "layers.0.up", "layers.1.up"}) {
    plan.parameters.push_back(FakeParameter(name, 0));
  }
  plan.parameters.push_back(FakeParameter("layers.2.up", 1));
  plan.reasons = {{"VOCAB_PADDED", "vocab 65 is padded to 66 so that model 2 divides it"}};
  return plan;
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_FAKE_PLAN_H_
