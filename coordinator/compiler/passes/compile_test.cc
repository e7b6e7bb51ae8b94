// The pass list on whole models.
#include "coordinator/compiler/passes/compile.h"

#include "coordinator/compiler/autodiff/autodiff.h"
#include "coordinator/compiler/models/tiny_models.h"
#include "coordinator/compiler/partition/test_mesh.h"
#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

Model Build(ModelSpec spec, int64_t layers, int64_t token_shards = 1) {
  spec.num_hidden_layers = layers;
  StatusOr<Model> model = BuildModel(spec, {}, {4, 6, token_shards, token_shards}, Purpose::kTrain);
  EXPECT_TRUE(model.ok()) << model.status();
  for (Graph& segment : model->segments) EXPECT_TRUE(AddBackward(segment, 1.0).ok());
  return *std::move(model);
}

// ---- segments

// Each distinct segment is compiled once, however many layers use it.
TEST(CompileSegments, OncePerSegment) {
  TestMesh t({{"data", 2}, {"model", 2}});
  const Model model = Build(TinyLlama(), 7);
  const StatusOr<CompiledModel> compiled = CompileSegments(model, t.axes, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_EQ(compiled->segments.size(), 3u);
  std::string names;
  for (const CompiledSegment& segment : compiled->segments) {
    names += segment.forward.name + " " + segment.backward.name + " ";
    EXPECT_TRUE(segment.gather.instructions.empty());
  }
  EXPECT_EQ(names, "embed.F embed.B block.F block.B head.F head.B ");
  EXPECT_GT(compiled->scratch_bytes, 0);
  for (const CompiledSegment& segment : compiled->segments) {
    for (const SegmentCode* code : {&segment.forward, &segment.backward}) {
      for (const Instruction& instruction : code->instructions) {
        if (IsCollective(instruction.op)) {
          EXPECT_LT(instruction.group, static_cast<int>(compiled->groups.size()));
        }
      }
    }
  }
}

// Remat keeps nothing of a block but its edge; embedding and head are not blocks.
TEST(CompileSegments, RematSavesNothingOfBlocks) {
  TestMesh t({{"data", 2}});
  const Model model = Build(TinyLlama(), 2);
  CompileOptions options;
  const StatusOr<CompiledModel> kept = CompileSegments(model, t.axes, options);
  options.remat = RematPolicy::kBlock;
  const StatusOr<CompiledModel> remat = CompileSegments(model, t.axes, options);
  ASSERT_TRUE(kept.ok() && remat.ok());
  EXPECT_GT(kept->segments[1].layout.saved_bytes, 0);
  EXPECT_EQ(remat->segments[1].layout.saved_bytes, 0);
  EXPECT_EQ(remat->segments[2].layout.saved_bytes, kept->segments[2].layout.saved_bytes);
  EXPECT_GT(remat->segments[1].backward.instructions.size(),
            kept->segments[1].backward.instructions.size());
}

TEST(CompileSegments, WeightGradientsAreFused) {
  TestMesh t({{"data", 1}});
  const Model model = Build(TinyLlama(), 1);
  const StatusOr<CompiledModel> compiled = CompileSegments(model, t.axes, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  int fused = 0;
  for (const Instruction& instruction : compiled->segments[1].backward.instructions) {
    EXPECT_NE(instruction.op, "accumulate")
        << "on one rank every gradient can be added where it is made";
    fused += instruction.accumulate;
  }
  EXPECT_EQ(fused, 9) << "one for each tensor of the block";
}

// The gradients of a table that embedding and head share meet in one accumulator, whatever the
// policy.
TEST(CompileSegments, TiedTensorsShareAnAccumulatorSharding) {
  TestMesh t({{"data", 2}});
  CompileOptions options;
  options.partition.reduce_ici = ReducePolicy::kStep;
  options.partition.num_microbatches = 4;
  const Model model = Build(TinyGpt2(), 2);
  const StatusOr<CompiledModel> compiled = CompileSegments(model, t.axes, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(compiled->segments[0].tensors[0].accumulator,
            compiled->segments[2].tensors.back().accumulator);
  EXPECT_TRUE(compiled->segments[0].tensors[0].accumulator.partial.empty());
  EXPECT_FALSE(compiled->segments[1].tensors[2].accumulator.partial.empty())
      << "others wait for the end of the step";
}

// Blocks of two kinds name their tensors alike, but no layer has both: they wait for the end of the
// step as those of one kind do.
TEST(CompileSegments, BlocksOfSeveralKindsShareNothing) {
  TestMesh t({{"data", 2}});
  CompileOptions options;
  options.partition.reduce_ici = ReducePolicy::kStep;
  options.partition.num_microbatches = 4;
  const Model model = Build(TinyGrugMoe(), 4, 2);
  ASSERT_EQ(model.segments.size(), 4u);
  const StatusOr<CompiledModel> compiled = CompileSegments(model, t.axes, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (const int block : {1, 2}) {
    const CompiledSegment& segment = compiled->segments[block];
    for (size_t i = 0; i < segment.tensors.size(); ++i) {
      const LogicalTensor& tensor = segment.graph.tensors[i];
      EXPECT_EQ(segment.tensors[i].accumulator.partial.empty(), !tensor.balance_rule.empty())
          << tensor.name;
    }
  }
}

TEST(CompileSegments, ErrorsComeFromPartitioning) {
  TestMesh t({{"model", 8}});
  const Model model = Build(TinyLlama(), 2);
  ExpectError(CompileSegments(model, t.axes, {}).status(), absl::StatusCode::kInvalidArgument,
              "heads 4 does not divide");
}

}  // namespace
}  // namespace trireme
