// fill: scalars of every type, any shape that the compiler gives, errors.
#include <gtest/gtest.h>

#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase Case(double value, const std::string& dtype) {
  return {.op = "fill", .attrs = {{"value", value}, {"dtype", dtype}}};
}

TEST(Fill, IsAScalarOfTheType) {
  for (const std::string dtype : {"float32", "float64", "int32"}) {
    const OpCase c = Case(-2.0, dtype);
    const HostTensor y = RunOp(c, {})[0];
    EXPECT_EQ(y.count(), 1);
    EXPECT_EQ(Name(y.dtype()), dtype);
    EXPECT_EQ(y.Get(0), -2);
    CheckCpuMatchesReference(c, 0);
  }
}

TEST(Fill, FillsAnyShape) {
  const OpCase c = Case(0.25, "float32");
  for (const bool cpu : {false, true}) {
    std::vector<HostTensor> outputs{HostTensor(DType::kFloat32, {3, 35})};
    RunInto(c, c.attrs, {}, {.cpu = cpu, .num_threads = 2}, outputs);
    EXPECT_EQ(outputs[0].Values(), std::vector<double>(105, 0.25)) << cpu;
  }
}

TEST(Fill, RefusesTypesThatItCannotWrite) {
  ExpectInferError(Case(1, "bfloat16"), "can be float32, float64 or int32");
}

}  // namespace
}  // namespace trireme
