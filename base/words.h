// Texts that others wrote are read line by line, as words. Every message has the place in the file
// and stays on one line, whatever the file contains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace legacy {

// True where the text is UTF-8.
bool IsUtf8(std::string_view text);

// True for the control characters of ASCII.
bool IsControl(char c);

// Returns the part of the text that is without blanks, tabs and line breaks at its ends.
std::string_view Trimmed(std::string_view text);

// Returns what a message shows of a text: its first 60 bytes, with control characters, and what is
// not ASCII in a text that is not UTF-8, replaced by '?'.
std::string Shown(std::string_view text);

// Returns the text with every run of white space and control characters replaced by one space, and
// none at the ends.
std::string OneLine(std::string_view text);

// Returns a finite number from `minimum` to `maximum`. Throws Error naming `where`.
double ParseReal(std::string_view text, const std::string& where, double minimum, double maximum);
// Returns an integer from `minimum` to `maximum`. Throws Error naming `where`.
int64_t ParseWhole(std::string_view text, const std::string& where, int64_t minimum,
                   int64_t maximum);

// A PlacedWord is a word of a line, or a part of one.
struct PlacedWord {
  std::string_view text;
  size_t column = 0;  // of its first byte, from 1
};

// A WordStyle says how lines are split.
struct WordStyle {
  char comment = 0;              // lines whose first word starts with it are skipped; 0: none does
  bool comments_follow = false;  // true: it ends the line wherever it stands
  char separator = ' ';          // it separates words as blanks do
};

// A WordLines reads the lines of a text, each split into words at blanks. Lines without a word are
// skipped.
class WordLines {
 public:
  // `path` is for messages.
  WordLines(const std::string& path, std::string text, WordStyle style = {});
  // Words point into the text.
  WordLines(const WordLines&) = delete;
  WordLines& operator=(const WordLines&) = delete;

  // Reads the next line that has a word. Returns false at the end of the text.
  bool Advance();
  // Reads the next line, which must have `count` words. Throws Error saying that `what` was
  // expected.
  void Next(const std::string& what, size_t count);

  // Makes the next call of Advance or Next read this line again.
  void Again();

  // Return the words of the line.
  const std::vector<PlacedWord>& Words() const;
  size_t Count() const;
  std::string Word(size_t word) const;

  // Returns the line's number, from 1.
  int64_t LineNumber() const;
  // Returns the line as messages show it.
  std::string Line() const;
  // Return "path:line:column" of a word.
  std::string Location(const PlacedWord& word) const;
  std::string Location(size_t word) const;
  // Returns "path:line" after the last line.
  std::string End() const;

  // Return the word as a number in a range. Throw Error "LOCATION: what".
  int Integer(size_t word, const std::string& what, int minimum, int maximum) const;
  int64_t Whole(size_t word, const std::string& what, int64_t minimum, int64_t maximum) const;
  double Real(size_t word, const std::string& what, double minimum, double maximum) const;
  // Reads the word as a number. Returns false where it is not one.
  bool Parse(size_t word, double& number) const;

 private:
  void Split(std::string_view line);

  std::string path_;
  std::string text_;
  WordStyle style_;
  size_t position_ = 0;
  size_t line_start_ = 0;
  int64_t line_ = 0;
  std::vector<PlacedWord> words_;
};

}  // namespace legacy
