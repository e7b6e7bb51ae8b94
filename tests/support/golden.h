// Compares text with a committed file, so that a change of what the compiler makes shows as a
// difference in review.
#ifndef TRIREME_TESTS_SUPPORT_GOLDEN_H_
#define TRIREME_TESTS_SUPPORT_GOLDEN_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace trireme {

// Expects that `text` equals tests/golden/plans/`name`.txt, read from the repository root (the
// working directory of tests). With TRIREME_UPDATE_GOLDEN=1 in the environment the file is written
// instead.
inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = "tests/golden/plans/" + name + ".txt";
  if (const char* update = std::getenv("TRIREME_UPDATE_GOLDEN");
      update != nullptr && std::string(update) == "1") {
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good())
      << path << " is missing; run from the repository root, or with TRIREME_UPDATE_GOLDEN=1";
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(golden.str(), text)
      << path << " differs; if that is meant, run with TRIREME_UPDATE_GOLDEN=1 and review";
}

}  // namespace trireme

#endif  // TRIREME_TESTS_SUPPORT_GOLDEN_H_
