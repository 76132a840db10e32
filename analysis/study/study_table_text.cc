#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "analysis/csv.h"
#include "analysis/study/study_tables.h"
#include "analysis/table_text.h"

namespace legacy::analysis {
namespace {

using Cells = std::vector<std::string>;

Cells HeadersOf(const StudyTable& table) {
  Cells headers;
  for (const StudyTable::Column& column : table.columns) headers.push_back(column.header);
  return headers;
}

std::string LatexLine(const Cells& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (!line.empty()) line += " & ";
    line += LatexText(cell);
  }
  return line + " \\\\\n";
}

std::string OneLine(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

// Returns the commands that replace characters: those with a meaning in LaTeX, and the characters
// beyond ASCII that our tables use. LaTeX sets all other UTF-8 itself.
const std::map<std::string, std::string, std::less<>>& LatexEscapes() {
  static const std::map<std::string, std::string, std::less<>> kEscapes = {
      {"\\", "\\textbackslash{}"},
      {"{", "\\{"},
      {"}", "\\}"},
      {"$", "\\$"},
      {"&", "\\&"},
      {"#", "\\#"},
      {"_", "\\_"},
      {"%", "\\%"},
      {"^", "\\textasciicircum{}"},
      {"~", "\\textasciitilde{}"},
      {"<", "\\textless{}"},
      {">", "\\textgreater{}"},
      {"|", "\\textbar{}"},
      {"\"", "''"},
      {"`", "\\textasciigrave{}"},
      {"[", "{[}"},
      {"]", "{]}"},
      {"\n", " "},
      {"\r", " "},
      {"†", "\\(\\dagger\\)"},
      {"±", "\\(\\pm\\)"},
      {"≥", "\\(\\ge\\)"},
      {"≤", "\\(\\le\\)"},
      {"×", "\\(\\times\\)"},
      {"µ", "\\(\\mu\\)"}};
  return kEscapes;
}

// Returns true if the hyphen at `i` is a minus sign: a number after it, no word before it.
bool IsMinus(const std::string& text, size_t i) {
  if (text[i] != '-' || i + 1 == text.size()) return false;
  if (!std::isdigit(static_cast<unsigned char>(text[i + 1]))) return false;
  return i == 0 || text[i - 1] == ' ' || text[i - 1] == '[';
}

size_t CharacterLength(const std::string& text, size_t start) {
  size_t end = start + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - start;
}

}  // namespace

std::string LatexText(const std::string& text) {
  if (text == "-") return "--";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (IsMinus(text, i)) {
      out += "\\(-\\)";
      ++i;
      continue;
    }
    const std::string_view character = std::string_view(text).substr(i, CharacterLength(text, i));
    const auto escape = LatexEscapes().find(character);
    out += escape == LatexEscapes().end() ? character : escape->second;
    i += character.size();
  }
  return out;
}

std::string MarkdownOf(const StudyTable& table) {
  std::string text = "**" + MarkdownText(table.title) + "**\n\n" + MarkdownLine(HeadersOf(table));
  text += "|";
  for (const StudyTable::Column& column : table.columns) text += column.number ? "---:|" : "---|";
  text += "\n";
  for (const Cells& row : table.rows) text += MarkdownLine(row);
  return text;
}

std::string CsvOf(const StudyTable& table) {
  std::string text = CsvLine(table.csv_header);
  for (const Cells& row : table.csv_rows) text += CsvLine(row);
  return text;
}

std::string LatexOf(const StudyTable& table) {
  std::string alignment;
  for (const StudyTable::Column& column : table.columns) alignment += column.number ? 'r' : 'l';
  std::string text;
  if (!table.command.empty()) text += "% " + OneLine(table.command) + "\n";
  text += "% \\caption{" + LatexText(table.title) + "}\\label{tab:" + table.name + "}\n";
  text += "% \\usepackage{booktabs}\n\\begin{tabular}{" + alignment + "}\n\\toprule\n";
  text += LatexLine(HeadersOf(table)) + "\\midrule\n";
  for (const Cells& row : table.rows) text += LatexLine(row);
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace legacy::analysis
