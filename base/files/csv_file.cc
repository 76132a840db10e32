#include "base/files/csv_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/parse.h"
#include "base/words.h"

namespace legacy {

namespace {

constexpr size_t kMostBytesOfFile = size_t{1} << 31;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Removes the quoted cell at the start of `row` from it. The cell's text is compacted in place, in
// `text`, so that two quotes become one. Returns nothing if it is not closed.
std::optional<std::string_view> TakeQuoted(std::string_view& row, std::string& text) {
  char* const cell = text.data() + (row.data() + 1 - text.data());
  char* end = cell;
  do {
    row.remove_prefix(1);
    const size_t quote = row.find('"');
    if (quote == std::string_view::npos) return std::nullopt;
    std::memmove(end, row.data(), quote + 1);
    end += quote + 1;
    row.remove_prefix(quote + 1);
  } while (!row.empty() && row.front() == '"');
  return std::string_view(cell, static_cast<size_t>(end - 1 - cell));
}

template <typename Value>
Value ParseCell(const CsvFile& file, size_t column, Value least, Value most) {
  Value value{};
  const std::string_view text = file.Text(column);
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  // Negated, so that NaN fails.
  if (error != std::errc() || rest != end || !(value >= least && value <= most)) {
    char range[80];
    std::snprintf(range, sizeof range, "a number from %.15g to %.15g", static_cast<double>(least),
                  static_cast<double>(most));
    throw Error(file.Where(column), std::string(text), range);
  }
  return value;
}

}  // namespace

CsvRows::CsvRows(std::string name, std::string text, CsvKind kind)
    : name_(std::move(name)), text_(std::move(text)), kind_(kind) {
  if (text_.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0) next_ = kByteOrderMark.size();
}

bool CsvRows::Next() {
  cells_.clear();
  while (next_ < text_.size()) {
    line_ = next_line_;
    const std::string_view line = ReadLine();
    if (IsSkipped(line)) continue;
    bool closed = true;
    if (line.find('"') == std::string_view::npos) {
      Split(line);
    } else {
      closed = SplitQuoted(line);
    }
    if (kind_ == CsvKind::kGrowing && (!closed || next_ > text_.size())) {
      unfinished_line_ = line_;
      cells_.clear();
      return false;
    }
    if (!closed) throw Error::Refusal(Where() + ": a quote that is not closed");
    if (kind_ == CsvKind::kByHand) {
      std::transform(cells_.begin(), cells_.end(), cells_.begin(), Trimmed);
    }
    return true;
  }
  return false;
}

// Returns the next line without its line break.
std::string_view CsvRows::ReadLine() {
  const size_t end = std::min(text_.find('\n', next_), text_.size());
  std::string_view line = std::string_view(text_).substr(next_, end - next_);
  next_ = end + 1;
  ++next_line_;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool CsvRows::IsSkipped(std::string_view line) const {
  if (kind_ != CsvKind::kByHand) return line.empty();
  const std::string_view text = Trimmed(line);
  return text.empty() || text.front() == '#';
}

// Splits a row without quotes.
void CsvRows::Split(std::string_view row) {
  size_t begin = 0;
  while (true) {
    const size_t end = row.find(',', begin);
    cells_.push_back(row.substr(begin, end - begin));
    if (end == std::string_view::npos) return;
    begin = end + 1;
  }
}

// Splits the row that starts with `row` and extends over more lines as long as a quote is open.
// Returns false if it stays open.
bool CsvRows::SplitQuoted(std::string_view row) {
  const auto odd = [](std::string_view line) {
    return std::count(line.begin(), line.end(), '"') % 2 == 1;
  };
  for (bool open = odd(row); open && next_ < text_.size();) {
    const std::string_view line = ReadLine();
    open = !odd(line);
    row = std::string_view(row.data(), static_cast<size_t>(line.end() - row.begin()));
  }
  while (true) {
    if (!row.empty() && row.front() == '"') {
      const std::optional<std::string_view> cell = TakeQuoted(row, text_);
      if (!cell) return false;
      cells_.push_back(*cell);
    } else {
      const std::string_view cell = row.substr(0, row.find(','));
      cells_.push_back(cell.substr(0, cell.find('"')));
      row.remove_prefix(cells_.back().size());
    }
    if (row.empty()) return true;
    if (row.front() != ',') {
      throw Error(Where(), Shown(row.substr(0, 1)),
                  "quotes around a whole field, doubled inside it");
    }
    row.remove_prefix(1);
  }
}

std::vector<std::vector<std::string>> CsvCells(const std::string& name, const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (CsvRows row(name, text); row.Next();) {
    rows.emplace_back(row.Cells().begin(), row.Cells().end());
  }
  return rows;
}

std::string ReadCsvText(const std::string& path, const std::string& option) {
  return ReadText(path, kMostBytesOfFile, option);
}

CsvFile::CsvFile(const std::string& path, const std::string& option)
    : rows_(path, ReadCsvText(path, option)) {
  if (!rows_.Next()) throw Error::Refusal(path + ": empty; a header line and rows were expected");
  header_.assign(rows_.Cells().begin(), rows_.Cells().end());
}

const std::vector<std::string>& CsvFile::Columns() const { return header_; }

bool CsvFile::Has(const std::string& column) const {
  return std::find(header_.begin(), header_.end(), column) != header_.end();
}

size_t CsvFile::Column(const std::string& column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  if (found == header_.end()) {
    throw Error(Path() + ":1: column", column, Join(header_, ", "));
  }
  return static_cast<size_t>(found - header_.begin());
}

bool CsvFile::Next() {
  if (!rows_.Next()) return false;
  if (rows_.Cells().size() != header_.size()) {
    throw Error(Where() + ": cells", std::to_string(rows_.Cells().size()),
                std::to_string(header_.size()) + ", as the header has");
  }
  return true;
}

std::string_view CsvFile::Text(size_t column) const { return rows_.Cells()[column]; }

double CsvFile::Number(size_t column, double least, double most) const {
  return ParseCell(*this, column, least, most);
}

int64_t CsvFile::Whole(size_t column, int64_t least, int64_t most) const {
  return ParseCell(*this, column, least, most);
}

std::string CsvFile::Where() const { return rows_.Where(); }

std::string CsvFile::Where(size_t column) const { return Where() + ": " + header_[column]; }

const std::string& CsvFile::Path() const { return rows_.Name(); }

}  // namespace legacy
