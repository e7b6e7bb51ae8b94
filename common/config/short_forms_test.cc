// Short forms, through the parser: each writes what the reference page says, gives way to what the
// job maps itself, is refused where the two contradict, and comes back unchanged from JSON.
#include "common/config/short_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config/parse.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Axes = std::vector<std::string>;

constexpr char kJob[] = R"(name: short
model: {type: llama, hidden_size: 64, intermediate_size: 96, num_hidden_layers: 2, num_attention_heads: 4, vocab_size: 256, max_position_embeddings: 64}
data: {train: [{path: x}], sequence_length: 64}
train: {steps: 2, global_batch_size: 4}
)";

// The job with lines added, after a trip through JSON that must not change it.
JobSpec Parse(const std::string& lines) {
  const StatusOr<JobSpec> spec = ParseJob(kJob + lines, "job.yaml");
  if (!spec.ok()) {
    ADD_FAILURE() << lines << ": " << spec.status();
    return JobSpec();
  }
  const std::string json = JobToJson(*spec);
  const StatusOr<JobSpec> again = ParseJob(json, "job.json");
  EXPECT_TRUE(again.ok() && *again == *spec) << lines << json;
  EXPECT_EQ(json.find("\"zero\""), std::string::npos) << "what it wrote must stand there instead";
  return *spec;
}

std::string ErrorOf(const std::string& lines) {
  const StatusOr<JobSpec> spec = ParseJob(kJob + lines, "job.yaml");
  return spec.ok() ? "no error" : std::string(ToStd(spec.status().message()));
}

TEST(ZeroStage, WritesEmbedOfParametersAndOptimizer) {
  EXPECT_EQ(Parse("").mesh, MeshSpec()) << "nothing is written unasked";
  const MappingConfig zero = Parse("zero: {stage: 0}\n").mesh.mapping;
  EXPECT_EQ(zero.param, (DimMapping{{"embed", {}}}));
  EXPECT_EQ(zero.optimizer, (DimMapping{{"embed", {}}}));
  const MappingConfig one = Parse("zero: {stage: 1}\n").mesh.mapping;
  EXPECT_EQ(one.param, (DimMapping{{"embed", {}}}));
  EXPECT_EQ(one.optimizer, (DimMapping{{"embed", {"data"}}}));
  const MappingConfig three = Parse("zero: {stage: 3}\n").mesh.mapping;
  EXPECT_EQ(three.param, (DimMapping{{"embed", {"data"}}}));
  EXPECT_EQ(three.optimizer, DimMapping());
}

// Where zero stands in the file must not matter: the mesh section replaces whole maps.
TEST(ZeroStage, AddsToTheMappingsOfTheJobInAnyOrder) {
  const std::string mesh = "mesh: {param_mapping: {vocab: null}, optimizer_mapping: {mlp: null}}\n";
  const DimMapping param = {{"embed", {}}, {"vocab", {}}};
  const DimMapping optimizer = {{"embed", {"data"}}, {"mlp", {}}};
  for (const std::string& lines : {"zero: {stage: 1}\n" + mesh, mesh + "zero: {stage: 1}\n"}) {
    const JobSpec spec = Parse(lines);
    EXPECT_EQ(spec.mesh.mapping.param, param) << lines;
    EXPECT_EQ(spec.mesh.mapping.optimizer, optimizer) << lines;
  }
}

TEST(ZeroStage, MayRepeatTheMappingButNotContradictIt) {
  Parse("mesh: {param_mapping: {embed: null}}\nzero: {stage: 1}\n");
  Parse(
      "mesh: {param_mapping: {embed: data}, optimizer_mapping: {embed: data}}\n"
      "zero: {stage: 3}\n");
  const std::string param = ErrorOf("mesh: {param_mapping: {embed: data}}\nzero: {stage: 1}\n");
  EXPECT_THAT(param, StartsWith("job.yaml:6: zero.stage: 1 means mesh.param_mapping.embed: null"));
  EXPECT_THAT(param, HasSubstr("the job has mesh.param_mapping.embed: data; keep one"));
  const std::string optimizer =
      ErrorOf("zero: {stage: 3}\nmesh: {optimizer_mapping: {embed: [data, model]}}\n");
  EXPECT_THAT(optimizer, StartsWith("job.yaml:5: zero.stage: 3 means mesh.optimizer_mapping"));
  EXPECT_THAT(optimizer, HasSubstr("the job has mesh.optimizer_mapping.embed: [data, model]"));
}

