// Tables of texts, for people: of fixed width, and as Markdown.
#pragma once

#include <string>
#include <vector>

namespace legacy::analysis {

inline constexpr size_t kTextWidth = 160;  // columns of a terminal that RenderText keeps to

struct Table {
  std::string title;
  std::vector<std::string> header;  // first column: policies
  std::vector<std::vector<std::string>> rows;
};

// With a heading and a rule. Names in the first column, and links, are shortened in the middle
// where the table would be wider than kTextWidth.
std::string RenderText(Table table);
std::string RenderMarkdown(const Table& table);

// A text for Markdown: in one line, nothing of it read as markup.
std::string MarkdownText(const std::string& text);
// The line of a table; its cells are such texts, or Markdown themselves.
std::string MarkdownLine(const std::vector<std::string>& cells, bool are_markdown = false);

// Characters, not bytes, of UTF-8 text; and `name` cut in the middle to at most `limit` of them.
size_t DisplayWidth(const std::string& text);
std::string Shorten(const std::string& name, size_t limit);

}  // namespace legacy::analysis
