// Small helpers for what people read: aligned tables, sizes in bytes, and runs of numbers.
#ifndef TRIREME_COORDINATOR_PLANNER_TEXT_TABLE_H_
#define TRIREME_COORDINATOR_PLANNER_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace trireme {

// "0 B", "1023 B", "1.0 KiB", "3.1 GiB": at most four digits, one decimal from KiB on.
std::string HumanBytes(int64_t bytes);

// "0 s", "1.2 us", "123 ms", "4.56 s", "7890 s": three digits.
std::string HumanSeconds(double seconds);

// "950", "12.3k", "4.56M": three digits.
std::string ShortCount(double count);

// Sorted numbers as runs. Example: {0,1,2,3,8,9,12} gives "0-3, 8-9, 12".
std::string RunsText(const std::vector<int64_t>& sorted);

// Rows of cells, printed with columns as wide as their widest cell and two spaces between them. The
// first row is the header. Columns whose body cells are all numbers (with or without a unit; no
// runs) are aligned to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  // Shorter rows are filled with empty cells; longer ones are our bug.
  void AddRow(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  // Every line starts with `indent` spaces and ends with a line break; no trailing spaces.
  std::string ToText(int indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_PLANNER_TEXT_TABLE_H_
