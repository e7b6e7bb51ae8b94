// What keys demand of each other, on specs built by hand; parse_test.cc checks the words with
// places.
#include "common/config/checks.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

std::string Nowhere(const std::string&) { return "f:1"; }
bool Nothing(const std::string&) { return false; }

JobSpec Good() {
  JobSpec spec;
  spec.name = "a";
  spec.model.type = "llama";
  spec.model.hidden_size = 64;
  spec.model.intermediate_size = 96;
  spec.model.num_hidden_layers = 2;
  spec.model.num_attention_heads = 4;
  spec.model.vocab_size = 256;
  spec.model.max_position_embeddings = 32;
  spec.data.train = {{"x"}};
  spec.data.sequence_length = 32;
  spec.train.steps = 100;
  spec.train.global_batch_size = 4;
  EXPECT_TRUE(FillDerivedKeys(Nowhere, Nothing, &spec).ok());
  return spec;
}

TEST(FillDerivedKeys, FollowsTheArchitecture) {
  JobSpec spec = Good();
  EXPECT_EQ(spec.model.head_dim, 16);
  EXPECT_EQ(spec.model.num_key_value_heads, 4);
  EXPECT_FALSE(spec.model.tie_word_embeddings);
  spec.model.type = "gpt2";
  spec.model.intermediate_size = 0;
  ASSERT_TRUE(FillDerivedKeys(Nowhere, Nothing, &spec).ok());
  EXPECT_EQ(spec.model.intermediate_size, 256);
  EXPECT_TRUE(spec.model.tie_word_embeddings);
  spec.model.tie_word_embeddings = false;
  const auto tie = [](const std::string& path) { return path == "model.tie_word_embeddings"; };
  ASSERT_TRUE(FillDerivedKeys(Nowhere, tie, &spec).ok());
  EXPECT_FALSE(spec.model.tie_word_embeddings);
}

TEST(CheckJob, TakesTheGoodAndRefusesEachBadOne) {
  EXPECT_TRUE(CheckJob(Good(), Nowhere).ok());
  const std::function<void(JobSpec*)> spoil[] = {
      [](JobSpec* s) { s->name = "A"; },
      [](JobSpec* s) { s->name = std::string(64, 'a'); },
      [](JobSpec* s) { s->model.num_key_value_heads = 3; },
      [](JobSpec* s) { s->model.head_dim = 15; },
      [](JobSpec* s) { s->model.type = "gpt2", s->model.num_key_value_heads = 2; },
      [](JobSpec* s) { s->model.experts = {.num_experts = 1, .num_experts_per_tok = 2}; },
      [](JobSpec* s) { s->model.vocab_size = 255; },
      [](JobSpec* s) { s->data.sequence_length = 33; },
      [](JobSpec* s) { s->schedule.cycles = 101; },
      [](JobSpec* s) {
        s->mesh.axes = s->mesh.dcn_axes = {{"a", 1}};
      },
      [](JobSpec* s) {
        s->pipeline.layers_per_stage = {1, 2};
      },
      [](JobSpec* s) { s->mesh.mapping.param["embed"] = {"dta"}; },
      [](JobSpec* s) { s->mesh.mapping.compute["resdual/position"] = {"model"}; },
      [](JobSpec* s) { s->checkpoint.every = 1; },
      [](JobSpec* s) { s->mesh.prefetch = true, s->mesh.gather = GatherPolicy::kStep; },
      [](JobSpec* s) { s->trace.path = "t", s->trace.first_step = 100; },
      [](JobSpec* s) {
        s->model.hidden_size = 131072;
        s->model.intermediate_size = 524288;
        s->model.num_hidden_layers = 2048;
        s->model.experts = {.num_experts = 1024, .num_experts_per_tok = 1, .width = 524288};
      },
  };
  int index = 0;
  for (const auto& change : spoil) {
    JobSpec spec = Good();
    change(&spec);
    EXPECT_EQ(CheckJob(spec, Nowhere).code(), absl::StatusCode::kInvalidArgument) << index;
    ++index;
  }
}

}  // namespace
}  // namespace trireme
