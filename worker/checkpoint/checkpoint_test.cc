// A checkpoint saved on one mesh loads bit-equal on any other; nothing incomplete, stale or foreign
// is taken for one. Ranks are executors of programs that only place tensors.
#include "worker/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/formats/checkpoint_manifest.h"
#include "common/formats/test_folder.h"
#include "worker/checkpoint/region.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

// How tensors lie: axes of each dim by name, in a mesh with any subset of data, model, stage.
struct Layout {
  std::vector<MeshAxis> axes;
  bool zero1 = false;  // states split over data, parameters not
};

constexpr int64_t kVocab = 10, kEmbed = 6;

std::vector<int> AxesOf(const Mesh& mesh, std::string_view name) {
  const std::optional<int> axis = mesh.FindAxis(name);
  return axis ? std::vector<int>{*axis} : std::vector<int>{};
}

// "embed" [vocab/model, embed/data], tied between first and last stage; "up" only on the last
// stage, "norm" and "bias" on the first, repeated everywhere else. "bias" is not trained, so it has
// no state.
RankProgram MakeProgram(const Layout& layout, int32_t stage) {
  RankProgram program;
  program.mesh = *Mesh::Create(layout.axes);
  program.stage_axis = program.mesh.FindAxis("stage").value_or(-1);
  program.program.stage = program.schedule.stage = stage;
  const int32_t last = static_cast<int32_t>(program.num_stages()) - 1;
  const std::vector<int> model = AxesOf(program.mesh, "model"), data = AxesOf(program.mesh, "data");
  const int64_t padded = RoundUp(kVocab, 4);
  int64_t param = 0, state = 0;
  auto add = [&](const std::string& name, std::vector<Dim> dims, Sharding stored,
                 Sharding optimizer) {
    TensorPlacement t = {.name = name,
                         .dims = dims,
                         .param_sharding = stored,
                         .optimizer_sharding = optimizer,
                         .param_offset = param,
                         .state_offsets = {state},
                         .state_names = {"exp_avg"}};
    param += RoundUp(Product(LocalSizes(program.mesh, dims, stored)) * 4, 64);
    state += RoundUp(Product(LocalSizes(program.mesh, dims, optimizer)) * 4, 64);
    if (name == "embed" && last > 0) t.owner_members = {0, last};
    if (name == "bias") {
      t.trained = false;
      t.state_offsets.clear();
      t.state_names.clear();
    }
    program.program.tensors.push_back(t);
  };
  const Sharding embed = {.dim_axes = {model, data}};
  if (stage == 0 || stage == last) {
    add("embed", {{"vocab", kVocab, padded}, {"embed", kEmbed, 8}},
        layout.zero1 ? Sharding{.dim_axes = {model, {}}} : embed, embed);
  }
  if (stage == last) add("up", {{"embed", kEmbed, 8}}, {.dim_axes = {data}}, {.dim_axes = {data}});
  for (const char* const name : {"norm", "bias"}) {
    if (stage == 0) add(name, {{"embed", kEmbed}}, Replicated(1), Replicated(1));
  }
  program.program.pools = {
      {Pool::kParam, param, 1}, {Pool::kState, state, 1}, {Pool::kScalars, 192, 1}};
  program.program.scalars = {0, 128, 160, 0};
  return program;
}

// Element (i, j) of tensor `which`; different bits for every element.
float Value(int which, int64_t i, int64_t j) { return 1000.0f * which + 17.25f * i + j * 0.001f; }

int WhichOf(const std::string& name, bool state) {
  return (name == "embed" ? 1 : name == "up" ? 2 : name == "norm" ? 3 : 4) + (state ? 10 : 0);
}

