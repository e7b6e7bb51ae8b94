// Manifests round-trip, refuse what does not cover its tensors once, and decide which folders are
// checkpoints.
#include "common/formats/checkpoint_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/formats/files.h"
#include "common/formats/test_folder.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

CheckpointManifest Example() {
  CheckpointManifest manifest;
  manifest.step = 10;
  manifest.job = "tiny";
  manifest.tokens_seen = 20480;
  manifest.tensors = {
      {"w",
       DType::kFloat32,
       {4, 3},
       {{"r0.safetensors", "w", {0, 0}, {2, 3}}, {"r1.safetensors", "w", {2, 0}, {2, 3}}}},
      {"scalar", DType::kFloat32, {}, {{"r0.safetensors", "s", {}, {}}}},
      {"empty", DType::kFloat32, {0, 3}, {}},
  };
  return manifest;
}

TEST(CheckpointManifest, RoundTrips) {
  const TestFolder folder;
  ASSERT_TRUE(WriteManifest(folder.path(), Example()).ok());
  const StatusOr<CheckpointManifest> read = ReadManifest(folder.path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == Example());
  EXPECT_EQ(read->Find("w")->pieces.size(), 2u);
  EXPECT_EQ(read->Find("x"), nullptr);
}

TEST(CheckpointManifest, RefusesTensorsThatAreNotCoveredOnce) {
  const TestFolder folder;
  const std::pair<std::function<void(CheckpointManifest*)>, std::string> cases[] = {
      {[](auto* m) { m->tensors[0].pieces.pop_back(); }, "hold 6 of 12"},
      {[](auto* m) { m->tensors[0].pieces[1].start[0] = 1; }, "overlap"},
      {[](auto* m) { m->tensors[0].pieces[1].start[0] = 3; }, "outside"},
      {[](auto* m) { m->tensors[0].pieces[1].start[0] = -1; }, "outside"},
      {[](auto* m) { m->tensors[0].pieces[1].size[0] = INT64_MAX; }, "outside"},
      {[](auto* m) { m->tensors[0].pieces[1].size.pop_back(); }, "outside"},
      {[](auto* m) { m->tensors[0].pieces[0].file = "../x"; }, "not a name in the folder"},
      {[](auto* m) { m->tensors[0].pieces[0].file = ".."; }, "not a name in the folder"},
      {[](auto* m) {
         m->tensors[0].shape = {INT64_MAX, INT64_MAX};
       },
       "impossible shape"},
      {[](auto* m) { m->tensors[1].name = "w"; }, "twice"},
      {[](auto* m) { m->step = -1; }, "negative"},
  };
  for (const auto& [spoil, hint] : cases) {
    CheckpointManifest manifest = Example();
    spoil(&manifest);
    const Status written = WriteManifest(folder.path(), manifest);
    EXPECT_THAT(std::string(ToStd(written.message())), HasSubstr(hint));
    const Status parsed = ParseManifest(ManifestToJson(manifest), "m.json").status();
    EXPECT_THAT(std::string(ToStd(parsed.message())), HasSubstr(hint));
    EXPECT_THAT(std::string(ToStd(parsed.message())), HasSubstr("m.json: "));
  }
  EXPECT_EQ(folder.Count(), 0) << "a bad manifest was committed";
}

TEST(CheckpointManifest, RefusesDamagedText) {
  const std::string good = ManifestToJson(Example());
  // Only the newline at the end may go.
  for (size_t cut = 0; cut + 1 < good.size(); ++cut) {
    EXPECT_FALSE(ParseManifest(good.substr(0, cut), "m").ok()) << cut;
  }
  for (const std::string word : {"format_version", "step", "job", "tokens_seen", "tensors", "dtype",
                                 "shape", "pieces", "file", "key", "start", "size"}) {
    std::string bad = good;
    bad.replace(bad.find("\"" + word + "\""), word.size() + 2, "\"gone\"");
    EXPECT_THAT(std::string(ToStd(ParseManifest(bad, "m").status().message())), HasSubstr(word));
  }
  std::string newer = good;
  newer.replace(newer.find("\"format_version\": 1"), 19, "\"format_version\": 2");
  EXPECT_THAT(std::string(ToStd(ParseManifest(newer, "m").status().message())),
              HasSubstr("format_version 2; this program reads 1"));
}

TEST(Checkpoints, NewestIsTheLastComplete) {
  const TestFolder folder;
  EXPECT_EQ(CheckpointFolderName(10), "step-0000010");
  EXPECT_FALSE(NewestCheckpoint(folder.File("none"))->has_value());
  for (const int64_t step : {9, 10, 100, 12345678}) {
    ASSERT_TRUE(MakeFolders(folder.File(CheckpointFolderName(step))).ok());
  }
  ASSERT_TRUE(MakeFolders(folder.File("step-x")).ok());
  ASSERT_TRUE(MakeFolders(folder.File("other")).ok());
  EXPECT_FALSE(NewestCheckpoint(folder.path())->has_value());
  for (const int64_t step : {9, 100}) {
    ASSERT_TRUE(WriteManifest(folder.File(CheckpointFolderName(step)), Example()).ok());
  }
  const auto all = ListCheckpoints(folder.path());
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 4u);
  EXPECT_EQ((*all)[3].step, 12345678);
  EXPECT_FALSE((*all)[3].complete);
  EXPECT_EQ(NewestCheckpoint(folder.path())->value(), folder.File("step-0000100"));
}

TEST(ReadManifest, SaysThatAFolderIsIncomplete) {
  const TestFolder folder;
  const Status status = ReadManifest(folder.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr("no complete checkpoint"));
}

}  // namespace
}  // namespace trireme
