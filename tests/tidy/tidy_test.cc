// Lints the tree as a test: who may include whom, how long files and functions may be, a test beside every source, and
// how text is written. DESIGN.md section 8 and CONTRIBUTING.md are the words to these rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/tidy/source_file.h"

namespace trireme {
namespace {

constexpr size_t kMaxFileLines = 600;
constexpr int kMaxFunctionLines = 70;
constexpr size_t kMaxColumns = 120;

const std::vector<SourceFile>& Tree() {
  static const auto* const tree = new std::vector<SourceFile>(ReadTree(TRIREME_SOURCE_DIR));
  return *tree;
}

bool StartsWithAny(const std::string& text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return text.rfind(prefix, 0) == 0; });
}

TEST(Tidy, ReadsTheTree) {
  EXPECT_GT(Tree().size(), 200u);
  EXPECT_TRUE(std::any_of(Tree().begin(), Tree().end(), [](const SourceFile& file) {
    return file.path == "tests/tidy/tidy_test.cc";
  }));
}

// ---- who may include whom

// Files below `area` may include our headers below `allowed` only.
struct Layer {
  std::string area;
  std::vector<std::string> allowed;
};

const std::vector<Layer>& Layers() {
  static const auto* const layers = new std::vector<Layer>{
      {"common/", {"common/"}},
      {"kernels/", {"common/", "kernels/"}},
      {"coordinator/",
       {"common/", "coordinator/", "kernels/ops/rule.h", "kernels/ops/graph_builder.h",
        "kernels/ops/step_control/layout.h", "kernels/ops/quantize_blocks/layout.h",
        "kernels/ops/router_stats/layout.h"}},
      {"worker/", {"common/", "kernels/", "worker/"}},
      {"cli/",
       {"common/", "cli/", "coordinator/compiler/", "coordinator/planner/", "kernels/ops/rule.h"}},
  };
  return *layers;
}

TEST(Tidy, EveryAreaIncludesOnlyWhatItMay) {
  const std::vector<std::string> ours = {"common/", "kernels/", "coordinator/",
                                         "worker/", "cli/",     "tests/"};
  for (const SourceFile& file : Tree()) {
    for (const Layer& layer : Layers()) {
      if (!file.IsCpp() || file.path.rfind(layer.area, 0) != 0) continue;
      for (const std::string& include : Includes(file)) {
        const bool is_ours = StartsWithAny(include, ours);
        const bool for_tests = file.IsTest() && include.rfind("tests/support/", 0) == 0;
        EXPECT_TRUE(!is_ours || for_tests || StartsWithAny(include, layer.allowed))
            << file.path << " includes " << include << ", which " << layer.area << " may not";
      }
    }
  }
}

// Headers of a library, and the only places that may include them.
struct Reserved {
  std::vector<std::string> headers;
  std::vector<std::string> places;
};

const std::vector<Reserved>& ReservedHeaders() {
  static const auto* const reserved = new std::vector<Reserved>{
      {{"grpc/", "grpcpp/"}, {"coordinator/service/", "worker/agent/", "cli/", "coordinator/main.cc",
                              "worker/main.cc", "tests/"}},
      {{"trireme/v1/", "google/protobuf/"},
       {"common/plan/wire", "coordinator/jobs/", "coordinator/service/", "worker/agent/",
        "worker/rank/", "worker/main.cc", "cli/", "tests/"}},
      {{"dnnl", "oneapi/"}, {"kernels/"}},
      {{"sqlite3.h"}, {"coordinator/jobs/"}},
      {{"yaml-cpp/"}, {"common/config/"}},
      {{"openssl/"}, {"common/formats/"}},
      {{"nccl.h"}, {"worker/comm/communicator_nccl.cc"}},
      {{"cuda", "cublas"}, {"kernels/", "worker/comm/communicator_nccl.cc"}},
  };
  return *reserved;
}

