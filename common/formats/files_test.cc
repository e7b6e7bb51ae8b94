// Files appear whole or not at all, and failures name the path.
#include "common/formats/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/formats/test_folder.h"

namespace trireme {
namespace {

TEST(AtomicFileWriter, NothingIsLeftWithoutCommit) {
  const TestFolder folder;
  folder.Write("a", "old");
  {
    StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create(folder.File("a"));
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE(writer->Append("new").ok());
    EXPECT_EQ(folder.Read("a"), "old");
    EXPECT_EQ(folder.Count(), 2);
  }
  EXPECT_EQ(folder.Read("a"), "old");
  EXPECT_EQ(folder.Count(), 1);
}

TEST(AtomicFileWriter, CommitReplacesTheFile) {
  const TestFolder folder;
  folder.Write("a", "old and longer");
  EXPECT_TRUE(WriteFileAtomically(folder.File("a"), "new").ok());
  EXPECT_EQ(folder.Read("a"), "new");
  EXPECT_EQ(folder.Count(), 1);
}

TEST(AtomicFileWriter, NamesTheMissingFolder) {
  const TestFolder folder;
  const Status status = WriteFileAtomically(folder.File("no/such/file"), "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(ToStd(status.message())), testing::HasSubstr("no/such/file"));
  EXPECT_TRUE(MakeFolders(folder.File("no/such")).ok());
  EXPECT_TRUE(WriteFileAtomically(folder.File("no/such/file"), "x").ok());
}

TEST(MappedFile, MapsEmptyMovesAndRefuses) {
  const TestFolder folder;
  folder.Write("empty", "");
  folder.Write("abc", "abc");
  EXPECT_EQ(MappedFile::Open(folder.File("empty"))->data().size(), 0u);
  EXPECT_EQ(MappedFile::Open(folder.File("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(MappedFile::Open(folder.path()).status().code(), absl::StatusCode::kUnavailable);
  StatusOr<MappedFile> file = MappedFile::Open(folder.File("abc"));
  ASSERT_TRUE(file.ok());
  const std::byte* begin = file->data().data();
  const MappedFile moved = *std::move(file);
  EXPECT_EQ(moved.data().data(), begin);
  EXPECT_EQ(moved.data().size(), 3u);
}

TEST(ReadFile, HasALimit) {
  const TestFolder folder;
  folder.Write("abc", "abc");
  EXPECT_EQ(*ReadFile(folder.File("abc"), 3), "abc");
  EXPECT_EQ(ReadFile(folder.File("abc"), 2).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace trireme
