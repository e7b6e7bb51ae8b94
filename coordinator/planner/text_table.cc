// Measures columns, then prints them.
#include "coordinator/planner/text_table.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>

#include "common/base/check.h"

namespace trireme {
namespace {

bool LooksLikeNumber(const std::string& cell) {
  if (cell.empty() || cell.find_first_of("-,", 1) != std::string::npos) return false;  // a run
  if (std::count(cell.begin(), cell.end(), ' ') > 1) return false;  // more than a number and a unit
  return std::isdigit(static_cast<unsigned char>(cell[0])) || cell[0] == '-';
}

}  // namespace

std::string HumanBytes(int64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (value >= 1023.95 && unit < 5) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", value, kUnits[unit]);
  return text;
}

namespace {

// Three significant digits without an exponent; more where the whole part has more.
std::string ThreeDigits(double value) {
  char text[32];
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  std::string shown = text;
  if (shown.find('.') == std::string::npos) return shown;
  shown.erase(shown.find_last_not_of('0') + 1);
  if (shown.back() == '.') shown.pop_back();
  return shown;
}

}  // namespace

std::string HumanSeconds(double seconds) {
  if (seconds < 5e-10) return "0 s";
  if (seconds < 999.5e-6) return ThreeDigits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return ThreeDigits(seconds * 1e3) + " ms";
  return ThreeDigits(seconds) + " s";
}

std::string ShortCount(double count) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  int unit = 0;
  while (count >= 999.5 && unit < 4) {
    count /= 1000;
    ++unit;
  }
  return ThreeDigits(count) + kUnits[unit];
}

std::string RunsText(const std::vector<int64_t>& sorted) {
  std::string text;
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(sorted[begin]);
    if (end - begin > 1) text += "-" + std::to_string(sorted[end - 1]);
    begin = end;
  }
  return text;
}

void TextTable::AddRow(std::vector<std::string> row) {
  CHECK_LE(row.size(), rows_[0].size());
  row.resize(rows_[0].size());
  rows_.push_back(std::move(row));
}

std::string TextTable::ToText(int indent) const {
  const size_t num_columns = rows_[0].size();
  std::vector<size_t> widths(num_columns, 0);
  std::vector<bool> right(num_columns, true);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < num_columns; ++c) {
      widths[c] = std::max(widths[c], rows_[r][c].size());
      if (r > 0 && !LooksLikeNumber(rows_[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line(indent, ' ');
    for (size_t c = 0; c < num_columns; ++c) {
      const std::string fill(widths[c] - row[c].size(), ' ');
      if (c > 0) line += "  ";
      line += right[c] ? fill + row[c] : row[c] + fill;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace trireme
