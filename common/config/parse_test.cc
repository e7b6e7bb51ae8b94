// Job files: the example parses into what it says, JSON round-trips, bad files are refused with
// place, path and way out, and no bytes whatever make the parser crash.
#include "common/config/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/math.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kExample = R"(name: tiny
model: {type: llama, hidden_size: 128, intermediate_size: 344, num_hidden_layers: 4, num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 256, max_position_embeddings: 256}
data: {train: [{path: corpus.txt}], tokenizer: bytes, sequence_length: 128}
train: {steps: 20, global_batch_size: 16, microbatch_size: 4, seed: 0}   # microbatch: sequences per data-parallel replica, clamped to batch/replicas
optimizer: {type: adamw, learning_rate: 1e-3, betas: [0.9, 0.95], weight_decay: 0.1, max_grad_norm: 1.0}
schedule: {type: cosine, warmup: 2 steps, min_ratio: 0.1}
precision: {params: float32, compute: float32}
mesh: {axes: {data: 2, model: 2}}
pipeline: {order: 1f1b}            # when a stage axis exists
checkpoint: {path: ckpt, every: 10 steps}
)";

std::string ErrorOf(std::string_view text, const std::vector<std::string>& overrides = {}) {
  const StatusOr<JobSpec> spec = ParseJob(text, "job.yaml", overrides);
  if (spec.ok()) return "no error";
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(ToStd(spec.status().message()));
}

TEST(ParseJob, ReadsTheExample) {
  const StatusOr<JobSpec> spec = ParseJob(kExample, "job.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, "tiny");
  EXPECT_EQ(spec->model.type, "llama");
  EXPECT_EQ(spec->model.intermediate_size, 344);
  EXPECT_EQ(spec->model.head_dim, 32);
  EXPECT_EQ(spec->model.num_key_value_heads, 2);
  EXPECT_FALSE(spec->model.tie_word_embeddings);
  EXPECT_EQ(spec->data.train, (std::vector<DataSource>{{"corpus.txt"}}));
  EXPECT_EQ(spec->train.microbatch_size, 4);
  EXPECT_DOUBLE_EQ(spec->optimizer.learning_rate, 1e-3);
  EXPECT_DOUBLE_EQ(spec->optimizer.epsilon, 1e-8);
  EXPECT_EQ(spec->schedule.warmup, (StepCount{false, 2}));
  EXPECT_LT(spec->schedule.decay.value, 0);
  EXPECT_EQ(spec->mesh.axes, (AxisSizes{{"data", 2}, {"model", 2}}));
  EXPECT_EQ(spec->checkpoint.every, 10);
}

constexpr std::string_view kFull = R"(
name: full-1
model:
  type: gpt2
  hidden_size: 96
  num_hidden_layers: 5
  num_attention_heads: 6
  vocab_size: 300
  max_position_embeddings: 64
data: {train: [{path: a b.txt}, {path: "c\"d.txt"}], sequence_length: 64}
train: {steps: 1000, global_batch_size: 8, remat: block, seed: 7}
schedule: {type: linear, warmup: 10%, decay: 0.2, rewarmup: 1 step, cycles: 2}
mesh:
  axes: {stage: 2, data: -1}
  dcn_axes: {replica_dcn: -1}
  shared_mapping: {mlp: [model, context], residual/position: model}
  param_mapping: {embed: null}
  optimizer_mapping: {embed: data}
  gather: step
  reduce: {ici: step, dcn: microbatch}
  dcn_reduce: flat
tensor_parallel: {mode: reduce_scatter, async: true, recompute_allgather: false, chunks: 4}
context_parallel: {mode: all_gather, zigzag: false}
zero: {stage: 1}
pipeline: {order: interleaved_1f1b, chunks_per_stage: 2, layers_per_stage: [3, 2]}
compression: {dcn: int8}
network: {ici: {mbit_per_s: 2.5e3}, dcn: {mbit_per_s: 100, latency_ms: 0.5}}
trace: {path: traces, first_step: 4, steps: 2}
)";

