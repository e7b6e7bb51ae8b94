// Messages survive any cutting of the stream.
#include "worker/agent/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using ::testing::ElementsAre;

TEST(FrameReader, FindsMessagesHoweverTheStreamIsCut) {
  const std::string stream = Frame("one") + Frame("") + Frame(std::string(300, 'x'));
  for (size_t piece : {1u, 2u, 5u, 1000u}) {
    FrameReader reader;
    for (size_t at = 0; at < stream.size(); at += piece) {
      ASSERT_TRUE(reader.Add(stream.substr(at, piece)).ok());
    }
    EXPECT_THAT(reader.Take(), ElementsAre("one", "", std::string(300, 'x'))) << piece;
    EXPECT_TRUE(reader.Take().empty());
  }
}

TEST(FrameReader, RefusesImpossibleLengths) {
  FrameReader reader;
  EXPECT_EQ(reader.Add("\xff\xff\xff\xff").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(reader.Add(Frame("one")).ok());
}

}  // namespace
}  // namespace trireme
