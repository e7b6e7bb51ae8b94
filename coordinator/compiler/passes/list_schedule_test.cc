// Collectives first, readers last, every dependency kept.
#include "coordinator/compiler/passes/list_schedule.h"

#include "coordinator/compiler/passes/test_graph.h"

namespace trireme {
namespace {

std::string Order(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : " ") + node.reason;
  return text;
}

class ListScheduleTest : public testing::Test {
 protected:
  int Value() { return g_.Value({{"batch", 8}}); }
  // A node named `name`.
  int Add(const std::string& name, const std::string& op, std::vector<int> inputs,
          bool async = false) {
    const int out = Value();
    Node& node = g_.Op(op, std::move(inputs), {out});
    node.reason = name;
    node.async = async;
    return out;
  }
  TestGraph g_;
};

TEST_F(ListScheduleTest, CollectivesStartEarlyAndReadersStandLate) {
  const int x = Value();
  const int a = Add("a", "copy", {x});
  Add("b", "copy", {a});
  const int gathered = Add("gather", "all_gather", {x}, true);
  Add("reads", "copy", {gathered});
  Add("c", "copy", {x});
  ListSchedule(g_.graph);
  EXPECT_EQ(Order(g_.graph), "gather a b c reads");
}

// What a collective needs goes before what nobody waits for.
TEST_F(ListScheduleTest, WorkThatLeadsToACollectiveGoesFirst) {
  const int x = Value();
  Add("weight", "copy", {x});
  const int dx = Add("dx", "copy", {x});
  const int reduced = Add("reduce", "reduce_scatter", {dx}, true);
  Add("next", "copy", {reduced});
  ListSchedule(g_.graph);
  EXPECT_EQ(Order(g_.graph), "dx reduce weight next");
}

TEST_F(ListScheduleTest, WritersOfOneValueKeepTheirOrder) {
  const int x = Value();
  const int sum = Value();
  const int late = Add("pass", "permute", {x}, true);
  for (const auto& [name, in] : {std::pair<std::string, int>{"first", late}, {"second", x}}) {
    Node& node = g_.Op("accumulate", {in}, {sum});
    node.reason = name;
    node.accumulate = true;
  }
  ListSchedule(g_.graph);
  EXPECT_EQ(Order(g_.graph), "pass first second");
}

// An update in place waits for those who read the old content.
TEST_F(ListScheduleTest, InPlaceUpdatesFollowReaders) {
  const int x = Value();
  const int y = Add("make", "copy", {x});
  Add("read", "copy", {y});
  const int out = Value();
  Node& update = g_.Op("copy", {y}, {out});
  update.in_place = true;
  update.reason = "update";
  Add("pass", "permute", {out}, true);
  ListSchedule(g_.graph);
  EXPECT_EQ(Order(g_.graph), "make read update pass");
}

}  // namespace
}  // namespace trireme
