// The lexer of the lint rules finds what it should, so that the rules mean something.
#include "tests/tidy/source_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using ::testing::ElementsAre;

TEST(Includes, ReadsBothForms) {
  const SourceFile file{"a/b.cc", "#include <vector>\n#include \"a/b.h\"\n// #include \"no.h\"\n"};
  EXPECT_THAT(Includes(file), ElementsAre("vector", "a/b.h"));
  EXPECT_EQ(file.folder(), "a");
  EXPECT_EQ(file.name(), "b.cc");
}

TEST(BlankStringsAndComments, KeepsLinesAndCode) {
  EXPECT_EQ(BlankStringsAndComments("a /* { */ b // {\nc \"{\\\"\" d '{' 1'000"),
            "a         b     \nc       d     1'000");
  EXPECT_EQ(BlankStringsAndComments("x R\"q({)\"\n)q\" y"), "x        \n    y");
}

std::vector<std::string> Heads(const std::string& text) {
  std::vector<std::string> heads;
  for (const Function& function : Functions(text)) {
    heads.push_back(function.head + " " + std::to_string(function.num_lines));
  }
  return heads;
}

TEST(Functions, FindsBodiesAndTheirLength) {
  EXPECT_THAT(Heads("namespace a {\nint F(int b) {\n  if (b) { return 1; }\n  return 2;\n}\n"
                    "class C {\n  int G() const { return 3; }\n};\n}\n"),
              ElementsAre("int F(int b) 4", "int G() const 1"));
}

TEST(Functions, IsNotFooledByTablesAndLambdas) {
  EXPECT_THAT(Heads("const int kTable[] = {\n1,\n2};\nauto f = G(1);\n"
                    "int H() {\n  auto g = [&](int a) { return a; };\n  return g(1);\n}\n"),
              ElementsAre("int H() 4"));
}

}  // namespace
}  // namespace trireme
