// Bytes go in and come back, whatever they are.
#include "common/formats/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(ByteTokenizer, RoundTripsEveryByte) {
  const auto tokenizer = MakeTokenizer("bytes");
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ((*tokenizer)->vocab_size(), 256);
  EXPECT_EQ((*tokenizer)->name(), "bytes");
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  std::vector<int32_t> tokens;
  (*tokenizer)->Encode(text, &tokens);
  ASSERT_EQ(tokens.size(), 256u);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(tokens[i], i);
  EXPECT_EQ((*tokenizer)->Decode(tokens), text);
}

TEST(ByteTokenizer, MarksTokensThatDoNotExist) {
  const auto tokenizer = MakeTokenizer("bytes");
  EXPECT_EQ((*tokenizer)->Decode(std::vector<int32_t>{'a', 256, -1}), "a\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(MakeTokenizer, ListsTheKnown) {
  EXPECT_THAT(std::string(ToStd(MakeTokenizer("gpt2").status().message())),
              testing::HasSubstr("\"gpt2\" is not known; known: bytes"));
}

}  // namespace
}  // namespace trireme
