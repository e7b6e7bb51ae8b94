// A small lexer: enough of C++ to know where strings, comments and function bodies are.
#include "tests/tidy/source_file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace trireme {
namespace {

namespace fs = std::filesystem;

bool IsSkippedFolder(const std::string& name) {
  if (name == ".ci") return false;
  return name.empty() || name[0] == '.' || name == "build" || name == "shared" ||
         name == "__pycache__" || name.rfind("build-", 0) == 0;
}

bool IsOurText(const std::string& path) {
  static constexpr std::string_view kEndings[] = {".h",  ".cc",  ".inc",   ".cu",   ".cuh",
                                                  ".md", ".sh",  ".cmake", ".proto", ".py",
                                                  ".yaml", "CMakeLists.txt", ".ci/run"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view ending) {
    return path.size() >= ending.size() &&
           path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
  });
}

void ReadFolder(const fs::path& root, const std::string& folder, std::vector<SourceFile>& files) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / folder, error)) {
    const std::string name = entry.path().filename().string();
    const std::string path = folder.empty() ? name : folder + "/" + name;
    if (entry.is_symlink(error)) continue;
    if (entry.is_directory(error)) {
      if (!IsSkippedFolder(name)) ReadFolder(root, path, files);
    } else if (IsOurText(path)) {
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      files.push_back({path, text.str()});
    }
  }
}

// Replaces all but line breaks in [begin, end) by spaces.
void Blank(std::string& text, size_t begin, size_t end) {
  for (size_t i = begin; i < std::min(end, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

// One past the literal or comment that starts at `i`; `i` itself when none does.
size_t SkipLiteral(const std::string& text, size_t i) {
  const auto find_end = [&](const std::string& what, size_t from) {
    const size_t at = text.find(what, from);
    return at == std::string::npos ? text.size() : at + what.size();
  };
  if (text.compare(i, 2, "//") == 0) return find_end("\n", i) - 1;
  if (text.compare(i, 2, "/*") == 0) return find_end("*/", i + 2);
  if (text.compare(i, 2, "R\"") == 0) {
    const size_t open = text.find('(', i);
    if (open == std::string::npos) return text.size();
    return find_end(")" + text.substr(i + 2, open - i - 2) + "\"", open);
  }
  const bool digit_separator = text[i] == '\'' && i > 0 &&
                               std::isalnum(static_cast<unsigned char>(text[i - 1]));
  if ((text[i] != '"' && text[i] != '\'') || digit_separator) return i;
  size_t end = i + 1;
  while (end < text.size() && text[end] != text[i] && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return end + 1;
}

std::string Squeeze(const std::string& text) {
  std::istringstream words(text);
  std::string result;
  for (std::string word; words >> word;) result += (result.empty() ? "" : " ") + word;
  return result;
}

enum class Block { kScope, kFunction, kOther };

// What a '{' opens, from the text since the last ';', '{' or '}'.
Block KindOf(const std::string& head) {
  std::istringstream words(head);
  std::string first;
  words >> first;
  if (first == "template") return head.find('(') == std::string::npos ? Block::kScope
                                                                      : Block::kFunction;
  for (const char* scope : {"namespace", "class", "struct", "union", "enum", "extern"}) {
    if (first == scope && head.find('(') == std::string::npos) return Block::kScope;
  }
  const size_t last = head.find_last_not_of(" \n");
  if (last == std::string::npos || head.find('(') == std::string::npos) return Block::kOther;
  return std::string("=,(<").find(head[last]) == std::string::npos ? Block::kFunction
                                                                    : Block::kOther;
}

}  // namespace

std::string SourceFile::folder() const {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string SourceFile::name() const { return path.substr(path.rfind('/') + 1); }

bool SourceFile::EndsWith(std::string_view suffix) const {
  return path.size() >= suffix.size() &&
         path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
}

bool SourceFile::IsCpp() const {
  return EndsWith(".h") || EndsWith(".cc") || EndsWith(".inc") || EndsWith(".cu") ||
         EndsWith(".cuh");
}

bool SourceFile::IsTest() const { return EndsWith("_test.cc") || EndsWith("/test.cc"); }

std::vector<SourceFile> ReadTree(const std::string& root) {
  std::vector<SourceFile> files;
  ReadFolder(root, "", files);
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> Includes(const SourceFile& file) {
  std::vector<std::string> includes;
  for (const std::string& line : Lines(file.text)) {
    if (line.rfind("#include ", 0) != 0) continue;
    const size_t begin = line.find_first_of("<\"");
    const size_t end = begin == std::string::npos ? begin : line.find_first_of(">\"", begin + 1);
    if (end != std::string::npos) includes.push_back(line.substr(begin + 1, end - begin - 1));
  }
  return includes;
}

std::string BlankStringsAndComments(const std::string& text) {
  std::string result = text;
  for (size_t i = 0; i < text.size();) {
    const size_t end = SkipLiteral(text, i);
    Blank(result, i, end);
    i = std::max(end, i + 1);
  }
  // Preprocessor lines, continued ones included, hold no functions of their own.
  for (size_t i = 0; i < result.size();) {
    size_t end = result.find('\n', i);
    if (end == std::string::npos) end = result.size();
    if (result[i] == '#') {
      while (end < result.size() && end > 0 && result[end - 1] == '\\') {
        const size_t next = result.find('\n', end + 1);
        end = next == std::string::npos ? result.size() : next;
      }
      Blank(result, i, end);
    }
    i = end + 1;
  }
  return result;
}

std::vector<Function> Functions(const std::string& text) {
  const std::string code = BlankStringsAndComments(text);
  std::vector<Function> functions;
  std::vector<Block> open;
  int function_depth = -1;  // depth at which a function is open
  size_t head_begin = 0;
  int line = 1;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i] == '\n') ++line;
    if (code[i] == ';') head_begin = i + 1;
    if (code[i] == '{') {
      const std::string head = code.substr(head_begin, i - head_begin);
      open.push_back(KindOf(head));
      if (function_depth < 0 && open.back() == Block::kFunction) {
        function_depth = static_cast<int>(open.size());
        functions.push_back({Squeeze(head), line, 0});
      }
      head_begin = i + 1;
    }
    if (code[i] == '}' && !open.empty()) {
      if (function_depth == static_cast<int>(open.size())) {
        functions.back().num_lines = line - functions.back().first_line + 1;
        function_depth = -1;
      }
      // After a member initialiser in braces the head goes on.
      if (open.back() != Block::kOther) head_begin = i + 1;
      open.pop_back();
    }
  }
  return functions;
}

}  // namespace trireme
