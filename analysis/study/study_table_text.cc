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

size_t CharacterLength(const std::string& text, size_t start) {
  size_t end = start + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - start;
}

}  // namespace

std::string LatexText(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
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
  const std::string header = "\\toprule\n" + LatexLine(HeadersOf(table)) + "\\midrule\n";
  std::string text = "% \\usepackage{booktabs,longtable}\n\\begin{longtable}{" + alignment + "}\n";
  text += "\\caption{" + LatexText(table.title) + "}\\label{tab:" + table.name + "}\\\\\n";
  text += header + "\\endfirsthead\n" + header + "\\endhead\n\\bottomrule\n\\endfoot\n";
  for (const Cells& row : table.rows) text += LatexLine(row);
  return text + "\\end{longtable}\n";
}

}  // namespace legacy::analysis
