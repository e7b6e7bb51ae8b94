// Whatever the layout and microbatching, the ranks together see the same global batch; padding is
// marked as such.
#include "worker/data/batch_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "common/formats/test_folder.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kBatch = 8;

struct Layout {
  int64_t data = 1;
  int64_t context = 1;  // splits positions
  int64_t microbatch = 8;
  int64_t length = 6;
  int64_t padded_length = 6;
  int64_t zigzag = 1;
};

RankProgram MakeProgram(const Layout& layout) {
  RankProgram program;
  program.mesh = *Mesh::Create({{"data", layout.data}, {"context", layout.context}});
  program.data_axes = {0};
  program.run = {.steps = 4,
                 .global_batch_size = kBatch,
                 .microbatch_size = layout.microbatch,
                 .num_microbatches = kBatch / layout.data / layout.microbatch,
                 .sequence_length = layout.length,
                 .zigzag_shards = layout.zigzag,
                 .seed = 3};
  for (const char* name : {"tokens", "targets", "weights", "positions", "segments"}) {
    const bool weights = std::string_view(name) == "weights";
    program.program.inputs.push_back({.name = name,
                                      .dims = {{"batch", layout.data * layout.microbatch},
                                               {"position", layout.length, layout.padded_length}},
                                      .sharding = {.dim_axes = {{0}, {1}}},
                                      .dtype = weights ? DType::kFloat32 : DType::kInt32});
  }
  program.program.tensors = {{.name = "embed", .dims = {{"vocab", 256}, {"embed", 8}}}};
  return program;
}

// A text whose byte i tells its place.
std::string Text(int64_t size) {
  std::string text;
  for (int64_t i = 0; i < size; ++i) text += static_cast<char>((i * 7 + i / 251) % 251);
  return text;
}

struct Inputs {
  std::vector<std::vector<int32_t>> values;
  std::vector<float> weights() const {
    const auto* data = reinterpret_cast<const float*>(values[2].data());
    return {data, data + values[2].size()};
  }
};

Inputs FillOne(const BatchLoader& loader, const Layout& layout, int64_t step, int64_t microbatch) {
  Inputs inputs;
  const int64_t count = layout.microbatch * layout.padded_length / layout.context;
  inputs.values.assign(5, std::vector<int32_t>(count, -99));
  std::vector<void*> pointers;
  for (std::vector<int32_t>& values : inputs.values) pointers.push_back(values.data());
  const Status status = loader.Fill(step, microbatch, pointers);
  EXPECT_TRUE(status.ok()) << status;
  return inputs;
}

// The global batch of a step as sequence number -> tokens and targets, put together from all ranks.
std::map<int64_t, std::vector<int32_t>> GlobalBatch(const DataConfig& config, const Layout& layout,
                                                    int64_t step) {
  const RankProgram program = MakeProgram(layout);
  std::map<int64_t, std::vector<int32_t>> batch;
  const int64_t local = layout.padded_length / layout.context;
  for (int64_t rank = 0; rank < program.mesh.num_ranks(); ++rank) {
    const StatusOr<BatchLoader> loader = BatchLoader::Create(config, program, rank);
    EXPECT_TRUE(loader.ok()) << loader.status();
    const std::vector<int64_t> at = program.mesh.Coordinates(rank);
    for (int64_t m = 0; m < program.run.num_microbatches; ++m) {
      const Inputs inputs = FillOne(*loader, layout, step, m);
      for (int64_t r = 0; r < layout.microbatch; ++r) {
        auto& row = batch[at[0] * (kBatch / layout.data) + m * layout.microbatch + r];
        row.resize(2 * layout.length);
        for (int64_t i = 0; i < local; ++i) {
          const int64_t position = at[1] * local + i;
          if (position >= layout.length) continue;
          row[position] = inputs.values[0][r * local + i];
          row[layout.length + position] = inputs.values[1][r * local + i];
        }
      }
    }
  }
  return batch;
}

TEST(BatchLoader, EveryLayoutSeesTheSameGlobalBatch) {
  const TestFolder folder;
  folder.Write("text", Text(1000));
  const DataConfig config = {.paths = {folder.File("text")}};
  for (const int64_t step : {0, 3, 100}) {
    const auto expected = GlobalBatch(config, Layout{}, step);
    ASSERT_EQ(expected.size(), static_cast<size_t>(kBatch));
    for (const Layout& layout :
         {Layout{1, 1, 2}, Layout{2, 1, 4}, Layout{2, 1, 1}, Layout{4, 1, 2}, Layout{4, 1, 1},
          Layout{1, 2, 8}, Layout{2, 2, 2}, Layout{2, 4, 2, 6, 8}}) {
      EXPECT_EQ(GlobalBatch(config, layout, step), expected)
          << layout.data << " " << layout.context << " " << layout.microbatch;
    }
  }
  EXPECT_NE(GlobalBatch(config, Layout{}, 0), GlobalBatch(config, Layout{}, 1));
}