TEST(Tidy, LibrariesStayInTheirPlaces) {
  for (const SourceFile& file : Tree()) {
    if (!file.IsCpp()) continue;
    for (const std::string& include : Includes(file)) {
      for (const Reserved& reserved : ReservedHeaders()) {
        EXPECT_TRUE(!StartsWithAny(include, reserved.headers) ||
                    StartsWithAny(file.path, reserved.places))
            << file.path << " includes " << include << ", which has its own place";
      }
      const bool is_service = include.find(".grpc.pb.h") != std::string::npos;
      EXPECT_TRUE(!is_service || StartsWithAny(file.path, ReservedHeaders()[0].places))
          << file.path << " includes " << include << "; gRPC is for the rim";
    }
  }
}

// Folders form layers: none reaches itself through others.
TEST(Tidy, FoldersDoNotIncludeEachOtherInACircle) {
  std::map<std::string, std::set<std::string>> edges;
  for (const SourceFile& file : Tree()) {
    if (!file.IsCpp() || file.IsTest() || file.name() == "main.cc") continue;
    for (const std::string& include : Includes(file)) {
      const size_t slash = include.rfind('/');
      if (slash == std::string::npos) continue;
      const std::string folder = include.substr(0, slash);
      if (folder != file.folder()) edges[file.folder()].insert(folder);
    }
  }
  for (const auto& [start, unused] : edges) {
    std::vector<std::string> waiting = {start};
    std::set<std::string> seen;
    while (!waiting.empty()) {
      const std::string folder = waiting.back();
      waiting.pop_back();
      for (const std::string& next : edges[folder]) {
        if (next == start) ADD_FAILURE() << start << " reaches itself through " << folder;
        if (seen.insert(next).second && edges.count(next) > 0) waiting.push_back(next);
      }
    }
  }
}

// ---- sizes

TEST(Tidy, FilesAreShort) {
  for (const SourceFile& file : Tree()) {
    if (!file.IsCpp()) continue;
    EXPECT_LE(Lines(file.text).size(), kMaxFileLines) << file.path;
  }
}

// Tables of cases in tests are data, however long.
TEST(Tidy, FunctionsAreShort) {
  for (const SourceFile& file : Tree()) {
    if (!file.IsCpp() || file.IsTest()) continue;
    for (const Function& function : Functions(file.text)) {
      EXPECT_LE(function.num_lines, kMaxFunctionLines)
          << file.path << ":" << function.first_line << " " << function.head;
    }
  }
}

// ---- tests

// Sources (or whole folders) without tests of their own, and why.
const std::map<std::string, std::string>& UntestedReasons() {
  static const auto* const reasons = new std::map<std::string, std::string>{
      {"cli/commands/command_table.cc", "a table; commands_test.cc walks it"},
      {"cli/main.cc", "tests/e2e runs the program"},
      {"coordinator/main.cc", "tests/e2e runs the program"},
      {"worker/main.cc", "tests/e2e runs the program"},
      {"cli/testing/fake_coordinator.cc", "made for tests, used by them"},
      {"cmake/pch.cc", "empty; it carries the precompiled headers"},
      {"common/config/keys_experts.cc",
       "rows of the table that experts_test.cc and keys_test.cc walk"},
      {"common/config/keys_mesh.cc", "rows of the table that parse_test.cc and keys_test.cc walk"},
      {"common/config/keys_model.cc", "rows of the table that parse_test.cc and keys_test.cc walk"},
      {"common/config/keys_parallel.cc",
       "rows of the table that parse_test.cc and keys_test.cc walk"},
      {"common/config/keys_train.cc", "rows of the table that parse_test.cc and keys_test.cc walk"},
      {"kernels/device/cuda/race_main.cc", "a program for race_test.cc beside it"},
      {"kernels/ops/kernel_table.cc", "a table; the test of every op looks its kernels up"},
      {"kernels/ops/rule_table.cc", "a table; the test of every op looks its rules up"},
      {"tests/bench/", "measures; what it runs is tested where it lives"},
      {"tests/support/", "used by the tests in tests/"},
      {"tests/numerics/", "cases and helpers of the tests beside them"},
      {"tests/e2e/", "helpers of the tests beside them"},
  };
  return *reasons;
}

