// Instances over pools: every tensor has one place a stage, memory does not overlap, neighbours
// agree about their edge.
#include "common/base/math.h"
#include "common/plan/validate.h"
#include "coordinator/compiler/autodiff/autodiff.h"
#include "coordinator/compiler/models/tiny_models.h"
#include "coordinator/compiler/partition/test_mesh.h"
#include "coordinator/compiler/passes/compile.h"
#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

struct Linked {
  Linked(ModelSpec spec, std::vector<MeshAxis> axes, CompileOptions wanted = {},
         const MappingConfig& config = {})
      : t(std::move(axes), config), options(std::move(wanted)) {
    spec.num_hidden_layers = 3;
    model = *BuildModel(spec, {}, {4, 6}, Purpose::kTrain);
    for (Graph& segment : model.segments) EXPECT_TRUE(AddBackward(segment, 1.0).ok());
    options.lr_table_entries = 10;
    if (const auto axis = t.mesh.FindAxis("stage"); axis.has_value()) {
      options.stage_axis = *axis;
      options.partition.stage_axes = {*axis};
    }
    StatusOr<CompiledModel> compiled = CompileSegments(model, t.axes, options);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    StatusOr<std::vector<StageProgram>> linked = LinkStages(*compiled, t.mesh, options);
    EXPECT_TRUE(linked.ok()) << linked.status();
    programs = *std::move(linked);
  }
  TestMesh t;
  CompileOptions options;
  Model model;
  std::vector<StageProgram> programs;
};

const TensorPlacement* Find(const StageProgram& program, const std::string& name) {
  const TensorPlacement* found = nullptr;
  for (const TensorPlacement& tensor : program.tensors) {
    if (tensor.name != name) continue;
    EXPECT_EQ(found, nullptr) << name << " is placed twice";
    found = &tensor;
  }
  return found;
}

const std::vector<MeshAxis> kAllAxes = {{"stage", 2}, {"data", 2}, {"model", 2}};

// What the wire would accept: no view of any rank leaves its pool.
TEST(Link, ProgramsAreValid) {
  for (const ModelSpec& spec : {TinyLlama(), TinyGpt2()}) {
    const Linked linked(spec, kAllAxes);
    ASSERT_EQ(linked.programs.size(), 2u);
    for (const StageProgram& program : linked.programs) {
      EXPECT_TRUE(ValidateProgram(program, linked.t.mesh).ok())
          << ValidateProgram(program, linked.t.mesh);
    }
  }
}

TEST(Link, StagesHoldTheirLayersOnly) {
  const Linked linked(TinyLlama(), kAllAxes);
  EXPECT_NE(Find(linked.programs[0], "model.embed_tokens.weight"), nullptr);
  EXPECT_NE(Find(linked.programs[0], "model.layers.1.mlp.up_proj.weight"), nullptr);
  EXPECT_EQ(Find(linked.programs[0], "model.layers.2.mlp.up_proj.weight"), nullptr);
  EXPECT_NE(Find(linked.programs[1], "model.layers.2.mlp.up_proj.weight"), nullptr);
  EXPECT_NE(Find(linked.programs[1], "lm_head.weight"), nullptr);
  EXPECT_EQ(linked.programs[0].tensors.size() + linked.programs[1].tensors.size(), 3u * 9 + 3);
}

