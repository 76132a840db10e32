// Text files that are words in lines: where each word stands, and errors that say so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace legacy {

struct Word {
  std::string_view text;  // until the next line is read
  size_t column = 0;      // from 1
};

// Words are parted by blanks and tabs; what follows a '#' says nothing; lines may end with CR LF.
class WordLines {
 public:
  // Throws Error where the file cannot be read.
  explicit WordLines(const std::filesystem::path& path);

  // Goes to the next line that has words; false at the end. Throws Error on characters that cannot
  // be printed.
  bool Next();
  const std::vector<Word>& words() const { return words_; }
  // The place behind the last word.
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
