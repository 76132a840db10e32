// Tables of texts are written for people, with a fixed width or as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/programs/terminal.h"

namespace legacy::analysis {

inline constexpr size_t kTextWidth = 160;  // columns that names are shortened for

struct Table {
  std::string title;
  std::vector<std::string> header;  // first column: policies
  std::vector<std::vector<std::string>> rows;
};

// Return the table with its heading. In text, which has a rule, names in the first column and links
// are shortened in the middle where the table would be wider than kTextWidth. On a narrower
// terminal the columns that have no room are placed below the others, with the names again;
// `terminal` is its width.
std::string RenderText(Table table, size_t terminal = OutputColumns());
std::string RenderMarkdown(const Table& table);

// Returns a text for Markdown, in one line and without markup.
std::string MarkdownText(const std::string& text);
// Returns the line of a table. Its cells are plain texts, or Markdown where `are_markdown` is true.
std::string MarkdownLine(const std::vector<std::string>& cells, bool are_markdown = false);

// Returns `name` cut in the middle to at most `limit` characters.
std::string Shorten(const std::string& name, size_t limit);

}  // namespace legacy::analysis
