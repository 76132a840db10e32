#include "analysis/table_text.h"

#include <algorithm>
#include <string_view>

#include "base/programs/terminal.h"

namespace legacy::analysis {
namespace {

// Characters that shortening leaves: of names at first, and of any text where a table is still too
// wide.
constexpr size_t kLeastName = 24;
constexpr size_t kLeastText = 8;

std::vector<size_t> Widths(const Table& table) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < table.header.size(); ++i) {
    widths.push_back(DisplayWidth(table.header[i]));
    for (const auto& row : table.rows) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  return widths;
}

size_t Total(const std::vector<size_t>& widths) {
  size_t total = 2 * (widths.size() - 1);
  for (const size_t width : widths) total += width;
  return total;
}

// Shortens the texts of one column so that the table fits; `least` characters always stay.
void Fit(Table& table, size_t column, size_t least, size_t width) {
  const std::vector<size_t> widths = Widths(table);
  const size_t excess = Total(widths) - std::min(Total(widths), width);
  if (excess == 0) return;
  const size_t limit = std::max<size_t>(widths[column] - std::min(widths[column], excess), least);
  for (auto& row : table.rows) row[column] = Shorten(row[column], limit);
}

// Returns the table in parts of at most `width`, each with the first column and as many others as
// have room, one at least.
std::vector<Table> PartsOf(const Table& table, size_t width) {
  const std::vector<size_t> widths = Widths(table);
  std::vector<Table> parts;
  for (size_t next = 1; next < widths.size() || parts.empty();) {
    std::vector<size_t> columns = {0};
    size_t total = widths[0];
    while (next < widths.size() && (columns.size() == 1 || total + 2 + widths[next] <= width)) {
      total += 2 + widths[next];
      columns.push_back(next++);
    }
    const auto chosen = [&](const std::vector<std::string>& cells) {
      std::vector<std::string> of_part;
      for (const size_t column : columns) of_part.push_back(cells[column]);
      return of_part;
    };
    Table& part = parts.emplace_back();
    part.header = chosen(table.header);
    for (const auto& row : table.rows) part.rows.push_back(chosen(row));
  }
  return parts;
}

std::string TextLine(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t space = widths[i] - DisplayWidth(cells[i]);
    if (i > 0) line.append(space + 2, ' ');
    line += cells[i];
    if (i == 0) line.append(space, ' ');
  }
  return line.erase(line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string MarkdownText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\`*<|").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

std::string MarkdownLine(const std::vector<std::string>& cells, bool are_markdown) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line.append(" ").append(are_markdown ? cell : MarkdownText(cell)).append(" |");
  }
  return line + "\n";
}

std::string RenderText(Table table, size_t terminal) {
  const auto link = std::ranges::find(table.header, "busiest link");
  const size_t width = std::min(terminal, kTextWidth);
  Fit(table, 0, kLeastName, width);
  if (link != table.header.end()) {
    Fit(table, static_cast<size_t>(link - table.header.begin()), kLeastText, width);
  }
  // On a terminal the columns that have no room are placed below, and names can keep their length.
  if (terminal > kTextWidth) Fit(table, 0, kLeastText, width);
  std::string text = Wrapped(table.title, terminal) + "\n";
  bool first = true;
  for (const Table& part : PartsOf(table, terminal)) {
    const std::vector<size_t> widths = Widths(part);
    text += (first ? "" : "\n") + TextLine(part.header, widths);
    text += std::string(Total(widths), '-') + "\n";
    for (const auto& row : part.rows) text += TextLine(row, widths);
    first = false;
  }
  return text;
}

std::string RenderMarkdown(const Table& table) {
  std::string text = "**" + table.title + "**\n\n" + MarkdownLine(table.header) + "|---|";
  for (size_t i = 1; i < table.header.size(); ++i) text += "---:|";
  text += "\n";
  for (const auto& row : table.rows) text += MarkdownLine(row);
  return text;
}

std::string Shorten(const std::string& name, size_t limit) {
  if (DisplayWidth(name) <= limit) return name;
  std::vector<std::string> characters;
  for (const char c : name) {
    if (characters.empty() || (static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      characters.emplace_back();
    }
    characters.back() += c;
  }
  const size_t kept = limit < 2 ? 0 : limit - 2;
  const size_t tail = kept / 2;
  std::string text;
  for (size_t i = 0; i < kept - tail; ++i) text += characters[i];
  text += "..";
  for (size_t i = characters.size() - tail; i < characters.size(); ++i) text += characters[i];
  return text;
}

}  // namespace legacy::analysis
