// CSV files of measurements, plain or compressed by gzip: a header line, and rows of as many cells.
// Cells are separated by commas and may stand in double quotes, inside which a comma is text and
// two quotes are one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace legacy {

// A CsvFile walks over the rows of a file. Blank lines are skipped; lines may end with CR LF.
class CsvFile {
 public:
  // Reads the file and its header line. Throws Error naming `option` where it cannot be read,
  // and with the file's name where it is empty.
  CsvFile(const std::string& path, const std::string& option);

  // Returns the header's columns.
  const std::vector<std::string>& Columns() const;
  // Returns whether the header has the column.
  bool Has(const std::string& column) const;
  // Returns the place of a column. Throws Error with the columns that there are.
  size_t Column(const std::string& column) const;

  // Goes to the next row. Returns false behind the last one. Throws Error with file and line
  // where a row has another number of cells than the header.
  bool Next();
  // Returns a cell of the present row, valid until Next.
  std::string_view Text(size_t column) const;
  // Return a cell as a number within [least, most]. Throw Error with file, line and column.
  double Number(size_t column, double least, double most) const;
  int64_t Whole(size_t column, int64_t least, int64_t most) const;

  // Returns "FILE:LINE: COLUMN" of the present row, and "FILE:LINE".
  std::string Where(size_t column) const;
  std::string Where() const;

  const std::string& Path() const;

 private:
  bool NextLine(std::string_view& line);
  void Split(std::string_view line);

  std::string path_;
  std::string text_;
  size_t next_ = 0;  // start of the next line in text_
  int64_t line_ = 0;
  std::vector<std::string> header_;
  std::vector<std::string_view> cells_;
  std::vector<std::string> unquoted_;  // cells that stood in quotes, by column
};

}  // namespace legacy
