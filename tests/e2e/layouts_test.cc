// The mesh changes speed, never the model: jobs as real processes, through coordinator, workers and
// sockets, have the losses of one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

struct Layout {
  std::string name;
  std::string job;
  int hosts;
  int devices_per_host;
  std::vector<std::string> sets;
  int slices = 1;
};

void PrintTo(const Layout& layout, std::ostream* out) { *out << layout.name; }

std::vector<StepLineJson> RunLayout(const CliFolder& folder, const Layout& layout) {
  std::vector<std::string> words = {"run",
                                    folder.Write("job.yaml", layout.job),
                                    "-o",
                                    "json",
                                    "--hosts",
                                    std::to_string(layout.hosts),
                                    "--devices-per-host",
                                    std::to_string(layout.devices_per_host),
                                    "--slices",
                                    std::to_string(layout.slices)};
  for (const std::string& set : layout.sets) {
    words.push_back("--set");
    words.push_back(set);
  }
  const CliResult result = folder.Run(words);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(folder.LeftProcesses(), "");
  return Steps(result.out);
}

class RealProcesses : public testing::TestWithParam<Layout> {};

// One rank's steps, once a job: tests run in processes of their own, but not when one is debugged.
const std::vector<StepLineJson>& OneRank(const CliFolder& folder, const std::string& job) {
  static auto* const cache = new std::map<std::string, std::vector<StepLineJson>>;
  const auto it = cache->find(job);
  if (it != cache->end()) return it->second;
  return (*cache)[job] = RunLayout(folder, {"one", job, 1, 1, {"mesh.axes={data: 1, model: 1}"}});
}

TEST_P(RealProcesses, HaveTheLossesOfOneRank) {
  const CliFolder folder;
  const std::vector<StepLineJson>& one = OneRank(folder, GetParam().job);
  const std::vector<StepLineJson> many = RunLayout(folder, GetParam());
  ASSERT_EQ(one.size(), 6u);
  ASSERT_EQ(many.size(), 6u);
  EXPECT_LT(one.back().loss, one.front().loss);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(many[i].step, one[i].step);
    EXPECT_NEAR(many[i].loss, one[i].loss, 1e-5 * std::abs(one[i].loss)) << "step " << i + 1;
    EXPECT_NEAR(many[i].grad_norm, one[i].grad_norm, 1e-3 * one[i].grad_norm) << "step " << i + 1;
  }
  EXPECT_THAT(folder.LeftFiles(), testing::IsSubsetOf({"corpus.txt.tokens"}));
}

const Layout kLayouts[] = {
    {"Data",
     LlamaJob(),
     2,
     2,
     {"mesh.axes={data: 4, model: 1}", "mesh.param_mapping={embed: null}"}},
    {"Fsdp", LlamaJob(), 2, 2, {"mesh.axes={data: 4, model: 1}"}},
    {"Zero1",
     LlamaJob(),
     2,
     2,
     {"mesh.axes={data: 4, model: 1}", "mesh.param_mapping={embed: null}",
      "mesh.optimizer_mapping={embed: data}"}},
    {"DataByModel", LlamaJob(), 2, 2, {"mesh.axes={data: 2, model: 2}"}},
    {"ModelBeyondKvHeads", LlamaJob(), 2, 2, {"mesh.axes={data: 1, model: 4}"}},
    {"SequenceParallel",
     LlamaJob(),
     1,
     2,
     {"mesh.axes={data: 1, model: 2}", "mesh.compute_mapping={residual/position: model}"}},
    {"Stages", LlamaJob(), 2, 2, {"mesh.axes={data: 2, model: 1, stage: 2}"}},
    {"TiedOverStages", Gpt2Job(), 2, 1, {"mesh.axes={data: 1, model: 1, stage: 2}"}},
    {"Experts", MixtralJob(), 1, 2, {"mesh.axes={data: 1, model: 1, expert: 2}"}},
    {"ExpertsAllToAll",
     MixtralJob(),
     2,
     2,
     {"mesh.axes={data: 1, expert: 4}", "moe.dispatch=all_to_all"}},
    {"GrugExpertsByStages", GrugJob(), 2, 2, {"mesh.axes={data: 1, expert: 2, stage: 2}"}},
    {"GrugExpertsByFsdpAllToAll",
     GrugJob(),
     2,
     2,
     {"mesh.axes={data: 2, expert: 2}", "moe.dispatch=all_to_all", "train.microbatch_size=1"}},
    {"DeepseekExpertsByModel", DeepseekJob(), 2, 2, {"mesh.axes={data: 1, expert: 2, model: 2}"}},
    {"DeepseekExpertsBetweenSlices", DeepseekJob(), 2, 2, {"mesh.axes={data: 1, expert: 2}"}, 2},
    {"SlicesOfReplicas", LlamaJob(), 2, 2, {"mesh.axes={replica: 2, data: 1}", "zero.stage=0"}, 2},
    {"SlicesFlat",
     LlamaJob(),
     2,
     2,
     {"mesh.axes={replica: 2, data: 1}", "zero.stage=0", "mesh.dcn_reduce=flat"},
     2},
    {"SlicesByFsdpByModel",
     LlamaJob(),
     2,
     4,
     {"mesh.axes={data: 2, model: 2}", "zero.prefetch=true"},
     2},
    {"AsyncModel",
     LlamaJob(),
     2,
     1,
     {"mesh.axes={data: 1, model: 2}", "tensor_parallel.async=true"}},
    {"AsyncReduceScatter",
     LlamaJob(),
     2,
     1,
     {"mesh.axes={data: 1, model: 2}", "tensor_parallel={mode: reduce_scatter, async: true}"}},
    {"AsyncReduceScatterChunks",
     Gpt2Job(),
     2,
     2,
     {"mesh.axes={data: 1, model: 4}",
      "tensor_parallel={mode: reduce_scatter, async: true, chunks: 2, recompute_allgather: "
      "false}"}},
    {"ContextRing", LlamaJob(), 2, 2, {"mesh.axes={data: 1, context: 4}"}},
    {"ContextGathered",
     LlamaJob(),
     1,
     2,
     {"mesh.axes={data: 1, context: 2}", "context_parallel.mode=all_gather"}},
    {"ContextByModel", Gpt2Job(), 2, 2, {"mesh.axes={data: 1, context: 2, model: 2}"}},
    {"FsdpPrefetched", LlamaJob(), 2, 2, {"mesh.axes={data: 4}", "zero.prefetch=true"}},
    {"Interleaved",
     LlamaJob(),
     2,
     1,
     {"mesh.axes={data: 1, stage: 2}", "pipeline.order=interleaved_1f1b"}},
    {"ZeroBubbleH1",
     Gpt2Job(),
     2,
     1,
     {"mesh.axes={data: 1, stage: 2}", "pipeline.order=zero_bubble_h1"}},
    {"ZeroBubbleV",
     LlamaJob(),
     2,
     2,
     {"mesh.axes={data: 2, stage: 2}", "pipeline.order=zero_bubble_v", "train.microbatch_size=1"}},
    {"DualPipeV",
     Gpt2Job(),
     2,
     1,
     {"mesh.axes={data: 1, stage: 2}", "pipeline.order=dualpipe_v", "train.microbatch_size=1"}},
    {"Zero1ByStagesByModel",
     LlamaJob(),
     2,
     4,
     {"mesh.axes={data: 2, stage: 2, model: 2}", "zero.stage=1",
      "tensor_parallel={mode: reduce_scatter, async: true}"}},
};

INSTANTIATE_TEST_SUITE_P(Layouts, RealProcesses, testing::ValuesIn(kLayouts),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace trireme
