// What ranks send is what the plan says, byte for byte, on each fabric.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

struct Case {
  std::string name;
  std::vector<std::string> sets;
  int slices = 1;
  bool experts = false;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

// Two workers of one device, so that everything travels over TCP between two ranks.
class SentBytes : public testing::TestWithParam<Case> {};

TEST_P(SentBytes, AreThoseOfThePlan) {
  const CliFolder folder;
  const std::string job = folder.Write("job.yaml", GetParam().experts ? MixtralJob() : LlamaJob());
  const std::string slices = std::to_string(GetParam().slices);
  const std::string hosts = std::to_string(2 / GetParam().slices);
  std::vector<std::string> run = {
      "run", job, "-o", "json", "--hosts", "2", "--devices-per-host", "1", "--slices", slices};
  std::vector<std::string> plan = {
      "plan",
      job,
      "-o",
      "json",
      "--fleet",
      "{device: cpu, slices: " + slices + ", hosts_per_slice: " + hosts + ", devices_per_host: 1}"};
  for (const std::string& set : GetParam().sets) {
    for (auto* words : {&run, &plan}) {
      words->push_back("--set");
      words->push_back(set);
    }
  }
  const CliResult planned = folder.Run(plan);
  ASSERT_EQ(planned.code, 0) << planned.err;
  const auto json = nlohmann::json::parse(planned.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << planned.out;
  int64_t last_stage = 0;
  for (const auto& rank : json["ranks"]) last_stage = std::max<int64_t>(last_stage, rank["stage"]);
  int64_t ici = 0;
  int64_t dcn = 0;
  for (const auto& one : json["collectives"]) {
    if (one["stage"] != last_stage) continue;  // of the rank that reports
    (one["fabric"] == "dcn" ? dcn : ici) += one["bytes_per_step"].get<int64_t>();
  }
  const CliResult ran = folder.Run(run);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<StepLineJson> steps = Steps(ran.out);
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_GT(ici + dcn, 0);
  for (const StepLineJson& step : steps) {
    EXPECT_EQ(step.ici_bytes, ici) << "step " << step.step;
    EXPECT_EQ(step.dcn_bytes, dcn) << "step " << step.step;
  }
}

const Case kCases[] = {
    {"AllReduceModel", {"mesh.axes={data: 1, model: 2}"}},
    {"ReduceScatterModel",
     {"mesh.axes={data: 1, model: 2}", "tensor_parallel.mode=reduce_scatter"}},
    {"AsyncModel",
     {"mesh.axes={data: 1, model: 2}", "tensor_parallel={mode: reduce_scatter, async: true}"}},
    {"Fsdp", {"mesh.axes={data: 2}", "zero.prefetch=true"}},
    {"Context", {"mesh.axes={data: 1, context: 2}"}},
    {"Stages",
     {"mesh.axes={data: 1, stage: 2}", "pipeline.order=zero_bubble_v", "train.microbatch_size=1"}},
    {"Slices", {"mesh.axes={data: 1}", "zero.stage=0"}, 2},
    {"SlicesInt8", {"mesh.axes={data: 1}", "zero.stage=0", "compression.dcn=int8"}, 2},
    // With a capacity factor there is one wave, so that bytes do not hang on what routers choose.
    {"ExpertsRing", {"mesh.axes={data: 1, expert: 2}", "moe.capacity_factor=1.25"}, 1, true},
    {"ExpertsAllToAll",
     {"mesh.axes={data: 1, expert: 2}", "moe={dispatch: all_to_all, capacity_factor: 1.25}"},
     1,
     true},
};

INSTANTIATE_TEST_SUITE_P(Plans, SentBytes, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace trireme
