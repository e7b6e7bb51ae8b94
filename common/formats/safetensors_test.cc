// What is written reads back; damaged files are refused by name, wherever they are damaged.
#include "common/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/base/math.h"
#include "common/formats/test_folder.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

std::string LittleEndian(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((value >> (8 * i)) & 255);
  return bytes;
}

std::string FileOf(const std::string& header, const std::string& data) {
  return LittleEndian(header.size()) + header + data;
}

TEST(Safetensors, ReadsBackWhatWasWritten) {
  const TestFolder folder;
  const std::vector<float> first = {1, 2, 3, 4};
  const std::vector<float> second = {5, 6};
  const std::vector<float> one = {7};
  const std::vector<double> wide = {8};
  const std::string path = folder.File("a.safetensors");
  const Status written =
      WriteSafetensors(path,
                       {{"m", DType::kFloat32, {3, 2}, {Bytes(first), Bytes(second)}},
                        {"scalar", DType::kFloat32, {}, {Bytes(one)}},
                        {"none", DType::kFloat32, {0, 5}, {}},
                        {"wide", DType::kFloat64, {1}, {std::as_bytes(std::span(wide))}}},
                       {{"format", "pt"}});
  ASSERT_TRUE(written.ok()) << written;
  const StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->tensors().size(), 4u);
  EXPECT_EQ(file->metadata().at("format"), "pt");
  const StatusOr<StoredTensor> m = file->Find("m");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->shape, (std::vector<int64_t>{3, 2}));
  std::vector<float> values(6);
  std::memcpy(values.data(), m->data.data(), m->data.size());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(file->Find("scalar")->data.size(), 4u);
  EXPECT_EQ(file->Find("none")->data.size(), 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->Find("wide")->data.data()) % 8, 0u);
  EXPECT_EQ(file->Find("x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(folder.Count(), 1);
}

// The bytes that the format's own description gives for one float32 vector of two.
TEST(Safetensors, ReadsTheFormatAsDescribed) {
  const TestFolder folder;
  const std::string data("\0\0\x80\x3f\0\0\0\x40", 8);
  folder.Write("a", FileOf(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   )", data));
  const StatusOr<SafetensorsFile> file = SafetensorsFile::Open(folder.File("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  float values[2];
  std::memcpy(values, file->Find("w")->data.data(), 8);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 2);
}

TEST(Safetensors, WriterRefusesWhatDoesNotAddUp) {
  const TestFolder folder;
  const std::vector<float> two = {1, 2};
  const std::string path = folder.File("a");
  for (const std::vector<TensorToWrite>& bad : std::vector<std::vector<TensorToWrite>>{
           {{"m", DType::kFloat32, {3}, {Bytes(two)}}},
           {{"m", DType::kFloat32, {-2}, {Bytes(two)}}},
           {{"__metadata__", DType::kFloat32, {2}, {Bytes(two)}}},
           {{"m", DType::kFloat32, {2}, {Bytes(two)}}, {"m", DType::kFloat32, {2}, {Bytes(two)}}},
       }) {
    EXPECT_EQ(WriteSafetensors(path, bad).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(folder.Count(), 0);
}

TEST(Safetensors, ReaderRefusesDamageAndNamesTheFile) {
  const TestFolder folder;
  const std::string data(8, 'x');
  const auto entry = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "too few"},
      {"abc", "too few"},
      {LittleEndian(100) + "{}", "cut short"},
      {LittleEndian(UINT64_MAX) + "{}", "cut short"},
      {FileOf("[]", ""), "not a JSON map"},
      {FileOf("{\"a\":", ""), "not a JSON map"},
      {FileOf(R"({"w":1})", data), "expected dtype"},
      {FileOf(entry("F99", "[2]", "[0,8]"), data), "F99"},
      {FileOf(entry("F32", "[2]", "[0,8]"), "1234"), "cut short"},
      {FileOf(entry("F32", "[2]", "[0,8]"), data + "x"), "9 bytes of data"},
      {FileOf(entry("F32", "[2]", "[4,12]"), data + "1234"), "starts at byte 4"},
      {FileOf(entry("F32", "[3]", "[0,8]"), data), "do not fit shape"},
      {FileOf(entry("F32", "[-2]", "[0,8]"), data), "shape"},
      {FileOf(entry("F32", "[2]", "[8,0]"), data), "do not fit"},
      {FileOf(entry("F32", "[2]", "[0,18446744073709551615]"), data), "do not fit"},
      {FileOf(entry("F32", "[4611686018427387904,4]", "[0,0]"), ""), "do not fit"},
      {FileOf(entry("F32", "[2.5]", "[0,8]"), data), "shape"},
      {FileOf(entry("F32", "[2]", "[0]"), data), "two data_offsets"},
      {FileOf(R"({"__metadata__":{"a":1}})", ""), "__metadata__"},
  };
  for (const auto& [bytes, hint] : cases) {
    folder.Write("bad", bytes);
    const Status status = SafetensorsFile::Open(folder.File("bad")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << hint;
    EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr(folder.File("bad")));
    EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr(hint));
  }
}

// Whatever byte of a good file changes, or wherever it ends, opening answers and tensors stay
// inside the file.
TEST(Safetensors, SurvivesEveryFlippedByteAndEveryCut) {
  const TestFolder folder;
  const std::vector<float> values = {1, 2, 3, 4};
  ASSERT_TRUE(
      WriteSafetensors(folder.File("a"), {{"m", DType::kFloat32, {2, 2}, {Bytes(values)}}}).ok());
  const std::string good = folder.Read("a");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << (Mix64(i) % 8)));
    folder.Write("b", bytes);
    const StatusOr<SafetensorsFile> file = SafetensorsFile::Open(folder.File("b"));
    if (file.ok()) {
      for (const auto& [name, tensor] : file->tensors()) EXPECT_LE(tensor.data.size(), 16u) << name;
    }
    folder.Write("b", good.substr(0, i));
    EXPECT_FALSE(SafetensorsFile::Open(folder.File("b")).ok()) << i;
  }
}

}  // namespace
}  // namespace trireme
