// The texts of calls, as they stand in errors.
#include "worker/comm/call.h"

#include "gtest/gtest.h"

namespace trireme {
namespace {

TEST(Call, TextsNameOpNumberGroupBytesAndArithmetic) {
  CallHeader call;
  call.op = CommOp::kAllReduce;
  call.group = 3;
  call.sequence = 17;
  call.bytes = 4096;
  EXPECT_EQ(ShortText(call), "all_reduce #17 of group 3");
  EXPECT_EQ(ToText(call), "all_reduce #17 of group 3 (4096 bytes)");
  call.kind = 1;
  call.dtype = 1;
  EXPECT_EQ(ToText(call), "all_reduce #17 of group 3 (4096 bytes, max float64)");
  call.op = CommOp::kExchange;
  call.tag = 7;
  EXPECT_EQ(ShortText(call), "exchange #17 tag 7");
  EXPECT_EQ(Name(static_cast<CommOp>(99)), "unknown");
}

TEST(Call, RanksAreListed) {
  EXPECT_EQ(RanksText({2}), "rank 2");
  EXPECT_EQ(RanksText({2, 3}), "ranks 2,3");
}

}  // namespace
}  // namespace trireme
