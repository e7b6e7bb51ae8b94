// Any region of a tensor equals the same region of the whole, however it was cut when saved.
#include "common/formats/checkpoint_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/formats/test_folder.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

// Element (i, j, k) of the saved tensor [4, 6, 5].
float Value(int64_t i, int64_t j, int64_t k) { return static_cast<float>(100 * i + 10 * j + k); }

// Saves it in four files: halves of the first dim times uneven parts of the second.
void Save(const TestFolder& folder) {
  CheckpointManifest manifest;
  ManifestTensor tensor{"t", DType::kFloat32, {4, 6, 5}, {}};
  for (const int64_t i : {0, 2}) {
    for (const int64_t j : {0, 4}) {
      const int64_t width = j == 0 ? 4 : 2;
      std::vector<float> values;
      for (int64_t a = i; a < i + 2; ++a) {
        for (int64_t b = j; b < j + width; ++b) {
          for (int64_t c = 0; c < 5; ++c) values.push_back(Value(a, b, c));
        }
      }
      const std::string name = "p" + std::to_string(i) + std::to_string(j);
      ASSERT_TRUE(WriteSafetensors(
                      folder.File(name),
                      {{"x", DType::kFloat32, {2, width, 5}, {std::as_bytes(std::span(values))}}})
                      .ok());
      tensor.pieces.push_back({name, "x", {i, j, 0}, {2, width, 5}});
    }
  }
  const std::vector<float> seven = {7};
  ASSERT_TRUE(WriteSafetensors(folder.File("s"),
                               {{"s", DType::kFloat32, {}, {std::as_bytes(std::span(seven))}}})
                  .ok());
  manifest.tensors = {tensor, {"s", DType::kFloat32, {}, {{"s", "s", {}, {}}}}};
  ASSERT_TRUE(WriteManifest(folder.path(), manifest).ok());
}

TEST(CheckpointReader, ReadsEveryRegion) {
  const TestFolder folder;
  Save(folder);
  StatusOr<CheckpointReader> reader = CheckpointReader::Open(folder.path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 6; ++j) {
      for (int64_t k = 0; k < 5; k += 2) {
        const std::vector<int64_t> size = {4 - i, 6 - j, 5 - k};
        std::vector<float> out(size[0] * size[1] * size[2], -1);
        ASSERT_TRUE(reader->ReadRegion("t", {i, j, k}, size, out).ok());
        size_t at = 0;
        for (int64_t a = i; a < 4; ++a) {
          for (int64_t b = j; b < 6; ++b) {
            for (int64_t c = k; c < 5; ++c) ASSERT_EQ(out[at++], Value(a, b, c));
          }
        }
      }
    }
  }
  float scalar = 0;
  EXPECT_TRUE(reader->ReadRegion("s", {}, {}, std::span(&scalar, 1)).ok());
  EXPECT_EQ(scalar, 7);
  EXPECT_TRUE(reader->ReadRegion("t", {4, 0, 0}, {0, 6, 5}, {}).ok());
}

TEST(CheckpointReader, NeedsOnlyTheFilesItReads) {
  const TestFolder folder;
  Save(folder);
  std::filesystem::remove(folder.File("p24"));
  StatusOr<CheckpointReader> reader = CheckpointReader::Open(folder.path());
  ASSERT_TRUE(reader.ok());
  std::vector<float> out(2 * 6 * 5);
  EXPECT_TRUE(reader->ReadRegion("t", {0, 0, 0}, {2, 6, 5}, out).ok());
  const Status missing = reader->ReadRegion("t", {2, 0, 0}, {2, 6, 5}, out);
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ToStd(missing.message())), HasSubstr("p24"));
}

TEST(CheckpointReader, RefusesWrongRegionsAndFiles) {
  const TestFolder folder;
  Save(folder);
  StatusOr<CheckpointReader> reader = CheckpointReader::Open(folder.path());
  ASSERT_TRUE(reader.ok());
  std::vector<float> out(5);
  const auto error = [&](const std::string& name, std::vector<int64_t> start,
                         std::vector<int64_t> size) {
    return std::string(ToStd(reader->ReadRegion(name, start, size, out).message()));
  };
  EXPECT_THAT(error("u", {0}, {5}), HasSubstr("no tensor u"));
  EXPECT_THAT(error("t", {0, 0}, {1, 5}), HasSubstr("leaves t [4,6,5]"));
  EXPECT_THAT(error("t", {3, 5, 1}, {1, 1, 5}), HasSubstr("region [1,1,5] at [3,5,1]"));
  EXPECT_THAT(error("t", {-1, 0, 0}, {1, 1, 5}), HasSubstr("leaves"));
  EXPECT_THAT(error("t", {0, 0, 0}, {1, 1, 4}), HasSubstr("room for 5 elements"));
  const std::vector<float> one = {1};
  ASSERT_TRUE(WriteSafetensors(folder.File("p00"),
                               {{"x", DType::kFloat32, {1}, {std::as_bytes(std::span(one))}}})
                  .ok());
  EXPECT_THAT(error("t", {0, 0, 0}, {1, 1, 5}), HasSubstr("but the manifest says float32 [2,4,5]"));
}

}  // namespace
}  // namespace trireme
