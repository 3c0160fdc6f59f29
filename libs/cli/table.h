// Aligned columns for people. Cells are made Printable; columns are two blanks apart; no trailing blanks.
#ifndef CK_CLI_TABLE_H_
#define CK_CLI_TABLE_H_

#include <string>
#include <vector>

namespace ck::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column.
  void AddRow(std::vector<std::string> cells);
  // The titles, then the rows, each ending in a newline.
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ck::cli

#endif  // CK_CLI_TABLE_H_
