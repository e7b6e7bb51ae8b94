// REFERENCE.md is what the table says now. TRIREME_UPDATE_GOLDEN=1 rewrites it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "common/config/keys.h"
#include "common/config/parse.h"

namespace trireme {
namespace {

constexpr char kPath[] = "common/config/REFERENCE.md";

TEST(JobReferencePage, FileIsUpToDate) {
  const std::string page = JobReferencePage();
  if (std::getenv("TRIREME_UPDATE_GOLDEN") != nullptr) std::ofstream(kPath) << page;
  std::ifstream file(kPath);
  ASSERT_TRUE(file.good()) << kPath << ": not found; run the tests in the root of the repository";
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), page) << "run this test once with TRIREME_UPDATE_GOLDEN=1";
}

TEST(JobReferencePage, StatesWhatTheIssuesOfTrainingTurnOn) {
  const std::string page = JobReferencePage();
  for (const std::string_view words :
       {"Weight-decay mask", "epsilon 1e-8", "standard deviation `model.initializer_range`",
        "sqrt(2 * num_hidden_layers)", "Only float32 is accepted now", "Parallelism short forms"}) {
    EXPECT_THAT(page, testing::HasSubstr(std::string(words)));
  }
}

TEST(JobReferencePage, ExampleInItParses) {
  const std::string page = JobReferencePage();
  const size_t begin = page.find("```yaml\n") + 8;
  const StatusOr<JobSpec> spec =
      ParseJob(page.substr(begin, page.find("```", begin) - begin), "example");
  EXPECT_TRUE(spec.ok()) << spec.status();
}

TEST(JobReferencePage, ExamplesInTheRepositoryParse) {
  std::set<std::string> types;
  for (const auto& entry : std::filesystem::directory_iterator("deploy/examples")) {
    std::ifstream file(entry.path());
    ASSERT_TRUE(file.good()) << "run the tests in the root of the repository";
    std::stringstream text;
    text << file.rdbuf();
    const StatusOr<JobSpec> spec = ParseJob(text.str(), entry.path().filename().string());
    EXPECT_TRUE(spec.ok()) << spec.status();
    if (spec.ok()) types.insert(spec->model.type);
  }
  EXPECT_THAT(types, testing::IsSupersetOf({"llama", "mixtral", "grug_moe", "deepseek_moe"}));
}

}  // namespace
}  // namespace trireme
