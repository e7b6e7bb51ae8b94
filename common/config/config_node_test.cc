// The tree keeps order, places and quoting, and shows values safely.
#include "common/config/config_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(ReadConfig, KeepsPlacesOrderAndQuotes) {
  const StatusOr<ConfigNode> root = ReadConfig("b: 1\na:\n  - \"2\"\n  - {c: ~}\nd:\n", "f");
  ASSERT_TRUE(root.ok()) << root.status();
  ASSERT_EQ(root->entries.size(), 3u);
  EXPECT_EQ(root->entries[0].first, "b");
  const ConfigNode& list = *root->Find("a");
  ASSERT_TRUE(list.is_list());
  EXPECT_TRUE(list.items[0].quoted);
  EXPECT_EQ(list.items[0].where, "f:3");
  EXPECT_TRUE(list.items[1].Find("c")->is_null());
  EXPECT_TRUE(root->Find("d")->is_null());
  EXPECT_EQ(root->Find("d")->where, "f:5");
  EXPECT_EQ(root->Find("x"), nullptr);
}

TEST(ReadConfig, ReadsJsonWithTabsAndEscapes) {
  const StatusOr<ConfigNode> root =
      ReadConfig("{\n\t\"a\": [1, true, null],\n\t\"b\": \"x\\n\\u00e4\\\"\"\n}\n", "f");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->Find("a")->items.size(), 3u);
  EXPECT_TRUE(root->Find("a")->items[2].is_null());
  EXPECT_EQ(root->Find("b")->text, "x\n\xc3\xa4\"");
}

TEST(ReadConfig, RefusesWhatIsNotUtf8) {
  for (const char* bad :
       {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    EXPECT_EQ(ReadConfig(std::string("a: 1\nb: ") + bad, "f").status().message(),
              "f:2: not valid UTF-8; save the file as UTF-8");
  }
  EXPECT_TRUE(ReadConfig("a: \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "f").ok());
}

TEST(ReadConfig, RefusesKeysThatAreNotNames) {
  for (const char* text : {"[a]: 1", "{{a: 1}: 2}", "? [a]\n: 1"}) {
    const StatusOr<ConfigNode> root = ReadConfig(text, "f");
    ASSERT_FALSE(root.ok()) << text;
    EXPECT_THAT(std::string(ToStd(root.status().message())), testing::HasSubstr("f:1: "));
  }
}

TEST(ReadConfig, NamesTheFullPathOfARepeatedKey) {
  const StatusOr<ConfigNode> root = ReadConfig("a:\n  - {}\n  - {b: 1,\n     b: 2}", "f");
  ASSERT_FALSE(root.ok());
  EXPECT_EQ(root.status().message(), "f:4: a.1.b: given twice, first at f:3; keep one of the two");
}

TEST(ShowNode, IsShortAndPrintable) {
  EXPECT_EQ(ShowText("a\n\x01"), "\"a??\"");
  EXPECT_LE(ShowText(std::string(1000, 'x')).size(), 65u);
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "x\xc3\xa4";
  EXPECT_EQ(ShowText(umlauts).back(), '"');
  ConfigNode node;
  EXPECT_EQ(ShowNode(node), "nothing");
  node.kind = ConfigNode::Kind::kScalar;
  node.text = "12";
  EXPECT_EQ(ShowNode(node), "12");
  node.quoted = true;
  EXPECT_EQ(ShowNode(node), "\"12\" in quotes");
}

}  // namespace
}  // namespace trireme
