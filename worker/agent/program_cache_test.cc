// What is fetched, how often, and what is not believed. Each test has its own temporary folder.
#include "worker/agent/program_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/formats/sha256.h"

namespace trireme {
namespace {

class ProgramCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "trireme_cache_XXXXXX");
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  ProgramCache Cache(size_t max_programs = 64) {
    return ProgramCache(
        folder_ + "/programs",
        [this](const std::string&) -> StatusOr<std::string> {
          ++fetches_;
          return answer_;
        },
        max_programs);
  }

  std::string folder_;
  std::string answer_ = "program";
  int fetches_ = 0;
};

TEST_F(ProgramCacheTest, FetchesOnceEvenAcrossRestarts) {
  EXPECT_EQ(*Cache().Get(Sha256Hex("program")), "program");
  EXPECT_EQ(*Cache().Get(Sha256Hex("program")), "program");
  EXPECT_EQ(fetches_, 1);
}

TEST_F(ProgramCacheTest, DoesNotBelieveOtherBytesNorADamagedFile) {
  EXPECT_EQ(Cache().Get(Sha256Hex("other")).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Cache().Get("../../etc/passwd").status().code(), absl::StatusCode::kInvalidArgument);
  const std::string sha256 = Sha256Hex("program");
  ASSERT_TRUE(Cache().Get(sha256).ok());
  std::ofstream(folder_ + "/programs/" + sha256) << "progrem";
  EXPECT_EQ(*Cache().Get(sha256), "program");
  EXPECT_EQ(fetches_, 3);
}

TEST_F(ProgramCacheTest, KeepsOnlyTheNewest) {
  ProgramCache cache = Cache(2);
  for (const char* program : {"a", "b", "c"}) {
    answer_ = program;
    ASSERT_TRUE(cache.Get(Sha256Hex(program)).ok());
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/programs")) {
    files += entry.is_regular_file();
  }
  EXPECT_EQ(files, 2);
}

}  // namespace
}  // namespace trireme
