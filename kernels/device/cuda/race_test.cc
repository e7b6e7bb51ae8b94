// The thread sanitizer sees the threads of a block as threads: it reports a barrier that is
// missing, at the line that reads too early, and nothing where the barrier stands.
#include <gtest/gtest.h>

#if defined(TRIREME_SIMT_RACE)

#include <array>
#include <cstdio>
#include <string>

namespace trireme {
namespace {

// What the program writes, both streams.
std::string Output(const std::string& argument) {
  const std::string command = std::string(TRIREME_SIMT_RACE) + " " + argument + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (pipe != nullptr && fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    text += buffer.data();
  }
  if (pipe != nullptr) pclose(pipe);
  return text;
}

TEST(SimtRaces, AMissingBarrierIsReported) {
  const std::string with = Output("with-barrier");
  EXPECT_EQ(with, "0 wrong\n");
  const std::string without = Output("without-barrier");
  EXPECT_NE(without.find("data race"), std::string::npos) << without;
  EXPECT_NE(without.find("Reverse"), std::string::npos) << without;
}

}  // namespace
}  // namespace trireme

#endif  // builds with another sanitizer have no such program
