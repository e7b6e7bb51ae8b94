// Element types and dims: names round-trip, sizes are right, text shows padding.
#include <gtest/gtest.h>

#include "common/tensor/dim.h"
#include "common/tensor/dtype.h"

namespace trireme {
namespace {

TEST(DType, NamesRoundTrip) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBFloat16,
                            DType::kFloat16, DType::kInt8}) {
    EXPECT_EQ(*ParseDType(Name(dtype)), dtype);
  }
  EXPECT_FALSE(ParseDType("float8").ok());
  EXPECT_EQ(SizeOf(DType::kBFloat16), 2);
  EXPECT_EQ(SizeOf(DType::kInt8), 1);
  EXPECT_EQ(SafetensorsName(DType::kInt8), "I8");
}

TEST(Dim, TextShowsPadding) {
  const std::vector<Dim> dims = {{"vocab", 65, 66}, {"embed", 8}};
  EXPECT_EQ(ToText(dims), "[vocab 65 (66), embed 8]");
  EXPECT_EQ(FindDim(dims, "embed"), 1);
  EXPECT_EQ(FindDim(dims, "heads"), -1);
}

}  // namespace
}  // namespace trireme