// Parameters, states and gradients: no two tensors share a byte, and each pool is as large as its
// parts.
TEST(Link, PoolsAddUp) {
  const Linked linked(TinyLlama(), kAllAxes);
  for (const StageProgram& program : linked.programs) {
    int64_t params = 0;
    int64_t states = 0;
    std::map<int64_t, int64_t> param_bytes;
    for (const TensorPlacement& tensor : program.tensors) {
      const int64_t param =
          Product(LocalSizes(linked.t.mesh, tensor.dims, tensor.param_sharding)) * 4;
      EXPECT_TRUE(param_bytes.emplace(tensor.param_offset, param).second);
      params += RoundUp(param, 64);
      ASSERT_EQ(tensor.state_offsets.size(), 2u);
      EXPECT_EQ(tensor.state_names, (std::vector<std::string>{"exp_avg", "exp_avg_sq"}));
      states +=
          2 *
          RoundUp(Product(LocalSizes(linked.t.mesh, tensor.dims, tensor.optimizer_sharding)) * 4,
                  64);
    }
    EXPECT_EQ(program.PoolBytes(Pool::kParam), params);
    EXPECT_EQ(program.PoolBytes(Pool::kState), states);
    int64_t end = 0;
    for (const auto& [offset, bytes] : param_bytes) {
      EXPECT_GE(offset, end);
      end = offset + bytes;
    }
    int64_t arena = 0;
    for (const PoolSize& pool : program.pools) arena += RoundUp(program.PoolBytes(pool.pool), 64);
    EXPECT_EQ(program.ArenaBytes(), arena);
  }
}

// Slots multiply what microbatches in flight need, and nothing else.
TEST(Link, SlottedPoolsHaveTheStagesSlots) {
  CompileOptions options;
  options.slots = {3, 2};
  const Linked linked(TinyLlama(), kAllAxes, options);
  for (int stage = 0; stage < 2; ++stage) {
    for (const PoolSize& pool : linked.programs[stage].pools) {
      EXPECT_EQ(pool.slots, IsSlotted(pool.pool) ? options.slots[stage] : 1) << Name(pool.pool);
    }
  }
}

TEST(Link, NeighboursAgreeAboutTheirEdge) {
  MappingConfig config = SequenceParallel();
  const Linked linked(TinyLlama(), {{"stage", 3}, {"data", 2}, {"model", 2}}, {}, config);
  ASSERT_EQ(linked.programs.size(), 3u);
  EXPECT_TRUE(linked.programs[0].chunks[0].edges_in.empty());
  EXPECT_TRUE(linked.programs[2].chunks[0].edges_out.empty());
  for (int s = 0; s < 2; ++s) {
    const StageProgram& from = linked.programs[s];
    const StageProgram& to = linked.programs[s + 1];
    ASSERT_EQ(from.chunks[0].edges_out.size(), 1u);
    ASSERT_EQ(to.chunks[0].edges_in.size(), 1u);
    EXPECT_EQ(from.chunks[0].edges_out[0].bytes, 4 * 6 * 8 * 4 / 4)
        << "batch over data, position over model";
    EXPECT_EQ(from.chunks[0].edges_out[0].bytes, to.chunks[0].edges_in[0].bytes);
    ASSERT_EQ(from.chunks[0].grad_edges_out.size(), 1u);
    ASSERT_EQ(to.chunks[0].grad_edges_in.size(), 1u);
    EXPECT_EQ(from.chunks[0].grad_edges_out[0].bytes, to.chunks[0].grad_edges_in[0].bytes);
  }
}

// Forward in order, backward the other way round; layers share one code.
TEST(Link, InstancesFollowTheChain) {
  const Linked linked(TinyLlama(), {{"data", 2}});
  const StageProgram& program = linked.programs[0];
  std::string text;
  for (const Instance& i : program.chunks[0].forward)
    text += program.codes[i.code].name + std::to_string(i.layer) + " ";
  text += "| ";
  for (const Instance& i : program.chunks[0].backward)
    text += program.codes[i.code].name + std::to_string(i.layer) + " ";
  EXPECT_EQ(text,
            "embed.F-1 block.F0 block.F1 block.F2 head.F-1 | head.B-1 block.B2 block.B1 block.B0 "
            "embed.B-1 ");
  EXPECT_EQ(program.init.size(), program.tensors.size());
  EXPECT_EQ(program.update1.size(), program.tensors.size());
  EXPECT_EQ(program.update2.size(), program.tensors.size() + 1) << "and the step's control";
  EXPECT_EQ(program.codes[program.update2[0].code].name, "step.U2");
  for (const Instance& instance : program.chunks[0].forward) {
    EXPECT_EQ(instance.places.size(), program.codes[instance.code].bindings.size());
  }
}