bool HasReason(const SourceFile& file) {
  return std::any_of(UntestedReasons().begin(), UntestedReasons().end(), [&](const auto& reason) {
    return file.path.rfind(reason.first, 0) == 0;
  });
}

TEST(Tidy, EverySourceHasATestBesideItOrAReason) {
  std::set<std::string> paths;
  for (const SourceFile& file : Tree()) paths.insert(file.path);
  for (const SourceFile& file : Tree()) {
    if (!file.EndsWith(".cc") || file.IsTest() || HasReason(file)) continue;
    const std::string stem = file.path.substr(0, file.path.size() - 3);
    const std::string folder_name = file.folder().substr(file.folder().rfind('/') + 1);
    const bool tested = paths.count(stem + "_test.cc") > 0 ||
                        paths.count(file.folder() + "/test.cc") > 0 ||
                        paths.count(file.folder() + "/" + folder_name + "_test.cc") > 0;
    EXPECT_TRUE(tested) << file.path << " has neither " << stem
                        << "_test.cc nor a reason in tests/tidy/tidy_test.cc";
  }
  for (const auto& [path, reason] : UntestedReasons()) {
    const auto first = paths.lower_bound(path);
    EXPECT_TRUE(first != paths.end() && first->rfind(path, 0) == 0)
        << path << " is gone; drop its reason";
  }
}

// ---- text

// Lines may be longer where they hold a string: breaking it would only hide it from a search.
bool MayBeLong(const SourceFile& file, const std::string& line, const std::string& blanked) {
  if (!file.IsCpp() || file.IsTest() || line.find('"') != std::string::npos) return true;
  const bool is_literal = blanked.find_first_not_of(' ') == std::string::npos;
  return is_literal && line.find("//") == std::string::npos;
}

TEST(Tidy, TextIsPlain) {
  const std::vector<std::string> marks = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                          std::string("XX") + "X:"};
  for (const SourceFile& file : Tree()) {
    size_t number = 0;
    const std::vector<std::string> blanked = Lines(BlankStringsAndComments(file.text));
    for (const std::string& line : Lines(file.text)) {
      const std::string where = file.path + ":" + std::to_string(++number);
      EXPECT_TRUE(std::all_of(line.begin(), line.end(),
                              [](char c) { return (c >= 32 && c < 127); }))
          << where << ": only printable ASCII";
      EXPECT_TRUE(line.empty() || line.back() != ' ') << where << ": trailing space";
      EXPECT_TRUE(line.size() <= kMaxColumns || MayBeLong(file, line, blanked[number - 1]))
          << where << ": " << line.size() << " columns";
      for (const std::string& mark : marks) {
        EXPECT_EQ(line.find(mark), std::string::npos) << where << ": open ends are issues, not marks";
      }
    }
    EXPECT_TRUE(file.text.empty() || file.text.back() == '\n') << file.path << ": no last line break";
  }
}

TEST(Tidy, FilesSayWhatTheyAreFor) {
  for (const SourceFile& file : Tree()) {
    if (!file.IsCpp()) continue;
    EXPECT_EQ(file.text.rfind("// ", 0), 0u) << file.path << " starts without a comment";
  }
}

TEST(Tidy, GuardsAreNamedAfterTheirFile) {
  for (const SourceFile& file : Tree()) {
    if (!file.EndsWith(".h")) continue;
    std::string guard = "TRIREME_" + file.path + "_";
    std::transform(guard.begin(), guard.end(), guard.begin(), [](unsigned char c) {
      return std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_';
    });
    EXPECT_NE(file.text.find("#ifndef " + guard + "\n#define " + guard + "\n"), std::string::npos)
        << file.path << " should be guarded by " << guard;
  }
}

}  // namespace
}  // namespace trireme
