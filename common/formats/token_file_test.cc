// Token files equal their texts, are made once, made anew when the text changes, and refused when
// damaged.
#include "common/formats/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/formats/test_folder.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

// Gives every character the token 70000 + its byte, to need 32 bits, and must not be cut.
class WideTokenizer : public Tokenizer {
 public:
  std::string_view name() const override { return "wide"; }
  int64_t vocab_size() const override { return 70256; }
  bool cuts_anywhere() const override { return false; }
  void Encode(std::string_view text, std::vector<int32_t>* tokens) const override {
    for (const char c : text) tokens->push_back(70000 + static_cast<unsigned char>(c));
  }
  std::string Decode(std::span<const int32_t>) const override { return ""; }
};

std::vector<int32_t> ReadAll(const TokenFile& file) {
  std::vector<int32_t> tokens(file.size());
  file.Read(0, file.size(), tokens.data());
  return tokens;
}

TEST(TokenFile, HoldsTheTokensOfTheText) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 3000000; ++i) text += static_cast<char>(i * 7 % 256);
  folder.Write("t.txt", text);
  const auto bytes = MakeTokenizer("bytes");
  const StatusOr<TokenFile> file = TokenFile::OpenText(folder.File("t.txt"), **bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->path(), folder.File("t.txt.bytes.tokens"));
  ASSERT_EQ(file->size(), 3000000);
  const std::vector<int32_t> tokens = ReadAll(*file);
  for (size_t i = 0; i < text.size(); ++i) {
    ASSERT_EQ(tokens[i], static_cast<unsigned char>(text[i])) << i;
  }
  const StatusOr<TokenFile> wide = TokenFile::OpenText(folder.File("t.txt"), WideTokenizer());
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ(ReadAll(*wide)[1], 70007);
  EXPECT_EQ(folder.Count(), 3);
}

TEST(TokenFile, IsMadeAnewOnlyWhenTheTextChanges) {
  const TestFolder folder;
  const auto bytes = MakeTokenizer("bytes");
  const auto open = [&] { return TokenFile::OpenText(folder.File("t"), **bytes); };
  folder.Write("t", "abc");
  const auto time = std::filesystem::last_write_time(folder.File("t"));
  ASSERT_TRUE(open().ok());
  // A mark in the tokens survives as long as the file is reused.
  std::string marked = folder.Read("t.bytes.tokens");
  marked[48] = 'X';
  folder.Write("t.bytes.tokens", marked);
  EXPECT_EQ(ReadAll(*open())[0], 'X');
  folder.Write("t", "abcd");
  EXPECT_EQ(open()->size(), 4);
  EXPECT_EQ(ReadAll(*open())[0], 'a');
  folder.Write("t", "wxyz");  // the same size at another time
  std::filesystem::last_write_time(folder.File("t"), time + std::chrono::seconds(5));
  EXPECT_EQ(ReadAll(*open())[0], 'w');
}

TEST(TokenFile, DamagedCacheIsMadeAnewAndDamagedFilesAreRefused) {
  const TestFolder folder;
  const auto bytes = MakeTokenizer("bytes");
  folder.Write("t", "abc");
  ASSERT_TRUE(TokenFile::OpenText(folder.File("t"), **bytes).ok());
  const std::string good = folder.Read("t.bytes.tokens");
  for (size_t cut = 0; cut < good.size(); ++cut) {
    folder.Write("x", good.substr(0, cut));
    const Status status = TokenFile::Open(folder.File("x")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << cut;
    EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr(folder.File("x")));
  }
  std::string other = good;
  other[0] = 'x';
  folder.Write("x", other);
  EXPECT_THAT(std::string(ToStd(TokenFile::Open(folder.File("x")).status().message())),
              HasSubstr("not a token file"));
  folder.Write("t.bytes.tokens", good.substr(0, 50));
  const StatusOr<TokenFile> again = TokenFile::OpenText(folder.File("t"), **bytes);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->size(), 3);
}

TEST(TokenFile, NamesTextsThatAreMissingOrEmpty) {
  const TestFolder folder;
  const auto bytes = MakeTokenizer("bytes");
  const Status missing = TokenFile::OpenText(folder.File("no"), **bytes).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ToStd(missing.message())), HasSubstr(folder.File("no")));
  folder.Write("t", "");
  EXPECT_THAT(std::string(ToStd(TokenFile::OpenText(folder.File("t"), **bytes).status().message())),
              HasSubstr("empty"));
}

TEST(TokenFile, UsesTheCacheFolder) {
  const TestFolder folder;
  const TestFolder cache;
  folder.Write("t", "abc");
  const auto bytes = MakeTokenizer("bytes");
  const auto file = TokenFile::OpenText(folder.File("t"), **bytes, cache.File("deep/er"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(folder.Count(), 1);
  EXPECT_THAT(file->path(), testing::StartsWith(cache.File("deep/er/t.")));
  EXPECT_NE(TokenFilePath("/a/t", "bytes", "/c"), TokenFilePath("/b/t", "bytes", "/c"));
}

TEST(TokenCorpus, ReadsAcrossFiles) {
  const TestFolder folder;
  folder.Write("a", "abc");
  folder.Write("b", "d");
  folder.Write("c", "efgh");
  const auto bytes = MakeTokenizer("bytes");
  const auto corpus =
      TokenCorpus::Open({folder.File("a"), folder.File("b"), folder.File("c")}, **bytes);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  ASSERT_EQ(corpus->size(), 8);
  for (int64_t start = 0; start <= 8; ++start) {
    for (int64_t count = 0; start + count <= 8; ++count) {
      std::vector<int32_t> tokens(count);
      corpus->Read(start, count, tokens.data());
      EXPECT_EQ((*bytes)->Decode(tokens), std::string("abcdefgh").substr(start, count));
    }
  }
  EXPECT_DEATH(corpus->Read(7, 2, nullptr), "of 8");
}

}  // namespace
}  // namespace trireme