constexpr std::string_view kExperts = R"(name: experts
model: {type: deepseek_moe, hidden_size: 64, num_hidden_layers: 3, num_attention_heads: 4, vocab_size: 256, max_position_embeddings: 64, n_routed_experts: 16, num_experts_per_tok: 4, moe_intermediate_size: 24, n_shared_experts: 2, first_k_dense_replace: 1, intermediate_size: 96, routed_scaling_factor: 2.5, router_aux_loss_coef: 1e-4}
moe: {dispatch: all_to_all, capacity_factor: 1.25, balance_group_sequences: 2}
data: {train: [{path: x}], sequence_length: 64}
train: {steps: 2, global_batch_size: 8}
)";

TEST(ParseJob, ReadsEveryKindOfValue) {
  const StatusOr<JobSpec> spec = ParseJob(kFull, "job.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->model.intermediate_size, 384);
  EXPECT_EQ(spec->model.num_key_value_heads, 6);
  EXPECT_TRUE(spec->model.tie_word_embeddings);
  EXPECT_EQ(spec->model.experts, ExpertsSpec()) << "dense";
  EXPECT_EQ(spec->data.train[1].path, "c\"d.txt");
  EXPECT_EQ(spec->train.remat, RematPolicy::kBlock);
  EXPECT_EQ(spec->schedule.warmup, (StepCount{true, 0.1}));
  EXPECT_EQ(spec->schedule.decay, (StepCount{true, 0.2}));
  EXPECT_EQ(spec->schedule.rewarmup, (StepCount{false, 1}));
  EXPECT_EQ(spec->mesh.axes, (AxisSizes{{"stage", 2}, {"data", -1}}));
  EXPECT_EQ(spec->mesh.mapping.shared.at("mlp"), (std::vector<std::string>{"model", "context"}));
  EXPECT_EQ(spec->mesh.mapping.param.at("embed"), std::vector<std::string>());
  EXPECT_EQ(spec->mesh.gather, GatherPolicy::kStep);
  EXPECT_EQ(spec->mesh.reduce_ici, ReducePolicy::kStep);
  EXPECT_EQ(spec->mesh.reduce_dcn, ReducePolicy::kMicrobatch);
  EXPECT_EQ(spec->pipeline.layers_per_stage, (std::vector<int64_t>{3, 2}));
}

TEST(ParseJob, ReadsEveryParallelDimension) {
  const StatusOr<JobSpec> spec = ParseJob(kFull, "job.yaml");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->mesh.dcn_reduce, DcnReduce::kFlat);
  EXPECT_EQ(spec->tensor_parallel,
            (TensorParallelSpec{TensorParallelMode::kReduceScatter, true, false, 4}));
  EXPECT_EQ(spec->context_parallel, (ContextParallelSpec{ContextParallelMode::kAllGather, false}));
  EXPECT_EQ(spec->pipeline, (PipelineSpec{"interleaved_1f1b", 2, {3, 2}}));
  EXPECT_EQ(spec->compression.dcn, Compression::kInt8);
  EXPECT_EQ(spec->network, (NetworkSpec{{2500, 0}, {100, 0.5}}));
  EXPECT_EQ(spec->trace, (TraceSpec{"traces", 4, 2}));
  for (const std::string_view order : kPipelineOrders) {
    const std::string override_text = "pipeline.order=" + std::string(order);
    const StatusOr<JobSpec> other = ParseJob(kExample, "job.yaml", {override_text});
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(other->pipeline.order, order);
  }
}

TEST(ParseJob, JsonRoundTripsExactly) {
  for (const std::string_view text : {kExample, kFull, kExperts}) {
    const StatusOr<JobSpec> spec = ParseJob(text, "job.yaml");
    ASSERT_TRUE(spec.ok()) << spec.status();
    const std::string json = JobToJson(*spec);
    const StatusOr<JobSpec> again = ParseJob(json, "job.json");
    ASSERT_TRUE(again.ok()) << again.status() << json;
    EXPECT_TRUE(*again == *spec) << json;
    EXPECT_EQ(JobToJson(*again), json);
  }
}

