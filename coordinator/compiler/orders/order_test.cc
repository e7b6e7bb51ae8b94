// The table of orders: names, traits, what is refused, and that every order's schedules are valid
// whatever the sizes.
#include "coordinator/compiler/orders/order.h"

#include <gtest/gtest.h>

#include <random>

#include "common/config/job_spec.h"
#include "coordinator/compiler/orders/testing.h"

namespace trireme {
namespace {

std::string ActionText(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& a : actions) {
    text += std::string(text.empty() ? "" : " ") + std::string(Name(a.phase)) +
            std::to_string(a.microbatch);
  }
  return text;
}

TEST(Order, GpipeAndOneFOneBText) {
  EXPECT_EQ(ActionText(*OrderActions("gpipe", {0, 2, 3})), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(ActionText(*OrderActions("1f1b", {0, 3, 4})), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(ActionText(*OrderActions("1f1b", {1, 3, 4})), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(ActionText(*OrderActions("1f1b", {2, 3, 4})), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(Order, TheJobFileTakesThem) {
  EXPECT_EQ(OrderNames(),
            std::vector<std::string_view>(std::begin(kPipelineOrders), std::end(kPipelineOrders)));
}

TEST(Order, UnknownNamesTheKnown) {
  std::string known = "known: ";
  for (const std::string_view name : OrderNames()) {
    known += (known.back() == ' ' ? "" : ", ") + std::string(name);
  }
  EXPECT_NE(OrderActions("2f2b", {}).status().ToString().find(known), std::string::npos);
  EXPECT_NE(BuildSchedules("2f2b", 2, 2).status().ToString().find(known), std::string::npos);
  EXPECT_NE(FindOrder("2f2b").status().ToString().find(known), std::string::npos);
}

TEST(Order, TraitsPlaceVirtualStages) {
  const OrderTraits loop = *FindOrder("interleaved_1f1b");
  EXPECT_EQ(loop.default_chunks, 2);
  EXPECT_FALSE(loop.splits_weight_grad);
  EXPECT_EQ(VirtualStage(loop, 1, 1, 4), 5);
  const OrderTraits vee = *FindOrder("zero_bubble_v");
  EXPECT_TRUE(vee.splits_weight_grad);
  EXPECT_EQ(VirtualStage(vee, 1, 1, 4), 6);
}

TEST(Order, ChunksOfOrdersWithOne) {
  const Status status = BuildSchedules("1f1b", 2, 4, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("or choose interleaved_1f1b"), std::string::npos) << status;
}

TEST(Order, NothingToDoIsRefused) {
  for (const std::string_view name : OrderNames()) {
    EXPECT_EQ(BuildSchedules(name, 0, 4).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(BuildSchedules(name, 2, 0).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(BuildSchedules(name, 2, 4, -1).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

// BuildSchedules validates; what an order refuses is the request's fault, never ours. Random costs
// must not change that all exchanges complete.
TEST(Order, EveryOrderIsValidAtEverySize) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> seconds(0.1, 3);
  const ScheduleCosts costs = {[&](int32_t, Phase, int32_t) { return seconds(random); },
                               [&](int32_t, int32_t, bool) { return seconds(random); }};
  for (const std::string_view name : OrderNames()) {
    int built = 0;
    for (int p = 1; p <= 8; ++p) {
      for (int m = 1; m <= 16; ++m) {
        for (int chunks = 1; chunks <= 3; ++chunks) {
          const auto schedules = BuildSchedules(name, p, m, chunks);
          if (!schedules.ok()) {
            EXPECT_EQ(schedules.status().code(), absl::StatusCode::kInvalidArgument)
                << schedules.status();
            continue;
          }
          ++built;
          const Timeline timeline = SimulateSchedules(*schedules, costs);
          EXPECT_TRUE(timeline.complete) << name << " " << p << " " << m << " " << chunks;
          for (int s = 0; s < p; ++s) EXPECT_EQ(timeline.peak_slots[s], (*schedules)[s].num_slots);
        }
      }
    }
    EXPECT_GE(built, 40) << name;
  }
}

}  // namespace
}  // namespace trireme
