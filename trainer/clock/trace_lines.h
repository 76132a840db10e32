// Word lines are the lines of a text file, split into words. Errors name the line and column of a
// word.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace legacy {

// A Word is one word of the current line.
struct Word {
  std::string_view text;  // valid until the next line is read
  size_t column = 0;      // column, from 1
};

// TraceLines reads a text file. Blanks and tabs separate words, a '#' begins a comment, and lines
// may end with CR LF.
class TraceLines {
 public:
  // Opens the file. Throws Error where it cannot be read.
  explicit TraceLines(const std::filesystem::path& path);

  // Goes to the next line that has words, and returns false at the end. Throws Error on characters
  // that cannot be printed.
  bool Next();
  const std::vector<Word>& words() const { return words_; }
  // Returns the location behind the last word.
  Word End() const;

  // Throws Error "file:line:column: WHAT: got 'WORD'; allowed: ALLOWED" for a word of this line.
  [[noreturn]] void Fail(const Word& word, const std::string& what,
                         const std::string& allowed) const;

 private:
  void Split();

  std::string path_;
  std::ifstream file_;
  std::string text_;
  int64_t line_ = 0;
  std::vector<Word> words_;
};

}  // namespace legacy
