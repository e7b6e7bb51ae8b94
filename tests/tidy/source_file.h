// A file of the tree, and what the lint rules ask of it: its lines, includes and functions.
#ifndef TRIREME_TESTS_TIDY_SOURCE_FILE_H_
#define TRIREME_TESTS_TIDY_SOURCE_FILE_H_

#include <string>
#include <string_view>
#include <vector>

namespace trireme {

struct SourceFile {
  std::string path;  // from the root, "common/mesh/mesh.cc"
  std::string text;

  std::string folder() const;     // "common/mesh", "" at the root
  std::string name() const;       // "mesh.cc"
  bool EndsWith(std::string_view suffix) const;
  bool IsCpp() const;             // .h .cc .inc .cu .cuh
  bool IsTest() const;            // x_test.cc, test.cc
};

// Text files of the project under `root`, sorted by path; build outputs and hidden folders are left out, but .ci is in.
std::vector<SourceFile> ReadTree(const std::string& root);

std::vector<std::string> Lines(const std::string& text);

// What is included: "common/base/status.h", "grpcpp/grpcpp.h", "vector".
std::vector<std::string> Includes(const SourceFile& file);

struct Function {
  std::string head;  // the text before its body, on one line
  int first_line = 0;
  int num_lines = 0;  // of the body with its braces
};

// Functions that are not inside others, found by counting braces outside strings and comments.
std::vector<Function> Functions(const std::string& text);

// `text` with comments, strings and characters blanked out; line breaks stay.
std::string BlankStringsAndComments(const std::string& text);

}  // namespace trireme

#endif  // TRIREME_TESTS_TIDY_SOURCE_FILE_H_