// Visits every local tensor and state of the rank: (sharding, place, tensor number).
template <typename Visit>
void ForEachStored(const RankProgram& program, Visit visit) {
  for (const TensorPlacement& t : program.program.tensors) {
    visit(t, t.param_sharding, Place{Pool::kParam, t.param_offset}, WhichOf(t.name, false));
    for (const int64_t offset : t.state_offsets) {
      visit(t, t.optimizer_sharding, Place{Pool::kState, offset}, WhichOf(t.name, true));
    }
  }
}

// What a rank holds of a tensor, zero in padding.
std::vector<float> Expected(const RankProgram& program, int64_t rank, const TensorPlacement& t,
                            const Sharding& sharding, int which) {
  const Region region = RegionOf(program.mesh, t.dims, sharding, rank);
  std::vector<float> real;
  const bool matrix = t.dims.size() == 2;
  for (int64_t i = 0; i < region.size[0]; ++i) {
    for (int64_t j = 0; j < (matrix ? region.size[1] : 1); ++j) {
      real.push_back(Value(which, region.start[0] + i, matrix ? region.start[1] + j : 0));
    }
  }
  return AddPadding(region, real);
}

class Rank {
 public:
  Rank(const Layout& layout, int64_t rank) : device_(MakeCpuDevice(1)) {
    const Mesh mesh = *Mesh::Create(layout.axes);
    const std::optional<int> axis = mesh.FindAxis("stage");
    const int64_t stage = axis ? mesh.Coordinates(rank)[*axis] : 0;
    program_ = MakeProgram(layout, static_cast<int32_t>(stage));
    executor_ = *Executor::Create(program_, rank, nullptr, *device_);
  }
  Executor& executor() { return *executor_; }
  const RankProgram& program() const { return program_; }

  void FillAll() {
    ForEachStored(program_, [&](const auto& t, const auto& sharding, Place place, int which) {
      const std::vector<float> values = Expected(program_, executor_->rank(), t, sharding, which);
      executor_->Write(place, 0, values.data(), values.size() * 4);
    });
    executor_->SetAppliedStep(7);
  }
  void ExpectFilled() {
    ForEachStored(program_, [&](const auto& t, const auto& sharding, Place place, int which) {
      const std::vector<float> values = Expected(program_, executor_->rank(), t, sharding, which);
      std::vector<float> found(values.size(), -1);
      executor_->Read(place, 0, found.data(), found.size() * 4);
      EXPECT_EQ(found, values) << t.name << " rank " << executor_->rank();
    });
    EXPECT_EQ(executor_->AppliedStep(), 7);
  }

 private:
  std::unique_ptr<Device> device_;
  RankProgram program_;
  std::unique_ptr<Executor> executor_;
};

int64_t NumRanks(const Layout& layout) { return Mesh::Create(layout.axes)->num_ranks(); }

CommitOptions Commit(const TestFolder& folder, int64_t num_ranks) {
  return {.folder = folder.File("step-0000010"), .num_ranks = num_ranks, .attempt = 2, .step = 10};
}

void SaveAll(const Layout& layout, const TestFolder& folder, int64_t skip_rank = -1) {
  for (int64_t r = 0; r < NumRanks(layout); ++r) {
    if (r == skip_rank) continue;
    Rank rank(layout, r);
    rank.FillAll();
    const auto saved = SaveCheckpoint(
        rank.executor(),
        {.path = folder.path(), .job = "tiny", .attempt = 2, .step = 10, .tokens_seen = 123});
    ASSERT_TRUE(saved.ok()) << saved.status();
    EXPECT_EQ(saved->folder, folder.File("step-0000010"));
  }
}

const std::vector<Layout>& Layouts() {
  static const auto* const layouts =
      new std::vector<Layout>{{{{"data", 2}, {"model", 2}}},
                              {{}},
                              {{{"model", 4}}},
                              {{{"stage", 2}, {"data", 2}}},
                              {{{"data", 4}}, /*zero1=*/true},
                              {{{"replica", 2}, {"stage", 3}, {"model", 2}}}};
  return *layouts;
}