TEST(ParseJob, OverridesWinOverTheFile) {
  const StatusOr<JobSpec> spec =
      ParseJob(kExample, "job.yaml",
               {"train.steps=7", "mesh.axes={model: 4}", "data.train.0.path=b.txt",
                "mesh.param_mapping.embed=null", "pipeline.layers_per_stage=[2, 2]",
                "mesh.reduce=step", "train.steps=9"});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->train.steps, 9);
  EXPECT_EQ(spec->mesh.axes, (AxisSizes{{"model", 4}}));
  EXPECT_EQ(spec->data.train[0].path, "b.txt");
  EXPECT_EQ(spec->mesh.mapping.param.count("embed"), 1u);
  EXPECT_EQ(spec->pipeline.layers_per_stage, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(spec->mesh.reduce_ici, ReducePolicy::kStep);
  EXPECT_EQ(spec->mesh.reduce_dcn, ReducePolicy::kStep);
}

// One line of the example is replaced by `line`; the error must start with `start` and say `hint`.
struct BadLine {
  int number;  // 1-based, as errors count
  std::string line;
  std::string start;
  std::string hint;
};

std::string WithLine(int number, const std::string& line) {
  std::string text;
  std::string_view rest = kExample;
  for (int i = 1; !rest.empty(); ++i) {
    const size_t end = rest.find('\n') + 1;
    if (i == number) {
      text += line + "\n";
    } else {
      text += rest.substr(0, end);
    }
    rest.remove_prefix(end);
  }
  return text;
}

const std::string kModelHead = "model: {type: llama, num_hidden_layers: 4, vocab_size: 256, ";

