// Times are rounded to columns; every item keeps at least one.
#include "coordinator/compiler/orders/grid.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace trireme {
namespace {

struct Cell {
  int64_t begin = 0;  // columns
  int64_t end = 0;
  std::string text;
};

// A marked exchange is as narrow as other cells: its text may be long.
std::string Shown(const ScheduleItem& item, bool marked) {
  if (item.kind == ItemKind::kExchange) return "[!]";
  const std::string text = StepSchedule{.items = {item}}.ToText();
  return marked ? "[" + text + "]" : text;
}

class Grid {
 public:
  Grid(const std::vector<StepSchedule>& schedules, const Timeline& timeline,
       const GridOptions& options)
      : schedules_(schedules), timeline_(timeline), options_(options) {}

  std::string Text();

 private:
  // Calls f(stage, item index) for all items that run and take time.
  template <typename F>
  void ForEachRun(const F& f) const {
    for (size_t s = 0; s < schedules_.size(); ++s) {
      for (size_t i = 0; i < schedules_[s].items.size(); ++i) {
        const ItemTimes& times = timeline_.items[s][i];
        if (schedules_[s].items[i].kind == ItemKind::kRun && times.end > times.start) f(s, i);
      }
    }
  }
  bool Marked(size_t stage, size_t item) const {
    return static_cast<int32_t>(stage) == options_.mark_stage &&
           static_cast<int32_t>(item) == options_.mark_item;
  }
  void ChooseColumns();
  int64_t Columns() const;  // of the longest line
  std::vector<Cell> Cells(size_t stage) const;
  // Columns [first, last) of a stage.
  std::string Line(const std::vector<Cell>& cells, int64_t first, int64_t last) const;

  const std::vector<StepSchedule>& schedules_;
  const Timeline& timeline_;
  const GridOptions& options_;
  size_t cell_width_ = 3;  // characters of a column
  int64_t max_columns_ = 1;
  double unit_ = 1;  // time of a column
};

void Grid::ChooseColumns() {
  std::vector<double> durations;
  double end = 0;
  ForEachRun([&](size_t s, size_t i) {
    const ItemTimes& times = timeline_.items[s][i];
    durations.push_back(times.end - times.start);
    end = std::max(end, times.end);
    cell_width_ = std::max(cell_width_, Shown(schedules_[s].items[i], Marked(s, i)).size() + 1);
  });
  const size_t prefix = ("stage " + std::to_string(schedules_.size() - 1) + " | ").size();
  const int64_t room = options_.width - static_cast<int64_t>(prefix);
  max_columns_ = std::max<int64_t>(1, room / static_cast<int64_t>(cell_width_));
  if (durations.empty()) return;
  std::sort(durations.begin(), durations.end());
  const double shortest = durations.front();
  const double median = durations[durations.size() / 2];
  const double fits = end / static_cast<double>(max_columns_);
  unit_ = fits <= median ? std::max(fits, shortest) : std::max(shortest, median / 4);
  // Short items, a column each, may push the end out by a few columns.
  for (int i = 0; i < 12 && fits <= median && Columns() > max_columns_; ++i) unit_ *= 1.02;
}

int64_t Grid::Columns() const {
  int64_t columns = 0;
  for (size_t s = 0; s < schedules_.size(); ++s) {
    const std::vector<Cell> cells = Cells(s);
    if (!cells.empty()) columns = std::max(columns, cells.back().end);
  }
  return columns;
}

std::vector<Cell> Grid::Cells(size_t stage) const {
  std::vector<Cell> cells;
  const auto column = [&](double time) -> int64_t { return std::llround(time / unit_); };
  const auto from = [&](double time) {
    return std::max<int64_t>(cells.empty() ? 0 : cells.back().end, column(time));
  };
  double now = 0;
  for (size_t i = 0; i < schedules_[stage].items.size(); ++i) {
    const ScheduleItem& item = schedules_[stage].items[i];
    const ItemTimes& times = timeline_.items[stage][i];
    const bool marked = Marked(stage, i);
    now = std::max({now, times.start, times.end});
    const bool runs = item.kind == ItemKind::kRun && times.end > times.start;
    if (runs || marked) {
      const int64_t begin = from(times.start >= 0 ? times.start : now);
      cells.push_back({begin, std::max(begin + 1, column(times.end)), Shown(item, marked)});
    } else if (item.kind == ItemKind::kExchange && times.end > times.met) {
      const int64_t begin = from(times.met);
      if (column(times.end) > begin) cells.push_back({begin, column(times.end), "~"});
    }
  }
  return cells;
}

std::string Grid::Line(const std::vector<Cell>& cells, int64_t first, int64_t last) const {
  std::string line;
  for (const Cell& cell : cells) {
    if (cell.end <= first || cell.begin >= last) continue;
    const size_t begin = static_cast<size_t>(std::max(cell.begin, first) - first) * cell_width_;
    const size_t end = static_cast<size_t>(std::min(cell.end, last) - first) * cell_width_;
    while (line.size() < begin) line += line.size() % cell_width_ == 0 ? '.' : ' ';
    const char fill = cell.text == "~" ? '~' : '-';
    if (cell.begin >= first) line += cell.text;
    if (cell.end > cell.begin + 1 && line.size() + 1 < end)
      line.append(end - 1 - line.size(), fill);
    if (line.size() < end) line.append(end - line.size(), ' ');
  }
  const size_t end = static_cast<size_t>(last - first) * cell_width_;
  while (line.size() < end) line += line.size() % cell_width_ == 0 ? '.' : ' ';
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string Grid::Text() {
  ChooseColumns();
  std::vector<std::vector<Cell>> cells;
  int64_t columns = 0;
  int64_t first = 0;
  for (size_t s = 0; s < schedules_.size(); ++s) {
    cells.push_back(Cells(s));
    if (!cells.back().empty()) columns = std::max(columns, cells.back().back().end);
    for (const Cell& cell : cells.back()) {
      if (cell.text.front() == '[') first = std::max<int64_t>(0, cell.begin + 1 - max_columns_);
    }
  }
  const int64_t last = std::min(columns, first + max_columns_);
  std::ostringstream text;
  const size_t digits = std::to_string(schedules_.size() - 1).size();
  for (size_t s = 0; s < schedules_.size(); ++s) {
    const std::string name = std::to_string(s);
    text << "stage " << std::string(digits - name.size(), ' ') << name << " | "
         << Line(cells[s], first, last) << "\n";
  }
  text
      << "one column is " << unit_ << options_.unit
      << "; F forward, B backward, W weight gradient of a microbatch, letters b.. for chunks after "
         "the first; . waits, ~ transfers";
  if (options_.mark_item >= 0) text << ", [] the fault";
  text << "\n";
  if (last - first < columns) {
    text << "cut: columns " << first << " to " << last - 1 << " of " << columns
         << "; more width or fewer microbatches show all\n";
  }
  return text.str();
}

}  // namespace

std::string ScheduleGrid(const std::vector<StepSchedule>& schedules, const Timeline& timeline,
                         const GridOptions& options) {
  return Grid(schedules, timeline, options).Text();
}

}  // namespace trireme
