// The width of the terminal, to which help, tables, lists, messages and progress are fitted. No
// other place asks for it.
#pragma once

#include <cstddef>
#include <string>

namespace legacy {

// Return the columns of the terminal that standard output, or standard error, is on: COLUMNS where
// that is set, else what the terminal says. The largest number stands for no terminal: texts are
// then as wide as they come, because programs read them. Widths are at least 60 and at most 160.
size_t OutputColumns();
size_t ErrorColumns();

// Returns the number of characters of a UTF-8 text.
size_t DisplayWidth(const std::string& text);

// Returns `text` in lines of at most `width` characters. Words are not cut, and existing line
// breaks stay. What follows the first line of each is indented by `hang` more.
std::string Wrapped(const std::string& text, size_t width, size_t hang = 0);

// Returns what a program says on standard error, after its name and fitted to the terminal.
std::string ErrorMessage(const std::string& program, const std::string& text);

}  // namespace legacy