TEST(ZeroSwitches, SetGatherAndPrefetch) {
  EXPECT_EQ(Parse("zero: {stage: 3, reshard_after_forward: false}\n").mesh.gather,
            GatherPolicy::kStep);
  EXPECT_EQ(Parse("zero: {reshard_after_forward: false}\n").mesh.gather, GatherPolicy::kStep);
  EXPECT_EQ(Parse("zero: {reshard_after_forward: true}\n").mesh.gather, GatherPolicy::kUse);
  EXPECT_TRUE(Parse("zero: {stage: 3, prefetch: true}\n").mesh.prefetch);
  EXPECT_TRUE(Parse("zero: {prefetch: true}\n").mesh.prefetch);
  EXPECT_TRUE(Parse("mesh: {prefetch: true}\n").mesh.prefetch);
  // Their defaults say nothing and go with any stage.
  EXPECT_FALSE(
      Parse("zero: {stage: 1, prefetch: false, reshard_after_forward: true}\n").mesh.prefetch);
}

TEST(ZeroSwitches, AreRefusedWithoutSplitParametersOrAgainstTheMesh) {
  struct Bad {
    std::string lines, start, hint;
  };
  const Bad cases[] = {
      {"zero: {stage: 1, reshard_after_forward: false}\n",
       "job.yaml:5: zero.reshard_after_forward: false is about", "zero.stage 1 keeps parameters"},
      {"zero: {stage: 0, prefetch: true}\n", "job.yaml:5: zero.prefetch: true is about",
       "zero.stage 0 keeps parameters whole; use zero.stage: 3"},
      {"mesh: {param_mapping: {embed: null}}\nzero: {prefetch: true}\n",
       "job.yaml:6: zero.prefetch: true is about", "mesh.param_mapping.embed: null keeps"},
      {"mesh: {gather: use}\nzero: {reshard_after_forward: false}\n",
       "job.yaml:6: zero.reshard_after_forward: false means mesh.gather: step",
       "the job has mesh.gather: use"},
      {"mesh: {gather: step}\nzero: {reshard_after_forward: true}\n",
       "job.yaml:6: zero.reshard_after_forward: true means mesh.gather: use", "keep one"},
      {"mesh: {prefetch: false}\nzero: {prefetch: true}\n",
       "job.yaml:6: zero.prefetch: true, but the job has mesh.prefetch: false", "keep one"},
      {"zero: {prefetch: true, reshard_after_forward: false}\n",
       "job.yaml:5: zero.prefetch: true moves", "zero.reshard_after_forward: false gathers once"},
      {"mesh: {gather: step}\nzero: {prefetch: true}\n", "job.yaml:6: zero.prefetch: true moves",
       "mesh.gather: step gathers once"},
  };
  for (const Bad& bad : cases) {
    EXPECT_THAT(ErrorOf(bad.lines), StartsWith(bad.start)) << bad.lines;
    EXPECT_THAT(ErrorOf(bad.lines), HasSubstr(bad.hint)) << bad.lines;
  }
}

// What residual/position is mapped to by tensor_parallel: {mode: reduce_scatter} beside `mesh`.
Axes ResidualPosition(const std::string& mesh) {
  const JobSpec spec = Parse("tensor_parallel: {mode: reduce_scatter}\nmesh: " + mesh + "\n");
  EXPECT_EQ(spec.tensor_parallel.mode, TensorParallelMode::kReduceScatter);
  const auto found = spec.mesh.mapping.compute.find("residual/position");
  return found == spec.mesh.mapping.compute.end() ? Axes{"not written"} : found->second;
}

TEST(ReduceScatter, SplitsTheResidualStreamByPositions) {
  EXPECT_EQ(ResidualPosition("{axes: {model: 2}}"), Axes({"model"}));
  EXPECT_EQ(ResidualPosition("{axes: {context: 1, model: 2}}"), Axes({"model"}));
  EXPECT_EQ(ResidualPosition("{axes: {context: 2, model: 2}}"), Axes({"context", "model"}));
  EXPECT_EQ(ResidualPosition("{axes: {model: 2, context: -1}}"), Axes({"context", "model"}));
  EXPECT_EQ(ResidualPosition("{axes: {tp: 2}, shared_mapping: {mlp: tp, heads: tp}}"),
            Axes({"tp"}));
  EXPECT_EQ(ResidualPosition("{axes: {model: 2}, shared_mapping: {mlp: null}}"), Axes({"model"}));
  EXPECT_EQ(ResidualPosition("{axes: {context: 2}, shared_mapping: {mlp: [model, context]}}"),
            Axes({"context", "model"}));
}

