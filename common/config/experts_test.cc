// Experts, through the parser: each type takes its own names, refuses those of the others by
// naming its own, fills in its defaults, and comes back unchanged from JSON.
#include "common/config/experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "common/config/parse.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

// The least that each type needs beside what all have.
const std::map<std::string, std::string>& Needed() {
  static const auto* const needed = new std::map<std::string, std::string>{
      {"llama", "intermediate_size: 96"},
      {"gpt2", ""},
      {"mixtral", "intermediate_size: 96"},
      {"qwen3_moe", "moe_intermediate_size: 48"},
      {"deepseek_moe", "n_routed_experts: 16, moe_intermediate_size: 48"},
      {"grug_moe", "moe_intermediate_size: 48"}};
  return *needed;
}

std::string Job(const std::string& type, const std::string& keys = "",
                const std::string& lines = "") {
  const std::string needed = Needed().at(type);
  return "name: experts\nmodel: {type: " + type +
         ", hidden_size: 64, num_hidden_layers: 4, num_attention_heads: 4, vocab_size: 256, "
         "max_position_embeddings: 64" +
         (needed.empty() ? "" : ", ") + needed + (keys.empty() ? "" : ", ") + keys +
         "}\ndata: {train: [{path: x}], sequence_length: 64}\n"
         "train: {steps: 2, global_batch_size: 8}\n" +
         lines;
}

// The job after a trip through JSON that must not change it.
JobSpec Parse(const std::string& text) {
  const StatusOr<JobSpec> spec = ParseJob(text, "job.yaml");
  if (!spec.ok()) {
    ADD_FAILURE() << text << ": " << spec.status();
    return JobSpec();
  }
  const std::string json = JobToJson(*spec);
  const StatusOr<JobSpec> again = ParseJob(json, "job.json");
  EXPECT_TRUE(again.ok() && *again == *spec && JobToJson(*again) == json) << again.status() << json;
  return *spec;
}

std::string ErrorOf(const std::string& text) {
  const StatusOr<JobSpec> spec = ParseJob(text, "job.yaml");
  return spec.ok() ? "no error" : std::string(ToStd(spec.status().message()));
}

TEST(Experts, DefaultsOfEachType) {
  EXPECT_EQ(Parse(Job("llama")).model.experts, ExpertsSpec());
  EXPECT_EQ(Parse(Job("gpt2")).model.experts, ExpertsSpec());
  EXPECT_EQ(Parse(Job("mixtral")).model.experts, (ExpertsSpec{.num_experts = 8,
                                                              .num_experts_per_tok = 2,
                                                              .width = 96,
                                                              .aux_loss_coef = 0.01,
                                                              .z_loss_coef = 0.001}));
  EXPECT_EQ(
      Parse(Job("qwen3_moe")).model.experts,
      (ExpertsSpec{
          .num_experts = 128, .num_experts_per_tok = 8, .width = 48, .aux_loss_coef = 0.001}));
  EXPECT_EQ(Parse(Job("deepseek_moe")).model.experts, (ExpertsSpec{.num_experts = 16,
                                                                   .num_experts_per_tok = 8,
                                                                   .width = 48,
                                                                   .shared_width = 48,
                                                                   .bias_update_rate = 0.001}));
  EXPECT_EQ(
      Parse(Job("grug_moe")).model.experts,
      (ExpertsSpec{.num_experts = 64, .num_experts_per_tok = 4, .width = 48, .shared_width = 64}));
}

TEST(Experts, DefaultsOfGrug) {
  const ModelSpec model = Parse(Job("grug_moe")).model;
  EXPECT_EQ(model.sliding_window, 2048);
  EXPECT_DOUBLE_EQ(model.qk_mult, 1.3);
  EXPECT_EQ(model.gated_norm_rank, 128);
  EXPECT_DOUBLE_EQ(model.initializer_range, 0.5 / 8);
  EXPECT_DOUBLE_EQ(model.norm_eps, 1e-5);
  EXPECT_FALSE(model.tie_word_embeddings);
  EXPECT_DOUBLE_EQ(Parse(Job("qwen3_moe")).model.initializer_range, 0.02);
}