TEST(ParseJob, NamesPlacePathAndWayOut) {
  const std::string train = "train: {steps: 20, global_batch_size: 16, ";
  const BadLine cases[] = {
      {1, "nam: tiny", "job.yaml:1: nam: unknown key", "did you mean name?"},
      {1, "name: Tiny_1", "job.yaml:1: name: expected 1 to 63 of a-z", "got \"Tiny_1\""},
      {1, "name: [a]", "job.yaml:1: name: expected text, got a list", ""},
      {1, "", "job.yaml:2: name: required but missing", "expected text"},
      {1, "name: a\nname: b", "job.yaml:2: name: given twice, first at job.yaml:1", "keep one"},
      {1, "name: a\nsteps: 3", "job.yaml:2: steps: unknown key", "did you mean train.steps?"},
      {1, "name: a\nzzzzzzzz: 3", "job.yaml:2: zzzzzzzz: unknown key", "known here: name, model"},
      {1, "name: &x tiny", "job.yaml:1: anchors", "write the value out"},
      {1, "name: *x", "job.yaml:1: ", ""},
      {1, "name: !!str tiny", "job.yaml:1: tags", "without one"},
      {1, "name: tiny\n---", "job.yaml:2: a second document", "one document"},
      {1, "name: a\xff", "job.yaml:1: not valid UTF-8", "save the file"},
      {8, "mesh: {axes: {Data: 2}}", "job.yaml:8: mesh.axes: expected an axis name", "\"Data\""},
      {8, "mesh: {shared_mapping: {a/b/c: data}}",
       "job.yaml:8: mesh.shared_mapping: expected a dim", "\"a/b/c\""},
      {1, "name: {a: [}", "job.yaml:1: not valid YAML or JSON", ""},
      {4, train + "stesp: 3}", "job.yaml:4: train.stesp: unknown key", "did you mean train.steps?"},
      {4, train + "seed: -1}", "job.yaml:4: train.seed: expected a whole number >= 0, got -1", ""},
      {4, train + "remat: blocks}", "job.yaml:4: train.remat: expected one of none, block",
       "did you mean block?"},
      {4, train + "steps: 30}", "job.yaml:4: train.steps: given twice, first at job.yaml:4", ""},
      {4, "train: {steps: ten, global_batch_size: 16}",
       "job.yaml:4: train.steps: expected a whole number from 1 to", "got \"ten\""},
      {4, "train: {steps: \"10\", global_batch_size: 16}",
       "job.yaml:4: train.steps: expected a whole number", "got \"10\" in quotes"},
      {4, "train: {steps: 0, global_batch_size: 16}", "job.yaml:4: train.steps:", "got 0"},
      {4, "train: {steps: 1.5, global_batch_size: 16}", "job.yaml:4: train.steps:", "got 1.5"},
      {4, "train: {steps: 99999999999999999999, global_batch_size: 16}",
       "job.yaml:4: train.steps:", "got 99999999999999999999"},
      {4, "train: {steps: 5}", "job.yaml:4: train.global_batch_size: required but missing",
       "expected a whole number from 1"},
      {4, "train: 5", "job.yaml:4: train: expected a map, got 5", ""},
      {4, "train.steps: 5", "job.yaml:4: train.steps: unknown key", "train"},
      {3, "data: {train: corpus.txt, sequence_length: 8}",
       "job.yaml:3: data.train: expected a list", "[{path: corpus.txt}]"},
      {3, "data: {train: [{file: x}], sequence_length: 8}",
       "job.yaml:3: data.train.0.file: unknown key", "known here: path"},
      {3, "data: {train: [{path: x}], sequence_length: 512}",
       "job.yaml:3: data.sequence_length: 512 is more than model.max_position_embeddings 256",
       "raise that to 512"},
      {3, "data: {train: [{path: x}], tokenizer: byte, sequence_length: 8}",
       "job.yaml:3: data.tokenizer: expected bytes, got \"byte\"", "did you mean bytes?"},
      {5, "optimizer: {betas: [0.9, 1.0]}", "job.yaml:5: optimizer.betas.1: expected a number >= 0",
       "got 1.0"},
      {5, "optimizer: {betas: 0.9}", "job.yaml:5: optimizer.betas: expected a list of two", "[0.9"},
      {5, "optimizer: {learning_rate: fast}", "job.yaml:5: optimizer.learning_rate: expected a",
       "got \"fast\""},
      {5, "optimizer: {learning_rate: .inf}", "job.yaml:5: optimizer.learning_rate:", ".inf"},
      {5, "optimizer: {type: adamv}", "job.yaml:5: optimizer.type: expected adamw", "mean adamw?"},
      {6, "schedule: {warmup: 2.5}", "job.yaml:6: schedule.warmup: expected steps", "got 2.5"},
      {6, "schedule: {warmup: -1}", "job.yaml:6: schedule.warmup: expected steps", "got -1"},
      {6, "schedule: {warmup: 120%}", "job.yaml:6: schedule.warmup: expected steps", "120%"},
      {6, "schedule: {warmup: 200 steps}", "job.yaml:6: schedule: schedule.warmup 200 steps do not",
       "the 20 steps"},
      {7, "precision: {compute: bfloat16}",
       "job.yaml:7: precision.compute: expected float32, the only", "got \"bfloat16\""},
      {8, "mesh: {axes: {data: 0}}", "job.yaml:8: mesh.axes.data: expected a size >= 1, or -1",
       "0"},
      {8, "mesh: {axes: [data]}", "job.yaml:8: mesh.axes: expected a map", "got a list"},
      {8, "mesh: {axes: {data: 2}, dcn_axes: {data: 2}}",
       "job.yaml:8: mesh.dcn_axes.data: axis data", "data_dcn"},
      {8, "mesh: {param_mapping: {embed: [data, data]}}",
       "job.yaml:8: mesh.param_mapping.embed: axis", "keep one"},
      {8, "mesh: {param_mapping: {embed: {a: b}}}",
       "job.yaml:8: mesh.param_mapping.embed: expected", "an axis, a list of axes, or null"},
      {8, "mesh: {reduce: {icy: step}}", "job.yaml:8: mesh.reduce.icy: unknown key", "ici, dcn"},
      {8, "mesh: {gather: steps}", "job.yaml:8: mesh.gather: expected one of use, step",
       "did you mean step?"},
      {9, "pipeline: {layers_per_stage: [2, 1]}",
       "job.yaml:9: pipeline.layers_per_stage: adds up to 3", "num_hidden_layers is 4"},
      {9, "pipeline: {order: zero_bubble_h}",
       "job.yaml:9: pipeline.order: expected one of gpipe, 1f1b, ", "did you mean zero_bubble_h1?"},
      {9, "pipeline: {chunks_per_stage: 65}", "job.yaml:9: pipeline.chunks_per_stage: expected a",
       "from 0 to 64, got 65"},
      {8, "mesh: {dcn_reduce: flatt}", "job.yaml:8: mesh.dcn_reduce: expected one of hierarchical",
       "did you mean flat?"},
      {8, "mesh: {prefetch: 1}", "job.yaml:8: mesh.prefetch: expected true or false", "got 1"},
      {8, "mesh: {prefetch: true, gather: step}", "job.yaml:8: mesh.prefetch: true moves gathers",
       "use gather: use"},
      {8, "tensor_parallel: {mode: all_gather}",
       "job.yaml:8: tensor_parallel.mode: expected one of all_reduce, reduce_scatter", ""},
      {8, "tensor_parallel: {chunks: 0}", "job.yaml:8: tensor_parallel.chunks: expected a whole",
       "from 1 to 64, got 0"},
      {8, "tensor_parallel: {asinc: true}", "job.yaml:8: tensor_parallel.asinc: unknown key",
       "did you mean tensor_parallel.async?"},
      {8, "tensor_paralel: {async: true}", "job.yaml:8: tensor_paralel: unknown key",
       "did you mean tensor_parallel?"},
      {8, "context_parallel: {mode: rings}", "job.yaml:8: context_parallel.mode: expected one of",
       "did you mean ring?"},
      {8, "zero: {stage: 2}", "job.yaml:8: zero.stage: there is no stage 2",
       "already at stage 1; use 1"},
      {8, "zero: {stage: 4}", "job.yaml:8: zero.stage: expected one of 0, 1, 3, got 4", ""},
      {8, "zero: {stage: one}", "job.yaml:8: zero.stage: expected one of 0, 1, 3", "\"one\""},
      {8, "zero: {prefetch: yes}", "job.yaml:8: zero.prefetch: expected true or false", ""},
      {8, "zero: {stages: 3}", "job.yaml:8: zero.stages: unknown key", "did you mean zero.stage?"},
      {8, "compression: {dcn: int4}", "job.yaml:8: compression.dcn: expected one of none, bf16",
       "did you mean int8?"},
      {8, "network: {dcn: {mbit_per_s: -1}}",
       "job.yaml:8: network.dcn.mbit_per_s: expected a number >= 0", "got -1"},
      {8, "network: {dcn: {latency: 3}}", "job.yaml:8: network.dcn.latency: unknown key",
       "known here: mbit_per_s, latency_ms"},
      {8, "network: {dnc: {latency_ms: 3}}", "job.yaml:8: network.dnc: unknown key",
       "known here: ici, dcn"},
      {8, "trace: {path: t, first_step: 20}",
       "job.yaml:8: trace.first_step: 20 is past the last step", "at most 19"},
      {8, "trace: {steps: 0}", "job.yaml:8: trace.steps: expected a whole number from 1", "got 0"},
      {9, "pipeline: {order: 1f1b2}", "job.yaml:9: pipeline.order: expected one of gpipe, 1f1b",
       "did you mean 1f1b?"},
      {10, "checkpoint: {every: 10}", "job.yaml:10: checkpoint.every: 10 steps, but there is no",
       "set"},
      {10, "checkpoint: {every: ten}", "job.yaml:10: checkpoint.every: expected a whole number",
       "ten"},
  };
  for (const BadLine& bad : cases) {
    const std::string error = ErrorOf(WithLine(bad.number, bad.line));
    EXPECT_THAT(error, StartsWith(bad.start)) << bad.line;
    EXPECT_THAT(error, HasSubstr(bad.hint)) << bad.line;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(ParseJob, ChecksTheModel) {
  const std::string sizes = "hidden_size: 128, max_position_embeddings: 256, ";
  const BadLine cases[] = {
      {2, kModelHead + sizes + "num_attention_heads: 4}",
       "job.yaml:2: model.intermediate_size: required for llama", "344"},
      {2, kModelHead + sizes + "intermediate_size: 8, num_attention_heads: 3}",
       "job.yaml:2: model.num_attention_heads: 3 heads do not divide hidden_size 128",
       "try 1, 2, 4"},
      {2,
       kModelHead + sizes + "intermediate_size: 8, num_attention_heads: 4, num_key_value_heads: 3}",
       "job.yaml:2: model.num_key_value_heads: 3 does not divide num_attention_heads 4", "1, 2, 4"},
      {2, kModelHead + sizes + "intermediate_size: 8, num_attention_heads: 4, head_dim: 7}",
       "job.yaml:2: model.head_dim: 7 is not a multiple of 2", "set it to 8"},
      {2, "model: {type: lama}", "job.yaml:2: model.type: expected one of llama, gpt2",
       "did you mean llama?"},
      {2,
       "model: {type: gpt2, vocab_size: 65, num_hidden_layers: 4, num_attention_heads: 4, " +
           sizes + "}",
       "job.yaml:2: model.vocab_size: 65 is less than the 256", "256 or more"},
  };
  for (const BadLine& bad : cases) {
    const std::string error = ErrorOf(WithLine(bad.number, bad.line));
    EXPECT_THAT(error, StartsWith(bad.start)) << bad.line;
    EXPECT_THAT(error, HasSubstr(bad.hint)) << bad.line;
  }
}

TEST(ParseJob, NamesTheOverrideAtFault) {
  EXPECT_THAT(ErrorOf(kExample, {"train.steps=ten"}),
              StartsWith("--set train.steps: train.steps: expected a whole number"));
  EXPECT_THAT(ErrorOf(kExample, {"train.stesp=10"}), HasSubstr("did you mean train.steps?"));
  EXPECT_THAT(ErrorOf(kExample, {"train.steps"}), HasSubstr("no '='"));
  EXPECT_THAT(ErrorOf(kExample, {"train..steps=1"}), HasSubstr("expected path.to.key=value"));
  EXPECT_THAT(ErrorOf(kExample, {"name.x=1"}), HasSubstr("\"tiny\" of job.yaml:1"));
  EXPECT_THAT(ErrorOf(kExample, {"data.train.3.path=x"}), HasSubstr("index below 1"));
}

TEST(ParseJob, RefusesBombs) {
  EXPECT_THAT(ErrorOf(std::string((1 << 20) + 1, ' ')), HasSubstr("1048577 bytes"));
  EXPECT_THAT(ErrorOf(std::string(100000, '[')), StartsWith("job.yaml:1: "));
  const std::string lists = std::string(200, '[') + std::string(200, ']');
  EXPECT_THAT(ErrorOf(lists), HasSubstr("nested deeper than 32"));
  std::string deep = "a: 1";
  for (int i = 0; i < 40; ++i) deep = "a: {" + deep + "}";
  EXPECT_THAT(ErrorOf(deep), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(ErrorOf("a: &a [1]\nb: [*a, *a]\n"), HasSubstr("anchors"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("expected a map of sections, got nothing"));
}

// Deterministic noise: whatever the bytes, an answer comes back, and what is accepted round-trips.
TEST(ParseJob, SurvivesMutatedFiles) {
  uint64_t state = 1;
  const auto random = [&state](uint64_t n) { return (state = Mix64(state)) % n; };
  const std::string_view alphabet = "{}[]:,-&*!|>'\"%@#?\n\t 019.e~\\\xff\xc3";
  int accepted = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text(i % 3 == 0 ? kExample : i % 3 == 1 ? kFull : kExperts);
    const uint64_t edits = 1 + random(4);
    for (uint64_t e = 0; e < edits; ++e) {
      const size_t at = random(text.size());
      const uint64_t kind = random(4);
      if (kind == 0) text.erase(at, 1 + random(8));
      if (kind == 1) text.insert(at, 1, alphabet[random(alphabet.size())]);
      if (kind == 2) text[at] = static_cast<char>(random(256));
      if (kind == 3) text[at] = alphabet[random(alphabet.size())];
      if (text.empty()) text = "x";
    }
    const StatusOr<JobSpec> spec = ParseJob(text, "job.yaml");
    if (!spec.ok()) {
      EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ++accepted;
    const StatusOr<JobSpec> again = ParseJob(JobToJson(*spec), "job.json");
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    ASSERT_TRUE(*again == *spec) << text << "\n" << JobToJson(*spec) << JobToJson(*again);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 5900);
}

}  // namespace
}  // namespace trireme
