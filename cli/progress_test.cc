// The JSON keys are promised to scripts; the line is what people watch.
#include "cli/progress.h"

#include <cmath>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

v1::StepMetrics Step() {
  v1::StepMetrics step;
  step.set_step(1240);
  step.set_loss(3.41234);
  step.set_grad_norm(0.8123);
  step.set_learning_rate(9.1e-4);
  step.set_tokens_per_second(12700);
  step.set_duration_s(0.412);
  step.set_ici_bytes(4096);
  step.set_dcn_bytes(512);
  return step;
}

TEST(StepJson, HasThePromisedKeys) {
  EXPECT_EQ(StepJson(Step()),
            R"({"step":1240,"train/loss":3.41234,"grad_norm":0.8123,"optim/learning_rate":0.00091,)"
            R"("throughput/tokens_per_second":12700.0,"throughput/duration":0.412,)"
            R"("communication/ici_bytes":4096,"communication/dcn_bytes":512})");
  v1::StepMetrics lost;
  lost.set_loss(std::nan(""));
  EXPECT_NE(StepJson(lost).find("\"train/loss\":null"), std::string::npos);
}

TEST(StepLine, IsCompact) {
  EXPECT_EQ(StepLine(Step(), 10000),
            "step 1,240/10,000  loss 3.4123  grad_norm 0.812  lr 9.10e-04  12.7k tok/s  412 ms  "
            "eta 1h00m");
  EXPECT_EQ(StepLine(Step(), 1240),
            "step 1,240/1,240  loss 3.4123  grad_norm 0.812  lr 9.10e-04  12.7k tok/s  412 ms");
}

TEST(StepLine, ShowsTheBusiestExpert) {
  v1::StepMetrics step = Step();
  step.mutable_router()->set_load_max_over_mean(1.834);
  const std::string line = StepLine(step, 10000);
  EXPECT_EQ(line,
            "step 1,240/10,000  loss 3.4123  grad_norm 0.812  lr 9.10e-04  load 1.83x  12.7k tok/s  "
            "412 ms  eta 1h00m");
  EXPECT_EQ(line.size(), StepLine(Step(), 10000).size() + 12);
}

TEST(StepJson, HasWhatRoutersDid) {
  v1::StepMetrics step = Step();
  step.mutable_router()->set_assignments(100);
  step.mutable_router()->set_receiver_dropped(25);
  const auto json = nlohmann::json::parse(StepJson(step));
  EXPECT_EQ(json["moe/valid_assignments"], 100);
  EXPECT_EQ(json["train/router/capacity_overflow_rate_mean"], 0.25);
}

TEST(HumanDuration, PicksTheUnit) {
  EXPECT_EQ(HumanDuration(0.412), "412 ms");
  EXPECT_EQ(HumanDuration(3.21), "3.2 s");
  EXPECT_EQ(HumanDuration(65), "1m05s");
  EXPECT_EQ(HumanDuration(3720), "1h02m");
  EXPECT_EQ(HumanDuration(86400 * 3 + 3600 * 4), "3d04h");
  EXPECT_EQ(HumanDuration(std::nan("")), "?");
}

TEST(HumanCount, PicksTheUnit) {
  EXPECT_EQ(HumanCount(950), "950");
  EXPECT_EQ(HumanCount(12700), "12.7k");
  EXPECT_EQ(HumanCount(1270000), "1.27M");
}

TEST(WithCommas, GroupsByThree) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(-1234567), "-1,234,567");
}

}  // namespace
}  // namespace trireme