TEST(Experts, EveryKeyIsRead) {
  const ExpertsSpec mixtral = Parse(Job("mixtral",
                                        "num_local_experts: 6, num_experts_per_tok: 3, "
                                        "router_aux_loss_coef: 0.5, "
                                        "router_z_loss_coef: 0"))
                                  .model.experts;
  EXPECT_EQ(
      mixtral,
      (ExpertsSpec{.num_experts = 6, .num_experts_per_tok = 3, .width = 96, .aux_loss_coef = 0.5}));
  const ExpertsSpec qwen = Parse(Job("qwen3_moe",
                                     "num_experts: 6, norm_topk_prob: false, "
                                     "num_experts_per_tok: 1"))
                               .model.experts;
  EXPECT_EQ(qwen, (ExpertsSpec{.num_experts = 6,
                               .num_experts_per_tok = 1,
                               .width = 48,
                               .norm_topk_prob = false,
                               .aux_loss_coef = 0.001}));
  const ModelSpec deepseek =
      Parse(Job("deepseek_moe",
                "n_shared_experts: 2, first_k_dense_replace: 1, intermediate_size: 100, "
                "routed_scaling_factor: 2.5, router_aux_loss_coef: 1e-4, "
                "router_bias_update_rate: 0.01, norm_topk_prob: true"))
          .model;
  EXPECT_EQ(deepseek.intermediate_size, 100);
  EXPECT_EQ(deepseek.experts, (ExpertsSpec{.num_experts = 16,
                                           .num_experts_per_tok = 8,
                                           .width = 48,
                                           .shared_width = 96,
                                           .first_k_dense = 1,
                                           .routed_scaling_factor = 2.5,
                                           .aux_loss_coef = 1e-4,
                                           .bias_update_rate = 0.01}));
  const ModelSpec grug =
      Parse(Job("grug_moe",
                "shared_expert_intermediate_size: 0, sliding_window: 16, qk_mult: 2, "
                "gated_norm_rank: 8, router_z_loss_coef: 0.25, initializer_range: 0.5"))
          .model;
  EXPECT_EQ(grug.experts.shared_width, 0);
  EXPECT_EQ(grug.sliding_window, 16);
  EXPECT_DOUBLE_EQ(grug.qk_mult, 2);
  EXPECT_EQ(grug.gated_norm_rank, 8);
  EXPECT_DOUBLE_EQ(grug.experts.z_loss_coef, 0.25);
  EXPECT_DOUBLE_EQ(grug.initializer_range, 0.5);
}

TEST(Experts, NoSharedExpertsComeBackAsNone) {
  EXPECT_EQ(Parse(Job("deepseek_moe", "n_shared_experts: 0")).model.experts.shared_width, 0);
}

TEST(Experts, SectionMoeIsRead) {
  EXPECT_EQ(Parse(Job("mixtral")).moe, MoeSpec());
  EXPECT_EQ(Parse(Job("mixtral", "",
                      "moe: {dispatch: all_to_all, capacity_factor: 1.25, "
                      "balance_group_sequences: 2}\n"))
                .moe,
            (MoeSpec{ExpertDispatch::kAllToAll, 1.25, 2}));
  EXPECT_EQ(Parse(Job("grug_moe", "", "moe: {dispatch: ring, capacity_factor: none}\n")).moe,
            MoeSpec());
}

