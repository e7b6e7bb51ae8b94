// The table of keys: every row is complete, no path is given twice, and what a row writes it reads
// back.
#include "common/config/keys.h"

#include <gtest/gtest.h>

#include <set>

namespace trireme {
namespace {

TEST(JobKeys, RowsAreCompleteAndUnique) {
  std::set<std::string> paths;
  for (const JobKey& key : JobKeys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.type.empty()) << key.path;
    EXPECT_FALSE(key.meaning.empty()) << key.path;
    if (key.read_short_form) {
      EXPECT_TRUE(!key.read && !key.write && !key.default_text.empty()) << key.path;
    } else {
      EXPECT_TRUE(key.read && key.write) << key.path;
    }
    EXPECT_EQ(key.meaning.find('|'), std::string::npos) << key.path << " would break the page";
    EXPECT_EQ(key.type.find('|'), std::string::npos) << key.path << " would break the page";
  }
  for (const char* path : {"name", "model.num_experts", "mesh.reduce", "zero.stage",
                           "network.dcn.mbit_per_s", "checkpoint.load"}) {
    EXPECT_EQ(paths.count(path), 1u) << path;
  }
}

// A default that a row refuses would be a job nobody can write down.
TEST(JobKeys, DefaultsReadBackUnchanged) {
  for (const JobKey& key : JobKeys()) {
    if (key.required || !key.default_text.empty()) continue;
    const std::string text = key.write(JobSpec()).dump();
    const StatusOr<ConfigNode> node = ReadConfig(text, "default");
    ASSERT_TRUE(node.ok()) << key.path << node.status();
    JobSpec spec;
    const Status read = key.read(*node, key.path, &spec);
    EXPECT_TRUE(read.ok()) << read;
    EXPECT_EQ(spec, JobSpec()) << key.path << " " << text;
  }
}

}  // namespace
}  // namespace trireme