TEST(Checkpoint, AnyMeshLoadsWhatAnyMeshSaved) {
  for (const Layout& from : Layouts()) {
    const TestFolder folder;
    SaveAll(from, folder);
    const Status committed = CommitCheckpoint(Commit(folder, NumRanks(from)));
    ASSERT_TRUE(committed.ok()) << committed;
    for (const Layout& to : Layouts()) {
      for (int64_t r = 0; r < NumRanks(to); ++r) {
        Rank rank(to, r);
        const auto loaded = LoadCheckpoint(folder.File("step-0000010"), rank.executor());
        ASSERT_TRUE(loaded.ok()) << loaded.status();
        EXPECT_EQ(loaded->step, 10);
        EXPECT_EQ(loaded->tokens_seen, 123);
        rank.ExpectFilled();
      }
    }
  }
}

TEST(Checkpoint, ManifestHoldsLogicalTensorsWithoutPadding) {
  const TestFolder folder;
  SaveAll(Layouts()[0], folder);
  ASSERT_TRUE(CommitCheckpoint(Commit(folder, 4)).ok());
  const auto manifest = ReadManifest(folder.File("step-0000010"));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->job, "tiny");
  EXPECT_EQ(manifest->tensors.size(), 7u);
  EXPECT_EQ(manifest->Find("embed")->shape, (std::vector<int64_t>{kVocab, kEmbed}));
  EXPECT_EQ(manifest->Find("embed")->pieces.size(), 4u);
  EXPECT_EQ(manifest->Find("norm#exp_avg")->pieces.size(), 1u);
  EXPECT_EQ(manifest->Find("bias")->pieces.size(), 1u);
  EXPECT_EQ(manifest->Find("bias#exp_avg"), nullptr);
}

TEST(Checkpoint, NoManifestWhenARankIsMissingOrStale) {
  const TestFolder folder;
  SaveAll(Layouts()[0], folder, /*skip_rank=*/2);
  const Status missing = CommitCheckpoint(Commit(folder, 4));
  EXPECT_EQ(missing.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("rank 2"));
  const std::string manifest = folder.File("step-0000010/manifest.json");
  EXPECT_FALSE(std::filesystem::exists(manifest));

  SaveAll(Layouts()[0], folder);
  CommitOptions other = Commit(folder, 4);
  other.attempt = 3;
  EXPECT_THAT(std::string(CommitCheckpoint(other).message()), HasSubstr("attempt 2"));
  // Fewer ranks than saved: elements are missing.
  EXPECT_FALSE(CommitCheckpoint(Commit(folder, 3)).ok());
  EXPECT_FALSE(std::filesystem::exists(manifest));
  Rank rank(Layouts()[1], 0);
  EXPECT_FALSE(LoadCheckpoint(folder.File("step-0000010"), rank.executor()).ok());
  EXPECT_TRUE(CommitCheckpoint(Commit(folder, 4)).ok());
}

TEST(Checkpoint, AnotherModelIsNamed) {
  const TestFolder folder;
  SaveAll(Layouts()[1], folder);
  ASSERT_TRUE(CommitCheckpoint(Commit(folder, 1)).ok());
  RankProgram program = MakeProgram(Layouts()[1], 0);
  const auto device = MakeCpuDevice(1);
  program.program.tensors[1].name = "down";
  auto executor = Executor::Create(program, 0, nullptr, *device);
  EXPECT_THAT(
      std::string(LoadCheckpoint(folder.File("step-0000010"), **executor).status().message()),
      HasSubstr("no tensor 'down'"));
  program.program.tensors[1].name = "up";
  program.program.tensors[1].dims[0].size = 5;
  EXPECT_THAT(
      std::string(LoadCheckpoint(folder.File("step-0000010"), **executor).status().message()),
      HasSubstr("tensor 'up' has shape (6) in the checkpoint but (5) in the model"));
}

}  // namespace
}  // namespace trireme
