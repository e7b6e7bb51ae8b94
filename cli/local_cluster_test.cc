// What a cluster of stand-in programs does when they do not: errors carry the program's own words, nothing is left.
// Real clusters are started by tests/e2e.
#include "cli/local_cluster.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/job_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

void WriteProgram(const std::string& path, const std::string& body) {
  std::ofstream(path) << "#!/bin/sh\n" << body;
  chmod(path.c_str(), 0755);
}

std::string FolderWith(const std::string& name, const std::string& coordinator,
                       const std::string& worker) {
  const std::string folder = testing::TempDir() + "/" + name;
  fs::remove_all(folder);  // of a run that was killed
  fs::create_directories(folder + "/tmp");
  WriteProgram(folder + "/trireme-coordinator", coordinator);
  WriteProgram(folder + "/trireme-worker", worker);
  setenv("TMPDIR", (folder + "/tmp").c_str(), 1);
  return folder;
}

// Writes an address where it was told to, then stays.
constexpr char kOpensPort[] =
    "for a; do case $a in --port-file=*) echo 127.0.0.1:1 > ${a#--port-file=};; esac; done\n"
    "exec sleep 1000\n";

TEST(LocalCluster, CarriesTheWordsOfACoordinatorThatEnds) {
  const std::string folder = FolderWith("cluster_dead", "echo cannot bind >&2; exit 4\n", "");
  const auto cluster = LocalCluster::Start(*LocalTopology(1, 1, 1), folder);
  EXPECT_EQ(cluster.status().message(),
            "coordinator ended with exit code 4:\n    cannot bind\n");
  EXPECT_TRUE(fs::is_empty(folder + "/tmp"));
}

TEST(LocalCluster, CarriesTheWordsOfAWorkerThatEnds) {
  const std::string folder = FolderWith("cluster_worker", kOpensPort, "echo no device; exit 1\n");
  {
    const auto cluster = LocalCluster::Start(*LocalTopology(2, 1, 1), folder);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ((*cluster)->address(), "127.0.0.1:1");
    Client client("127.0.0.1:1");
    Status status;
    do {
      status = (*cluster)->WaitUntilReady(client, 10, [] { return false; });
    } while (status.code() == absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("ended with exit code 1:\n    no device"));
  }
  EXPECT_TRUE(fs::is_empty(folder + "/tmp"));
}

TEST(LocalCluster, NamesAMissingProgram) {
  const auto cluster = LocalCluster::Start(*LocalTopology(1, 1, 1), "/nowhere");
  EXPECT_THAT(std::string(cluster.status().message()),
              HasSubstr("/nowhere/trireme-coordinator is not a program"));
}

}  // namespace
}  // namespace trireme
