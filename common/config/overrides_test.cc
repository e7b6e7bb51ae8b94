// `--set` replaces, makes what is missing, and never loses what it does not name.
#include "common/config/overrides.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(ApplyOverride, ReplacesMakesAndKeeps) {
  StatusOr<ConfigNode> root = ReadConfig("a: {b: 1, c: 2}\nl: [{x: 1}, {x: 2}]\n", "f");
  ASSERT_TRUE(root.ok());
  for (const char* text : {"a.b=9", "d.e.f=g=h", "l.1.x=7", "n="}) {
    EXPECT_TRUE(ApplyOverride(text, &*root).ok()) << text;
  }
  EXPECT_EQ(root->Find("a")->Find("b")->text, "9");
  EXPECT_EQ(root->Find("a")->Find("b")->where, "--set a.b");
  EXPECT_EQ(root->Find("a")->Find("c")->text, "2");
  EXPECT_EQ(root->Find("d")->Find("e")->Find("f")->text, "g=h");
  EXPECT_EQ(root->Find("l")->items[0].Find("x")->text, "1");
  EXPECT_EQ(root->Find("l")->items[1].Find("x")->text, "7");
  EXPECT_TRUE(root->Find("n")->is_null());
}

TEST(ApplyOverride, StartsFromAnEmptyFile) {
  ConfigNode root;
  EXPECT_TRUE(ApplyOverride("a.b=[1, 2]", &root).ok());
  EXPECT_EQ(root.Find("a")->Find("b")->items.size(), 2u);
}

TEST(ApplyOverride, RefusesPathsThatLeadNowhere) {
  StatusOr<ConfigNode> root = ReadConfig("a: 1\nl: [1]\n", "f");
  ASSERT_TRUE(root.ok());
  for (const char* bad : {"a", "=1", ".a=1", "a.=1", "a.b=1", "l.1=1", "l.x=1", "a=[", "a=*x"}) {
    EXPECT_EQ(ApplyOverride(bad, &*root).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace trireme