// Each window of six bytes is its own number: "00000,00001,...".
TEST(BatchLoader, RowsAreWindowsAndTargetsTheNextTokens) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) {
    const std::string digits = std::to_string(i);
    text += std::string(5 - digits.size(), '0') + digits + ",";
  }
  folder.Write("text", text);
  for (const auto& [sequence, row] : GlobalBatch({.paths = {folder.File("text")}}, Layout{}, 0)) {
    const std::string tokens(row.begin(), row.begin() + 6), targets(row.begin() + 6, row.end());
    ASSERT_EQ(tokens[5], ',') << sequence;
    const int window = std::stoi(tokens);
    EXPECT_EQ(tokens, text.substr(6 * window, 6));
    EXPECT_EQ(targets, text.substr(6 * window + 1, 6));
  }
}

TEST(BatchLoader, ZigzagMovesPositionsAndKeepsTheirTokens) {
  const TestFolder folder;
  folder.Write("text", Text(100));
  const DataConfig config = {.paths = {folder.File("text")}};
  const Layout whole = {.microbatch = 1, .length = 7, .padded_length = 8};
  Layout zigzag = whole;
  zigzag.context = zigzag.zigzag = 2;
  const RankProgram in_order = MakeProgram(whole);
  const auto reader = BatchLoader::Create(config, in_order, 0);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const Inputs expected = FillOne(*reader, whole, 0, 0);
  const RankProgram program = MakeProgram(zigzag);
  for (int rank = 0; rank < 2; ++rank) {
    const auto loader = BatchLoader::Create(config, program, rank);
    ASSERT_TRUE(loader.ok()) << loader.status();
    const Inputs inputs = FillOne(*loader, zigzag, 0, 0);
    EXPECT_THAT(inputs.values[3], rank == 0 ? ElementsAre(0, 1, 6, 7) : ElementsAre(2, 3, 4, 5));
    for (int i = 0; i < 4; ++i) {
      const int position = inputs.values[3][i];
      for (const int field : {0, 1, 2, 4}) {
        EXPECT_EQ(inputs.values[field][i], expected.values[field][position]) << field << " " << i;
      }
    }
  }
}

TEST(BatchLoader, PaddingHasNoWeightAndAnotherSegment) {
  const TestFolder folder;
  folder.Write("text", Text(100));
  const Layout layout = {.data = 1, .context = 2, .microbatch = 1, .length = 5, .padded_length = 8};
  const RankProgram program = MakeProgram(layout);
  const auto loader = BatchLoader::Create({.paths = {folder.File("text")}}, program, /*rank=*/1);
  ASSERT_TRUE(loader.ok()) << loader.status();
  const Inputs inputs = FillOne(*loader, layout, 0, 0);  // positions 4 to 7
  EXPECT_THAT(std::vector<int32_t>(inputs.values[0].begin() + 1, inputs.values[0].end()),
              ElementsAre(0, 0, 0));
  EXPECT_THAT(std::vector<int32_t>(inputs.values[1].begin() + 1, inputs.values[1].end()),
              ElementsAre(0, 0, 0));
  EXPECT_THAT(inputs.weights(), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(inputs.values[3], ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(inputs.values[4], ElementsAre(0, -1, -1, -1));
}

TEST(BatchLoader, ErrorsNameWhatIsMissing) {
  const TestFolder folder;
  RankProgram program = MakeProgram(Layout{});
  EXPECT_THAT(
      std::string(
          BatchLoader::Create({.paths = {folder.File("absent")}}, program, 0).status().message()),
      HasSubstr("absent"));
  folder.Write("short", "abcdef");
  EXPECT_THAT(
      std::string(
          BatchLoader::Create({.paths = {folder.File("short")}}, program, 0).status().message()),
      HasSubstr("7"));  // tokens needed: six and a target
  folder.Write("text", Text(100));
  const DataConfig config = {.paths = {folder.File("text")}};
  program.program.tensors[0].dims[0].size = 20;
  const auto loader = BatchLoader::Create(config, program, 0);
  ASSERT_TRUE(loader.ok());
  std::vector<std::vector<int32_t>> values(5, std::vector<int32_t>(48));
  std::vector<void*> pointers;
  for (auto& v : values) pointers.push_back(v.data());
  EXPECT_THAT(std::string(loader->Fill(0, 0, pointers).message()), HasSubstr("vocab_size is 20"));
  program.run.num_microbatches = 3;
  EXPECT_THAT(std::string(BatchLoader::Create(config, program, 0).status().message()),
              HasSubstr("global batch of 8"));
}

}  // namespace
}  // namespace trireme
