#include "libs/cli/table.h"

#include <algorithm>

#include "libs/base/error.h"
#include "libs/cli/printable.h"

namespace ck::cli {

void Table::AddRow(std::vector<std::string> cells) {
  Check(cells.size() == columns_.size(), "a table row has one cell per column");
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::Text() const {
  std::vector<std::string> titles;
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    widths.push_back(DisplayWidth(titles[i]));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string out;
  const auto append_line = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - DisplayWidth(cells[i]), ' ');
      if (i > 0) out += "  ";
      out += columns_[i].align == Align::kRight ? padding + cells[i] : cells[i] + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  append_line(titles);
  for (const auto& row : rows_) append_line(row);
  return out;
}

}  // namespace ck::cli
