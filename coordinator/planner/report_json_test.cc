// The JSON of a plan is what scripts read: its keys and types are promised.
#include <chrono>

#include "coordinator/planner/fake_plan.h"
#include "coordinator/planner/report.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

const DeviceKind kCpu{"cpu", 0, 0, ""};

TEST(PlanToJson, HasThePromisedKeys) {
  const Json json = Json::parse(PlanToJson(FakePlan(), kCpu));
  EXPECT_EQ(json["job"], "tiny");
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["mesh"]["axes"].dump(),
            R"([{"name":"stage","size":2,"fabric":"dcn"},{"name":"model","size":2,"fabric":"ici"}])");
  EXPECT_EQ(json["ranks"].size(), 4u);
  EXPECT_EQ(json["ranks"][3].dump(),
            R"({"rank":3,"host":"host-1","device":1,"coordinates":{"stage":1,"model":1},"stage":1})");
  EXPECT_EQ(
      json["parameters"][0].dump(),
      R"({"name":"wte","shape":[64,32],"spec":"[mlp/model, embed]","local_shape":[32,32],"slices":2,"stage":0})");
  EXPECT_EQ(
      json["memory"][2].dump(),
      R"({"rank":2,"params":4096,"grads":4096,"optimizer":8192,"activations":3072,"total":19456,"reserve":1024})");
  EXPECT_EQ(
      json["collectives"][0].dump(),
      R"j({"op":"all_reduce","axes":["model"],"fabric":"ici","bytes_per_step":65536,"count_per_step":4,"tensor":"attention out","reason":"heads are split over model (shared_mapping heads: model)","stage":0,"hidden_s":0.0,"exposed_s":0.0})j");
  EXPECT_EQ(json["reasons"][0]["code"], "VOCAB_PADDED");
}

TEST(PlanToJson, HasThePrediction) {
  Plan plan = FakePlan();
  EXPECT_EQ(Json::parse(PlanToJson(plan, kCpu))["prediction"]["step_s"], 0.0);
  plan.prediction = FakePrediction();
  const Json json = Json::parse(PlanToJson(plan, kCpu))["prediction"];
  EXPECT_EQ(json["step_s"], 0.033);
  EXPECT_DOUBLE_EQ(json["tokens_per_s"].get<double>(), 2048 / 0.033);
  EXPECT_EQ(json["bubble"], 2.0 / 33);
  EXPECT_EQ(json["source"], "uncalibrated");
  EXPECT_EQ(
      json["stages"][1].dump(),
      R"({"stage":1,"busy_s":0.031,"compute_s":0.028,"exposed_s":0.003,"hidden_s":0.004,"sends_s":0.0,"waits_s":0.002})");
  EXPECT_EQ(json["phases"].size(), 6u);
  EXPECT_EQ(json["phases"][4].dump(), R"({"stage":1,"phase":"B","chunk":0,"seconds":0.02})");
}

TEST(PlanToJson, SaysWhenItDoesNotFit) {
  const Json json = Json::parse(PlanToJson(FakePlan(), {"tiny-gpu", 8192, 1024, ""}));
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["device"].dump(), R"({"name":"tiny-gpu","memory":8192,"reserve":1024})");
}

TEST(PlanToJson, QuotesWhateverNamesHold) {
  Plan plan = FakePlan();
  plan.ranks[0].host = "a\"b\n\xff";
  plan.reasons[0].text = "tab\there";
  const Json json = Json::parse(PlanToJson(plan, kCpu));
  EXPECT_EQ(json["ranks"][0]["host"], "a\"b\n\xef\xbf\xbd");
  EXPECT_EQ(json["reasons"][0]["text"], "tab\there");
}

TEST(PlanToJson, TakesLessThanHalfASecondFor16384Ranks) {
  Plan plan = FakePlan();
  auto mesh = Mesh::Create({{"stage", 2, Fabric::kDcn}, {"model", 8192, Fabric::kIci}});
  ASSERT_TRUE(mesh.ok());
  plan.mesh = *std::move(mesh);
  plan.ranks.clear();
  for (int64_t rank = 0; rank < plan.mesh.num_ranks(); ++rank) {
    const std::vector<int64_t> coordinates = plan.mesh.Coordinates(rank);
    plan.ranks.push_back({rank, "host-" + std::to_string(rank / 8), static_cast<int32_t>(rank % 8),
                          coordinates, static_cast<int32_t>(coordinates[0])});
  }
  const auto start = std::chrono::steady_clock::now();
  const std::string text = PlanToJson(plan, kCpu);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 0.5);
  EXPECT_EQ(Json::parse(text)["ranks"].size(), 16384u);
}

}  // namespace
}  // namespace trireme
