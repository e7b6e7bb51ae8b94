// Programs are started, waited for and stopped; what they say lands in their log.
#include "cli/subprocess.h"

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace trireme {
namespace {

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A log that no earlier run has written to: programs append.
std::string NewLog(const std::string& name) {
  const std::string path = testing::TempDir() + "/" + name;
  std::filesystem::remove(path);
  return path;
}

TEST(Subprocess, GivesExitCodeAndLog) {
  const std::string log = NewLog("subprocess.log");
  auto process = Subprocess::Start("/bin/sh", {"-c", "echo out; echo err >&2; exit 3"}, {log});
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(process->Wait(), 3);
  EXPECT_FALSE(process->running());
  EXPECT_EQ(ReadAll(log), "out\nerr\n");
}

TEST(Subprocess, KeepsErrorsOutOfTheLogWhenTold) {
  SubprocessOptions options;
  options.log_file = NewLog("subprocess_out.log");
  options.log_errors = false;
  auto process = Subprocess::Start("/bin/sh", {"-c", "echo out; echo err >&2"}, options);
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->Wait(), 0);
  EXPECT_EQ(ReadAll(options.log_file), "out\n");
}

TEST(Subprocess, StopIsGentleFirst) {
  auto process = Subprocess::Start("/bin/sleep", {"1000"}, {});
  ASSERT_TRUE(process.ok());
  EXPECT_TRUE(process->running());
  process->Stop(10000);
  EXPECT_EQ(process->Wait(), 128 + SIGTERM);
}

TEST(Subprocess, StopIsHardWhenIgnored) {
  const std::string log = NewLog("subprocess_hard.log");
  auto process = Subprocess::Start(
      "/bin/sh", {"-c", "trap '' TERM; echo ready; while :; do :; done"}, {log});
  ASSERT_TRUE(process.ok());
  while (ReadAll(log).empty()) sched_yield();
  process->Stop(50);
  EXPECT_EQ(process->Wait(), 128 + SIGKILL);
}

TEST(Subprocess, NamesAProgramThatIsNotThere) {
  const auto process = Subprocess::Start("/nowhere/program", {}, {});
  EXPECT_EQ(process.status().message(),
            "/nowhere/program is not a program that can be started: No such file or directory");
}

}  // namespace
}  // namespace trireme
