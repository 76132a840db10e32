// CSV as RFC 4180 defines it: cells are separated by commas, and may be in double quotes, inside
// which commas and line breaks are text and two quotes are one. Lines end with LF or CR LF. Blank
// lines and a byte order mark of UTF-8 are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace legacy {

// A CsvKind says what else is in a text.
enum class CsvKind {
  kPlain,   // nothing else
  kByHand,  // lines that start with '#', which are skipped, and blanks around cells, which are not
            // part of them
  kGrowing  // a last row without its line break, which may lack digits and is left out
};

// CsvRows walks over the rows of a text.
class CsvRows {
 public:
  // `name` (a path) is for messages.
  CsvRows(std::string name, std::string text, CsvKind kind = CsvKind::kPlain);
  // Cells point into the text.
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;

  // Goes to the next row. Returns false after the last one. Throws Error with name and line on a
  // quote that is not closed, or that is neither around a cell nor doubled inside it.
  bool Next();
  // Returns the cells of the present row, valid until Next: at least one.
  const std::vector<std::string_view>& Cells() const { return cells_; }

  // Return the line at which the present row starts, from 1, and "NAME:LINE".
  int64_t Line() const { return line_; }
  std::string Where() const { return name_ + ":" + std::to_string(line_); }
  const std::string& Name() const { return name_; }
  // Returns the line of the row that was left out (kGrowing), or 0.
  int64_t UnfinishedLine() const { return unfinished_line_; }

 private:
  std::string_view ReadLine();
  bool IsSkipped(std::string_view line) const;
  void Split(std::string_view row);
  bool SplitQuoted(std::string_view row);

  std::string name_;
  std::string text_;
  CsvKind kind_;
  size_t next_ = 0;  // start of the next line in text_; past its end after a line without a break
  int64_t next_line_ = 1;
  int64_t line_ = 1;
  int64_t unfinished_line_ = 0;
  std::vector<std::string_view> cells_;
};

// Returns all rows of a text. Throws Error as CsvRows::Next does.
std::vector<std::vector<std::string>> CsvCells(const std::string& name, const std::string& text);

// Returns the text of a CSV file, plain or compressed by gzip, of at most 2 GiB. Throws Error
// naming `option` where it cannot be read.
std::string ReadCsvText(const std::string& path, const std::string& option);

// A CsvFile walks over the rows of a file of measurements, plain or compressed by gzip: a header
// line, and rows of as many cells.
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

  // Goes to the next row. Returns false after the last one. Throws Error with file and line
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
  CsvRows rows_;
  std::vector<std::string> header_;
};

}  // namespace legacy