TEST(ReduceScatter, LeavesTheMappingOfTheJob) {
  EXPECT_EQ(ResidualPosition("{axes: {context: 2}, compute_mapping: {residual/position: model}}"),
            Axes({"model"}));
  EXPECT_EQ(ResidualPosition("{shared_mapping: {residual/position: model}}"),
            Axes({"not written"}));
  const JobSpec spec = Parse("mesh: {compute_mapping: {residual/position: model}}\n");
  EXPECT_EQ(spec.tensor_parallel.mode, TensorParallelMode::kAllReduce);
  EXPECT_EQ(spec.mesh.mapping.compute.count("residual/position"), 1u);
  EXPECT_EQ(Parse("tensor_parallel: {mode: all_reduce}\n").mesh, MeshSpec());
}

TEST(ReduceScatter, IsRefusedWhereTheMappingSaysOtherwise) {
  const std::string mode = "tensor_parallel: {mode: reduce_scatter}\n";
  for (const char* map : {"compute_mapping", "shared_mapping"}) {
    const std::string error = ErrorOf(mode + "mesh: {" + map + ": {residual/position: null}}\n");
    EXPECT_THAT(error, StartsWith("job.yaml:5: tensor_parallel.mode: reduce_scatter splits"));
    EXPECT_THAT(error, HasSubstr("mesh." + std::string(map) + ".residual/position is null"));
    EXPECT_THAT(error, HasSubstr("use mode: all_reduce"));
  }
  EXPECT_THAT(ErrorOf(mode + "mesh: {compute_mapping: {residual/position: context}}\n"),
              HasSubstr("over model, but mesh.compute_mapping.residual/position is context"));
  EXPECT_THAT(ErrorOf(mode + "mesh: {shared_mapping: {mlp: null, heads: null}}\n"),
              HasSubstr("needs an axis that splits mlp or heads"));
}

// What attention/key_position is mapped to.
Axes KeyPosition(const std::string& lines) {
  const JobSpec spec = Parse(lines);
  const auto found = spec.mesh.mapping.compute.find("attention/key_position");
  return found == spec.mesh.mapping.compute.end() ? Axes{"not written"} : found->second;
}

TEST(ContextParallel, RingSplitsKeysWhereTheMeshHasTheAxis) {
  const std::string ring = "context_parallel: {mode: ring}\n";
  const Axes none = {"not written"};
  EXPECT_EQ(KeyPosition(ring + "mesh: {axes: {context: 2}}\n"), Axes({"context"}));
  EXPECT_EQ(KeyPosition("mesh: {axes: {context: 2}}\n"), Axes({"context"})) << "the default mode";
  EXPECT_EQ(KeyPosition("mesh: {dcn_axes: {context: 2}}\n"), Axes({"context"}));
  EXPECT_EQ(KeyPosition("mesh: {axes: {cp: 2}, compute_mapping: {position: cp}}\n"), Axes({"cp"}));
  EXPECT_EQ(KeyPosition(ring), none);
  EXPECT_EQ(KeyPosition(ring + "mesh: {axes: {context: 1}}\n"), none);
  EXPECT_EQ(KeyPosition("mesh: {axes: {context: 2}, compute_mapping: {position: null}}\n"), none);
  EXPECT_EQ(KeyPosition("mesh: {axes: {context: 2}, shared_mapping: {key_position: context}}\n"),
            none);
  EXPECT_EQ(KeyPosition("context_parallel: {mode: all_gather}\nmesh: {axes: {context: 2}}\n"),
            none);
}

TEST(ContextParallel, ModeAndMappingAgree) {
  const std::string mapped =
      "mesh: {axes: {context: 2}, compute_mapping: "
      "{attention/key_position: ";
  EXPECT_EQ(Parse(mapped + "null}}\n").context_parallel.mode, ContextParallelMode::kAllGather);
  EXPECT_EQ(Parse(mapped + "context}}\n").context_parallel.mode, ContextParallelMode::kRing);
  const std::string ring = ErrorOf("context_parallel: {mode: ring}\n" + mapped + "null}}\n");
  EXPECT_THAT(ring, StartsWith("job.yaml:5: context_parallel.mode: ring keeps keys split"));
  EXPECT_THAT(ring, HasSubstr("mesh.compute_mapping.attention/key_position is null"));
  const std::string whole =
      ErrorOf("context_parallel: {mode: all_gather}\n" + mapped + "context}}\n");
  EXPECT_THAT(whole, StartsWith("job.yaml:5: context_parallel.mode: all_gather makes keys whole"));
  EXPECT_THAT(whole, HasSubstr("attention/key_position is context; use mode: ring"));
}

}  // namespace
}  // namespace trireme