TEST(Experts, NamesOfOtherTypesAreRefusedWithTheRightOne) {
  const struct {
    const char* type;
    const char* key;
    const char* error;
  } cases[] = {
      {"mixtral", "num_experts: 4",
       "job.yaml:2: model.num_experts: not a key of mixtral; it has num_local_experts"},
      {"qwen3_moe", "num_local_experts: 4",
       "model.num_local_experts: not a key of qwen3_moe; it has num_experts"},
      {"deepseek_moe", "num_experts: 4",
       "model.num_experts: not a key of deepseek_moe; it has n_routed_experts"},
      {"qwen3_moe", "intermediate_size: 4",
       "model.intermediate_size: not a key of qwen3_moe; it has moe_intermediate_size"},
      {"mixtral", "moe_intermediate_size: 4",
       "model.moe_intermediate_size: not a key of mixtral; it has intermediate_size"},
      {"grug_moe", "n_shared_experts: 1",
       "not a key of grug_moe; it has shared_expert_intermediate_size"},
      {"grug_moe", "norm_topk_prob: true",
       "not a key of grug_moe; types with it: qwen3_moe, deepseek_moe"},
      {"deepseek_moe", "sliding_window: 4",
       "not a key of deepseek_moe; only the type with it is grug_moe"},
      {"llama", "num_experts_per_tok: 4",
       "not a key of llama; types with it: mixtral, qwen3_moe, deepseek_moe, grug_moe"},
      {"gpt2", "num_experts: 4", "not a key of gpt2; types with it: qwen3_moe, grug_moe"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT(ErrorOf(Job(bad.type, bad.key)), HasSubstr(bad.error)) << bad.type;
  }
}

TEST(Experts, DenseTypesHaveNoSectionMoe) {
  EXPECT_THAT(ErrorOf(Job("llama", "", "moe: {dispatch: ring}\n")),
              HasSubstr("job.yaml:5: moe.dispatch: not a key of llama; types with it: mixtral"));
  EXPECT_THAT(JobToJson(Parse(Job("llama"))), testing::Not(HasSubstr("\"moe\"")));
}

TEST(Experts, WhatCannotWorkIsRefused) {
  const struct {
    std::string job;
    const char* error;
  } cases[] = {
      {Job("mixtral", "num_local_experts: 2, num_experts_per_tok: 3"),
       "model.num_experts_per_tok: 3 is more than model.num_local_experts 2; set it to at most"},
      {Job("qwen3_moe", "num_experts: 4"), "8 is more than model.num_experts 4"},
      {Job("deepseek_moe", "num_experts_per_tok: 17"), "17 is more than model.n_routed_experts 16"},
      {Job("deepseek_moe", "first_k_dense_replace: 4, intermediate_size: 8"),
       "model.first_k_dense_replace: 4 leaves no block with experts"},
      {Job("deepseek_moe", "first_k_dense_replace: 1"),
       "model.intermediate_size: required for deepseek_moe with first_k_dense_replace 1"},
      {Job("grug_moe", "head_dim: 6"), "model.head_dim: 6 is not a multiple of 4"},
      {Job("mixtral", "head_dim: 7"), "model.head_dim: 7 is not a multiple of 2"},
      {Job("mixtral", "", "moe: {balance_group_sequences: 3}\n"),
       "moe.balance_group_sequences: 3 does not divide train.global_batch_size 8"},
      {Job("mixtral", "", "moe: {capacity_factor: 0}\n"),
       "moe.capacity_factor: expected none or a number > 0 and <= 1000000, got 0"},
      {Job("mixtral", "", "moe: {capacity_factor: nothing}\n"), "got \"nothing\""},
      {Job("mixtral", "", "moe: {dispatch: rings}\n"), "did you mean ring?"},
      {Job("qwen3_moe", "hidden_size_: 1"), "did you mean model.hidden_size?"},
      {Job("grug_moe", "moe: {num_experts: 4}"), "model.moe: unknown key"},
  };
  for (const auto& bad : cases) EXPECT_THAT(ErrorOf(bad.job), HasSubstr(bad.error)) << bad.job;
}

TEST(Experts, RequiredKeysAreThoseOfTheType) {
  const std::string job = Job("deepseek_moe");
  const std::string without = job.substr(0, job.find(", n_routed")) + job.substr(job.find("}\n"));
  EXPECT_THAT(ErrorOf(without), HasSubstr("model.n_routed_experts: required but missing"));
  const std::string qwen = Job("qwen3_moe");
  EXPECT_THAT(ErrorOf(qwen.substr(0, qwen.find(", moe_inter")) + qwen.substr(qwen.find("}\n"))),
              HasSubstr("model.moe_intermediate_size: required but missing"));
}

// Whatever type a job has, a key of its table row says so: no type is left out of the table.
TEST(Experts, EveryTypeParses) {
  for (const auto& [type, needed] : Needed()) {
    EXPECT_EQ(Parse(Job(type)).model.type, type);
  }
  for (const std::string& type : ExpertTypes()) EXPECT_EQ(Needed().count(type), 1u) << type;
}

}  // namespace
}  // namespace trireme