// Initial weights are streams named by the tensor, the same on every mesh.
TEST(Link, InitStreamsFollowTheName) {
  std::map<std::string, int64_t> streams[2];
  const Linked one(TinyLlama(), {{"data", 1}});
  const Linked many(TinyLlama(), kAllAxes);
  for (const Linked* linked : {&one, &many}) {
    for (const StageProgram& program : linked->programs) {
      for (const Instance& instance : program.init) {
        const SegmentCode& code = program.codes[instance.code];
        streams[linked == &many][code.name] = code.instructions[0].attrs.GetInt("stream");
      }
    }
  }
  EXPECT_EQ(streams[0], streams[1]);
  std::set<int64_t> distinct;
  for (const auto& [name, stream] : streams[0]) distinct.insert(stream);
  EXPECT_EQ(distinct.size(), streams[0].size());
}

// ---- tied tensors

TEST(Link, TiedTensorIsPlacedOnceInAStage) {
  const Linked linked(TinyGpt2(), {{"data", 2}});
  const TensorPlacement* table = Find(linked.programs[0], "transformer.wte.weight");
  ASSERT_NE(table, nullptr);
  EXPECT_TRUE(table->owner_members.empty());
}

// Over stages the ends both hold it, and their gradients meet in an all-reduce of those two.
TEST(Link, TiedTensorNamesItsStages) {
  const Linked linked(TinyGpt2(), {{"stage", 3}, {"data", 2}});
  for (const int s : {0, 2}) {
    const StageProgram& program = linked.programs[s];
    const TensorPlacement* table = Find(program, "transformer.wte.weight");
    ASSERT_NE(table, nullptr) << s;
    EXPECT_EQ(table->owner_members, (std::vector<int64_t>{0, 2}));
    int reduces = 0;
    for (const Instance& instance : program.update1) {
      for (const Instruction& instruction : program.codes[instance.code].instructions) {
        if (instruction.op != kAllReduceOp) continue;
        ++reduces;
        const Group& group = program.groups[instruction.group];
        EXPECT_EQ(group.axes, std::vector<int32_t>{0});
        EXPECT_EQ(group.members, (std::vector<int64_t>{0, 2}));
      }
    }
    EXPECT_EQ(reduces, 1);
  }
  EXPECT_EQ(Find(linked.programs[1], "transformer.wte.weight"), nullptr);
}

// Both ends list the same groups, so that they call the same collectives.
TEST(Link, AllStagesKnowAllGroups) {
  const Linked linked(TinyGpt2(), {{"stage", 3}, {"data", 2}});
  EXPECT_EQ(linked.programs[0].groups, linked.programs[2].groups);
}

TEST(Link, ForwardOnlyProgramsHaveNoUpdate) {
  TestMesh t({{"data", 1}});
  const Model model = *BuildModel(TinyLlama(), {}, {1, 6}, Purpose::kGenerate);
  StatusOr<CompiledModel> compiled = CompileSegments(model, t.axes, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto programs = LinkStages(*compiled, t.mesh, {});
  ASSERT_TRUE(programs.ok()) << programs.status();
  const StageProgram& program = (*programs)[0];
  EXPECT_TRUE(program.update1.empty() && program.update2.empty() &&
              program.chunks[0].backward.empty());
  EXPECT_EQ(program.PoolBytes(Pool::kState) + program.PoolBytes(Pool::kGrad), 0);
  EXPECT_EQ(program.init.size(), program.tensors.size());
  ASSERT_EQ(program.outputs.size(), 1u);
  EXPECT_EQ(program.outputs[0].bytes, 6 * 10 * 4) << "logits";
}

}  // namespace
}  // namespace trireme
