#include "base/programs/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "base/number.h"

namespace legacy {
namespace {

constexpr size_t kNarrow = 60;
constexpr size_t kWide = 160;

size_t ColumnsOf(int file) {
  double columns = 0;
  if (const char* set = std::getenv("COLUMNS")) columns = ParseNumber(set).value_or(0);
  winsize size{};
  if (!(columns >= 1) && ioctl(file, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (!(columns >= 1)) return SIZE_MAX;
  return static_cast<size_t>(std::clamp(columns, double{kNarrow}, double{kWide}));
}

}  // namespace

size_t OutputColumns() { return ColumnsOf(STDOUT_FILENO); }
size_t ErrorColumns() { return ColumnsOf(STDERR_FILENO); }

size_t DisplayWidth(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // counts all but continuation bytes
  }));
}

std::string Wrapped(const std::string& text, size_t width, size_t hang) {
  if (text.size() <= width) return text;
  std::string out;
  bool first_line = true;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!first_line) out += '\n';
    first_line = false;
    if (DisplayWidth(line) <= width) {
      out += line;
      continue;
    }
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    std::string row(indent, ' ');
    for (size_t at = indent; at < line.size();) {
      const size_t end = std::min(line.find(' ', at), line.size());
      const size_t next = std::min(line.find_first_not_of(' ', end), line.size());
      const std::string word = line.substr(at, end - at), gap = line.substr(end, next - end);
      const bool begins = row.find_first_not_of(' ') == std::string::npos;
      if (!begins && DisplayWidth(row) + DisplayWidth(word) > width) {
        out += row.erase(row.find_last_not_of(' ') + 1) + '\n';
        row.assign(indent + hang, ' ');
      }
      row += word + gap;
      at = next;
    }
    out += row;
  }
  if (text.back() == '\n') out += '\n';
  return out;
}

std::string ErrorMessage(const std::string& program, const std::string& text) {
  return Wrapped(program + ": " + text, ErrorColumns(), 2);
}

}  // namespace legacy
