// Jobs that cannot be planned say why and what would work; those that can are planned the same way
// every time.
#include "coordinator/planner/planner.h"

#include <chrono>

#include "common/plan/validate.h"
#include "coordinator/planner/test_jobs.h"
#include "tests/support/golden.h"

namespace trireme {
namespace {

constexpr auto kBad = absl::StatusCode::kInvalidArgument;

void ExpectRefused(const std::vector<std::string>& overrides, int64_t devices,
                   const std::string& why, absl::StatusCode code = kBad) {
  const Status status = PlanJob(SmallJob(overrides), Devices(devices)).status();
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_NE(status.ToString().find(why), std::string::npos) << status << "\nshould say: " << why;
}

const Reason* FindReason(const Plan& plan, const std::string& code) {
  for (const Reason& reason : plan.reasons) {
    if (reason.code == code) return &reason;
  }
  return nullptr;
}

// ---- what cannot be

TEST(PlanJob, BatchThatDoesNotDivideOverReplicas) {
  ExpectRefused(
      {"mesh.axes={data: 3}"}, 3,
      "train.global_batch_size 8 does not divide over 3 data-parallel replicas; try 6 or 9");
}

TEST(PlanJob, MicrobatchThatDoesNotDivide) {
  ExpectRefused({"train.microbatch_size=3", "mesh.axes={data: 2}"}, 2,
                "train.microbatch_size 3 does not divide the 4 sequences of a replica (global "
                "batch 8 over 2 replicas); "
                "try 2");
}

TEST(PlanJob, TooFewDevices) {
  ExpectRefused({"mesh.axes={data: 2, model: 2}"}, 3,
                "multiplies to more than 3 devices in a slice");
}

TEST(PlanJob, HeadsThatDoNotDivide) {
  ExpectRefused(
      {"mesh.axes={data: 1, model: 8}"}, 8,
      "model.layers.{layer}.self_attn.q_proj.weight: heads 4 does not divide over model (8 shards; "
      "shared_mapping heads: model (default)); divisors of 4: 1, 2, 4; or unmap it with null");
}

TEST(PlanJob, ExpertsThatDoNotDivide) {
  ExpectRefused(
      {"model.type=mixtral", "model.num_local_experts=4", "mesh.axes={data: 1, expert: 8}"}, 8,
      "block_sparse_moe.experts.gate_proj.weight: expert 4 does not divide over expert (8 shards");
}

TEST(PlanJob, KvHeadsElsewhereThanHeads) {
  ExpectRefused({"mesh.axes={data: 2, model: 2}", "mesh.shared_mapping.kv_heads=data",
                 "mesh.param_mapping.embed=null"},
                4, "kv_heads must follow heads or be null");
}

TEST(PlanJob, MoreStagesThanLayers) {
  ExpectRefused({"mesh.axes={stage: 3, data: 1}"}, 3,
                "make 3 stages but the model has only 2 layers; use at most 2");
}

TEST(PlanJob, LayersOverTwoAxes) {
  ExpectRefused(
      {"mesh.axes={stage: 2, data: 1, context: 2}", "mesh.shared_mapping.layers=[stage, context]"},
      4, "map layers to one axis");
}

TEST(PlanJob, RegionsThatWouldBeIgnored) {
  ExpectRefused({"mesh.compute_mapping.stage_edge/position=model"}, 1,
                "map residual/position instead");
  ExpectRefused({"mesh.param_mapping.optimizer/embed=data"}, 1,
                "write embed in mesh.optimizer_mapping instead");
}

TEST(PlanJob, UnknownOrder) {
  StatusOr<Plan> plan = [] {
    JobSpec job = SmallJob();
    job.pipeline.order = "2f2b";
    return PlanJob(job, Devices(1));
  }();
  EXPECT_NE(plan.status().ToString().find("known: gpipe, 1f1b"), std::string::npos)
      << plan.status();
}

// 8 billion parameters with their gradients and states take 16 bytes each: more than one H100 has.
TEST(PlanJob, TooLittleMemoryNamesByHowMuch) {
  const JobSpec job = SmallJob({"model.hidden_size=4096", "model.intermediate_size=14336",
                                "model.num_hidden_layers=32", "model.num_attention_heads=32",
                                "model.num_key_value_heads=8", "model.vocab_size=128256"});
  const Status status = PlanJob(job, Devices(1, "h100")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  const std::string text = status.ToString();
  const size_t needs = text.find("a rank of stage 0 needs ");
  ASSERT_NE(needs, std::string::npos) << text;
  EXPECT_GT(std::stod(text.substr(needs + 24)), 16 * 8e9 / (1 << 30)) << text;
  EXPECT_NE(text.find("and h100 has 74.5 GiB: "), std::string::npos) << text;
  EXPECT_NE(text.find(" too much; "), std::string::npos) << text;
  EXPECT_NE(text.find("more devices on the data axis"), std::string::npos) << text;
  EXPECT_TRUE(PlanJob(job, Devices(8, "h100")).ok()) << "FSDP over 8 fits";
}

// ---- what is decided

TEST(PlanJob, MicrobatchIsClampedWithAReason) {
  const Plan plan =
      MustPlan(SmallJob({"train.microbatch_size=4", "mesh.axes={data: 4}"}), Devices(4));
  EXPECT_EQ(plan.run.microbatch_size, 2);
  EXPECT_EQ(plan.run.num_microbatches, 1);
  ASSERT_NE(FindReason(plan, "MICROBATCH_CLAMPED"), nullptr);
  EXPECT_EQ(
      FindReason(plan, "MICROBATCH_CLAMPED")->text,
      "train.microbatch_size 4 is more than the 2 sequences that each of 4 replicas has in a step");
}

TEST(PlanJob, MicrobatchOfZeroIsAllAtOnce) {
  const Plan plan =
      MustPlan(SmallJob({"train.microbatch_size=0", "mesh.axes={data: 2}"}), Devices(2));
  EXPECT_EQ(plan.run.microbatch_size, 4);
  EXPECT_EQ(plan.run.num_microbatches, 1);
  EXPECT_EQ(FindReason(plan, "MICROBATCH_CLAMPED"), nullptr);
}

// What routers judge together must not be cut apart; what experts have room for is said.
TEST(PlanJob, BalanceGroupsAndPoolsOfExperts) {
  const std::vector<std::string> mixtral = {"model.type=mixtral", "model.num_local_experts=4",
                                            "model.num_experts_per_tok=2"};
  std::vector<std::string> overrides = mixtral;
  overrides.push_back("moe.balance_group_sequences=4");
  const Status status = PlanJob(SmallJob(overrides), Devices(1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* const part : {"balance_group_sequences 4", "2 sequences of a replica's",
                                 "train.microbatch_size to a multiple of 4"}) {
    EXPECT_NE(status.ToString().find(part), std::string::npos) << status;
  }
  overrides.back() = "moe.balance_group_sequences=8";
  overrides.push_back("mesh.axes={data: 2}");
  EXPECT_NE(PlanJob(SmallJob(overrides), Devices(2))
                .status()
                .ToString()
                .find("make groups smaller: a replica has only 4 sequences in a step"),
            std::string::npos);
  // A router may see less of a batch than the residual stream.
  overrides = mixtral;
  for (const char* const more :
       {"moe.balance_group_sequences=2", "mesh.axes={data: 1, model: 2}",
        "mesh.shared_mapping.mlp=null", "mesh.compute_mapping.mlp/batch=[data, model]",
        "train.microbatch_size=2"}) {
    overrides.push_back(more);
  }
  EXPECT_NE(PlanJob(SmallJob(overrides), Devices(2))
                .status()
                .ToString()
                .find("does not divide the 1 sequences of a replica's microbatch where its router "
                      "is, so a group would be on two ranks or in two microbatches; set "
                      "train.microbatch_size to a multiple of 4"),
            std::string::npos);
  const auto pools = [&](const std::string& more) {
    std::vector<std::string> all = mixtral;
    all.push_back("mesh.axes={data: 1, expert: 2}");
    if (!more.empty()) all.push_back(more);
    const Plan plan = MustPlan(SmallJob(all), Devices(2));
    const Reason* reason = FindReason(plan, "EXPERT_POOLS");
    return reason == nullptr ? std::string() : reason->text;
  };
  // 4 sequences of 6 tokens with 2 choices: 24 assignments a part, and a quarter more.
  EXPECT_EQ(pools(""),
            "experts get pools of 30 rows, one for each of 1 part(s) of the tokens and each of 2 "
            "part(s) of the experts; what does not fit takes up to 1 more wave(s), which run only "
            "where needed and are in no prediction: nothing is dropped");
  EXPECT_NE(pools("moe.capacity_factor=1").find("pools of 24 rows"), std::string::npos);
  EXPECT_NE(pools("moe.capacity_factor=1").find("dropped evenly"), std::string::npos);
}

TEST(PlanJob, AxesThatSplitNothingAreNamed) {
  const auto idle = [](const std::string& axes, int64_t devices) {
    const Plan plan = MustPlan(SmallJob({"mesh.axes=" + axes}), Devices(devices));
    const Reason* reason = FindReason(plan, "AXIS_IDLE");
    return reason == nullptr ? std::string() : reason->text;
  };
  EXPECT_EQ(idle("{data: 1, modell: 2}", 2),
            "axis modell splits nothing of this model, so its 2 ranks repeat the same work; map a "
            "dim to it, or leave it out");
  for (const std::string axis : {"data", "replica", "model", "context", "stage", "expert"}) {
    EXPECT_EQ(idle(axis == "data" ? "{data: 2}" : "{data: 1, " + axis + ": 2}", 2), "") << axis;
  }
}

TEST(PlanJob, OddSequencesArePaddedOverPositions) {
  const Plan plan = MustPlan(SmallJob({"data.sequence_length=7", "mesh.axes={data: 1, model: 2}",
                                       "mesh.compute_mapping.residual/position=model"}),
                             Devices(2));
  EXPECT_EQ(plan.run.sequence_length, 7);
  EXPECT_EQ(plan.run.expected_tokens, 8 * 7) << "padding has no weight";
  ASSERT_NE(FindReason(plan, "POSITION_PADDED"), nullptr);
  EXPECT_NE(FindReason(plan, "POSITION_PADDED")->text.find("sequence length 7 is padded to 8"),
            std::string::npos);
  EXPECT_NE(FindReason(plan, "VOCAB_PADDED"), nullptr) << "257 over 2";
}

TEST(PlanJob, RanksStandOnHostsInPlacementOrder) {
  const Plan plan = MustPlan(
      SmallJob({"mesh.axes={stage: 2, data: 1, model: 2}", "mesh.dcn_axes={replica_dcn: 2}"}),
      Devices(4, "cpu", 2));
  ASSERT_EQ(plan.ranks.size(), 8u);
  for (size_t r = 0; r < plan.ranks.size(); ++r) {
    const RankPlacement& rank = plan.ranks[r];
    EXPECT_EQ(rank.rank, static_cast<int64_t>(r));
    EXPECT_EQ(rank.host, r < 4 ? "host0" : "host1") << "the DCN axis is outermost";
    EXPECT_EQ(rank.device, static_cast<int32_t>(r % 4));
    EXPECT_EQ(plan.mesh.RankOf(rank.coordinates), rank.rank);
    EXPECT_EQ(rank.stage, static_cast<int32_t>(r % 4 / 2));
  }
  EXPECT_EQ(plan.num_stages(), 2);
  EXPECT_EQ(plan.schedules.size(), 2u);
}

TEST(PlanJob, ProgramsAndSchedulesAreValid) {
  for (const char* axes : {"{data: 8}", "{data: 4, model: 2}", "{stage: 2, data: 2, model: 2}"}) {
    const Plan plan = MustPlan(
        SmallJob({std::string("mesh.axes=") + axes, "train.microbatch_size=1"}), Devices(8));
    for (size_t s = 0; s < plan.programs.size(); ++s) {
      const Status program = ValidateProgram(plan.programs[s], plan.mesh);
      EXPECT_TRUE(program.ok()) << axes << ": " << program;
      const Status schedule = ValidateSchedule(plan.programs[s], plan.schedules[s],
                                               plan.num_stages(), plan.run.num_microbatches);
      EXPECT_TRUE(schedule.ok()) << axes << ": " << schedule;
    }
  }
}

TEST(PlanJob, SameInputsSamePlan) {
  const JobSpec job = SmallJob({"mesh.axes={stage: 2, data: 2, model: 2}"});
  const Plan a = MustPlan(job, Devices(8));
  const Plan b = MustPlan(job, Devices(8));
  EXPECT_EQ(a.programs, b.programs);
  EXPECT_EQ(a.schedules, b.schedules);
  EXPECT_EQ(a.op_table_hash, b.op_table_hash);
  EXPECT_NE(a.programs, MustPlan(SmallJob({"mesh.axes={stage: 2, data: 4}"}), Devices(8)).programs);
}

// The whole program and schedule of a small job: what a rank of each stage executes.
TEST(PlanJob, ProgramIsGolden) {
  const Plan plan = MustPlan(
      SmallJob({"mesh.axes={stage: 2, data: 1, model: 2}", "train.microbatch_size=4"}), Devices(4));
  ASSERT_EQ(plan.programs.size(), 2u);
  for (int s = 0; s < 2; ++s) {
    ExpectGolden("program_pp2_tp2_stage" + std::to_string(s), plan.programs[s].ToText(plan.mesh));
  }
  ExpectGolden("schedule_pp2",
               plan.schedules[0].ToText() + "\n" + plan.schedules[1].ToText() + "\n");
}

// Llama 3.1 405B on 16,384 H100: planned like any other job, on one thread, in seconds at most.
TEST(PlanJob, Plans405B) {
  const JobSpec job = Job405B();
  const StatusOr<Topology> fleet = ParseFleet(
      "{device: h100, slices: 1, hosts_per_slice: 2048, devices_per_host: 8}", "fleet.yaml");
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  const auto start = std::chrono::steady_clock::now();
  const StatusOr<Plan> plan = PlanJob(job, *fleet);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::cout << "planned 405B in " << static_cast<int>(took.count() * 1000) << " ms, "
            << (plan->memory[0].total >> 20) << " MiB a rank\n";
  EXPECT_LT(took.count(), 20);
  EXPECT_EQ(plan->ranks.size(), 16384u);
  EXPECT_EQ(plan->num_stages(), 16);
  double parameters = 0;
  for (const ParameterPlan& parameter : plan->parameters) {
    double count = 1;
    for (const int64_t size : parameter.shape) count *= static_cast<double>(size);
    parameters += count;
  }
  EXPECT_NEAR(parameters, 405.85e9, 0.01e9);
}

// ---- generate and device counts

TEST(PlanGenerate, OneRankForwardThatEndsInLogits) {
  const StatusOr<Plan> plan = PlanGenerate(SmallJob({"mesh.axes={data: 4}"}), 16);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->mesh.num_ranks(), 1);
  ASSERT_EQ(plan->programs.size(), 1u);
  const StageProgram& program = plan->programs[0];
  ASSERT_EQ(program.outputs.size(), 1u);
  EXPECT_EQ(program.outputs[0].bytes, 16 * 257 * 4);
  EXPECT_TRUE(program.chunks[0].backward.empty() && program.update2.empty());
  ASSERT_EQ(plan->schedules.size(), 1u);
  EXPECT_EQ(plan->schedules[0].ToText(), "F0");
  EXPECT_TRUE(ValidateProgram(program, plan->mesh).ok()) << ValidateProgram(program, plan->mesh);
}

TEST(FixedDeviceCount, IsTheProductOrNothing) {
  const auto count = [](const std::vector<std::string>& overrides) {
    return FixedDeviceCount(SmallJob(overrides).mesh);
  };
  EXPECT_EQ(count({}), std::nullopt) << "data takes what is left";
  EXPECT_EQ(count({"mesh.axes={model: 2}"}), std::nullopt);
  EXPECT_EQ(count({"mesh.axes={data: 3}"}), 3);
  EXPECT_EQ(count({"mesh.axes={data: 2, model: 2, stage: 3}"}), 12);
  EXPECT_EQ(count({"mesh.axes={data: 2}", "mesh.dcn_axes={replica_dcn: 4}"}), 8);
  EXPECT_EQ(count({"mesh.axes={data: 2}", "mesh.dcn_axes={replica_dcn: -1}"}), std::nullopt);
}

}  // namespace
}  // namespace trireme
