#include "base/files/csv_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/parse.h"

namespace legacy {

namespace {

constexpr size_t kMostBytesOfFile = size_t{1} << 30;

template <typename Value>
Value ParseCell(std::string_view text, const std::string& where, Value least, Value most) {
  Value value{};
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  // Negated, so that NaN fails.
  if (error != std::errc() || rest != end || !(value >= least && value <= most)) {
    char range[80];
    std::snprintf(range, sizeof range, "a number from %.15g to %.15g", static_cast<double>(least),
                  static_cast<double>(most));
    throw Error(where, std::string(text), range);
  }
  return value;
}

}  // namespace

CsvFile::CsvFile(const std::string& path, const std::string& option)
    : path_(path), text_(ReadText(path, kMostBytesOfFile, option)) {
  std::string_view line;
  if (!NextLine(line)) {
    throw Error(path + ": empty; a header line and rows were expected");
  }
  Split(line);
  for (std::string_view cell : cells_) {
    header_.emplace_back(cell);
  }
}

bool CsvFile::NextLine(std::string_view& line) {
  while (next_ < text_.size()) {
    const size_t end = std::min(text_.find('\n', next_), text_.size());
    line = std::string_view(text_).substr(next_, end - next_);
    next_ = end + 1;
    ++line_;
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    if (!line.empty()) {
      return true;
    }
  }
  return false;
}

void CsvFile::Split(std::string_view line) {
  cells_.clear();
  if (line.find('"') == std::string_view::npos) {
    size_t begin = 0;
    while (true) {
      const size_t end = line.find(',', begin);
      cells_.push_back(line.substr(begin, end - begin));
      if (end == std::string_view::npos) {
        return;
      }
      begin = end + 1;
    }
  }
  unquoted_.assign(1, "");
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      unquoted_.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      unquoted_.emplace_back();
    } else {
      unquoted_.back() += line[i];
    }
  }
  if (quoted) {
    throw Error(Where() + ": a quote that is not closed");
  }
  cells_.assign(unquoted_.begin(), unquoted_.end());
}

const std::vector<std::string>& CsvFile::Columns() const { return header_; }

bool CsvFile::Has(const std::string& column) const {
  return std::find(header_.begin(), header_.end(), column) != header_.end();
}

size_t CsvFile::Column(const std::string& column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  if (found == header_.end()) {
    throw Error(path_ + ":1: column", column, Join(header_, ", "));
  }
  return static_cast<size_t>(found - header_.begin());
}

bool CsvFile::Next() {
  std::string_view line;
  if (!NextLine(line)) {
    return false;
  }
  Split(line);
  if (cells_.size() != header_.size()) {
    throw Error(Where() + ": cells", std::to_string(cells_.size()),
                std::to_string(header_.size()) + ", as the header has");
  }
  return true;
}

std::string_view CsvFile::Text(size_t column) const { return cells_[column]; }

double CsvFile::Number(size_t column, double least, double most) const {
  double value = 0;
  const std::string_view text = cells_[column];
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  // The text of where a cell stands is made for errors alone. Negated, so that NaN fails.
  if (error != std::errc() || rest != end || !(value >= least && value <= most)) {
    ParseCell<double>(text, Where(column), least, most);
  }
  return value;
}

int64_t CsvFile::Whole(size_t column, int64_t least, int64_t most) const {
  return ParseCell<int64_t>(cells_[column], Where(column), least, most);
}

std::string CsvFile::Where() const { return path_ + ":" + std::to_string(line_); }

std::string CsvFile::Where(size_t column) const { return Where() + ": " + header_[column]; }

const std::string& CsvFile::Path() const { return path_; }

}  // namespace legacy
