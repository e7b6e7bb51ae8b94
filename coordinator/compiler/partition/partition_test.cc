// A tiny Llama block on small meshes: the collectives that Megatron, sequence parallelism and FSDP
// should cost, as golden text and as counts; and how gradients are kept between microbatches.
#include "coordinator/compiler/partition/partition.h"

#include "coordinator/compiler/autodiff/autodiff.h"
#include "coordinator/compiler/models/tiny_models.h"
#include "coordinator/compiler/partition/test_mesh.h"
#include "tests/support/golden.h"

namespace trireme {
namespace {

constexpr Phase kF = Phase::kForward;
constexpr Phase kB = Phase::kBackward;

Graph Segment(const ModelSpec& spec, int index) {
  StatusOr<Model> model = BuildModel(spec, {}, {4, 6}, Purpose::kTrain);
  EXPECT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(AddBackward(model->segments[index], 1.0).ok());
  return model->segments[index];
}

PartitionedSegment Parts(TestMesh& t, const Graph& graph, const PartitionOptions& options = {}) {
  StatusOr<PartitionedSegment> parts = Partition(graph, t.axes, options);
  EXPECT_TRUE(parts.ok()) << parts.status();
  return *std::move(parts);
}

// Collectives of a phase in order, for example "all_gather reduce_scatter".
std::string Collectives(const Graph& graph, Phase phase) {
  std::string text;
  for (const Node& node : graph.nodes) {
    if (node.phase != phase || !IsCollective(node.op)) continue;
    text += (text.empty() ? "" : " ") + node.op;
  }
  return text;
}

// Collectives of a phase on activations: what is not a gradient of a tensor.
std::string ActivationCollectives(const Graph& graph, Phase phase) {
  std::string text;
  for (const Node& node : graph.nodes) {
    if (node.phase != phase || !IsCollective(node.op) || node.reason.rfind("gradient of", 0) == 0)
      continue;
    text += (text.empty() ? "" : " ") + node.op;
  }
  return text;
}

TEST(Partition, OneRankNeedsNoCollective) {
  TestMesh t({{"data", 1}, {"model", 1}});
  for (int segment = 0; segment < 3; ++segment) {
    const Graph graph = Parts(t, Segment(TinyLlama(), segment)).graph;
    EXPECT_EQ(Collectives(graph, kF) + Collectives(graph, kB), "");
  }
}

// Megatron: one all-reduce after attention and one after the MLP; in the backward one for all of dx
// of q, k and v and one for gate and up. Shoeybi et al. 2019, arXiv:1909.08053.
TEST(Partition, TensorParallelBlock) {
  TestMesh t({{"model", 2}});
  const Graph graph = Parts(t, Segment(TinyLlama(), 1)).graph;
  EXPECT_EQ(Collectives(graph, kF), "all_reduce all_reduce");
  EXPECT_EQ(Collectives(graph, kB), "all_reduce all_reduce");
  ExpectGolden("llama_block_tp2", graph.ToText(&t.mesh));
}

// Sequence parallelism: an all-gather before and a reduce-scatter after each of attention and MLP.
// Korthikanti et al. 2022, arXiv:2205.05198. The backward also gathers the normed input again for
// the weight gradients rather than save it whole.
TEST(Partition, SequenceParallelBlock) {
  TestMesh t({{"model", 2}}, SequenceParallel());
  const Graph graph = Parts(t, Segment(TinyLlama(), 1)).graph;
  EXPECT_EQ(Collectives(graph, kF), "all_gather reduce_scatter all_gather reduce_scatter");
  int scatters = 0;
  for (const Node& node : graph.nodes) scatters += node.phase == kB && node.op == "reduce_scatter";
  EXPECT_EQ(scatters, 2) << "dx of q, k and v costs one reduction, and so does that of gate and up";
  ExpectGolden("llama_block_sp2", graph.ToText(&t.mesh));
}

TEST(Partition, FsdpBlock) {
  TestMesh t({{"data", 2}});
  const PartitionedSegment parts = Parts(t, Segment(TinyLlama(), 1));
  const int tensors = static_cast<int>(parts.tensors.size());
  EXPECT_EQ(CountNodes(parts.graph, "all_gather", kF), tensors);
  EXPECT_EQ(CountNodes(parts.graph, "reduce_scatter", kB), tensors);
  EXPECT_EQ(ActivationCollectives(parts.graph, kF).find("all_reduce"), std::string::npos);
  ExpectGolden("llama_block_fsdp2", parts.graph.ToText(&t.mesh));
}

// Gathered once a step, in phase G, the forward and the backward gather nothing.
TEST(Partition, GatherOnceAStep) {
  TestMesh t({{"data", 2}});
  PartitionOptions options;
  options.gather = GatherPolicy::kStep;
  const PartitionedSegment parts = Parts(t, Segment(TinyLlama(), 1), options);
  EXPECT_EQ(CountNodes(parts.graph, "all_gather", Phase::kGather),
            static_cast<int>(parts.tensors.size()));
  EXPECT_EQ(CountNodes(parts.graph, "all_gather", kF) + CountNodes(parts.graph, "all_gather", kB),
            0);
}

// The head over a split vocabulary exchanges three numbers a token, never logits.
TEST(Partition, SplitVocabularyReducesTokensOnly) {
  TestMesh t({{"model", 4}});
  const Graph graph = Parts(t, Segment(TinyLlama(), 2)).graph;
  int reduces = 0;
  for (const Node& node : graph.nodes) {
    if (node.phase != kF || !IsCollective(node.op)) continue;
    ++reduces;
    EXPECT_EQ(node.op, "all_reduce");
    EXPECT_EQ(FindDim(graph.value(node.inputs[0]).dims, "vocab"), -1);
    EXPECT_EQ(FindDim(graph.value(node.inputs[0]).dims, "embed"), -1);
  }
  EXPECT_EQ(reduces, 3);
  EXPECT_EQ(t.axes.reasons().size(), 1u) << "vocab 10 is padded to 12";
}

TEST(Partition, EveryNodeThatMovesSaysWhy) {
  TestMesh t({{"replica", 2}, {"data", 2}, {"model", 2}}, SequenceParallel());
  for (const int segment : {0, 1, 2}) {
    StatusOr<Model> model = BuildModel(TinyLlama(), {}, {8, 6}, Purpose::kTrain);
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(AddBackward(model->segments[segment], 1.0).ok());
    for (const Node& node : Parts(t, model->segments[segment]).graph.nodes) {
      if (IsCollective(node.op) || node.op == "slice") {
        EXPECT_FALSE(node.reason.empty()) << node.op;
      }
    }
  }
}

TEST(Partition, ErrorsNameTheTensor) {
  TestMesh t({{"model", 8}});
  const Status status = Partition(Segment(TinyLlama(), 1), t.axes, {}).status();
  ExpectError(status, absl::StatusCode::kInvalidArgument,
              "model.layers.{layer}.self_attn.q_proj.weight: heads 4 does not divide over model (8 "
              "shards;");
}

TEST(Partition, ErrorsNameTheSegmentAndOp) {
  TestMesh t({{"model", 2}}, [] {
    MappingConfig config;
    config.compute["mlp/position"] = {"model"};
    return config;
  }());
  ExpectError(Partition(Segment(TinyLlama(), 1), t.axes, {}).status(),
              absl::StatusCode::kInvalidArgument,
              "segment block, dot: dot: dims position and mlp both want axis model");
}

// ---- gradients between microbatches

TEST(Partition, SharedTensorsAreReducedEveryMicrobatch) {
  TestMesh t({{"data", 2}});
  PartitionOptions options;
  options.reduce_ici = ReducePolicy::kStep;
  options.num_microbatches = 4;
  const PartitionedSegment deferred = Parts(t, Segment(TinyLlama(), 0), options);
  EXPECT_EQ(ToText(t.mesh, deferred.graph.tensors[0].dims, deferred.tensors[0].accumulator),
            "[vocab, embed] +SUM(data)");
  options.shared_tensors = {"model.embed_tokens.weight"};
  const PartitionedSegment shared = Parts(t, Segment(TinyLlama(), 0), options);
  EXPECT_EQ(shared.tensors[0].accumulator, shared.tensors[0].optimizer);
}

}  // namespace
}  // namespace trireme
