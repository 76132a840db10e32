// Lines of trace files: a keyword with its values, and errors with their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/words.h"

namespace legacy {

// DdpTraceLines reads a trace file line by line, and numbers from its words.
class DdpTraceLines {
 public:
  // `path` is for messages.
  DdpTraceLines(const std::string& path, std::string text);

  // Goes to the next line that has words, and returns false at the end.
  bool NextLine();
  // Throws Error "FILE:LINE:COLUMN: WHAT: got 'WORD'; allowed: ALLOWED".
  [[noreturn]] void Fail(const PlacedWord& word, const std::string& what,
                         const std::string& allowed) const;

  const PlacedWord& Keyword() const { return lines_.Words().front(); }
  size_t Values() const { return lines_.Count() - 1; }
  const PlacedWord& Value(size_t i) const { return lines_.Words()[i + 1]; }
  // Returns the place after the last word of the line.
  const PlacedWord& EndOfLine() const { return end_; }

  // `usage` is the form of the whole line.
  void RequireValues(size_t least, size_t most, const char* usage) const;
  void Require(bool ok, const char* allowed) const {
    if (!ok) Fail(Keyword(), "keyword", allowed);
  }

  int64_t Whole(const PlacedWord& word, const char* what, int64_t least, int64_t most) const;
  double Number(const PlacedWord& word, const char* what, double least, double most) const;
  // Reads a loss, which may be nan or inf where the training diverged.
  double Loss(const PlacedWord& word, const char* what) const;

 private:
  WordLines lines_;
  PlacedWord end_ = {"", 1};
};

}  // namespace legacy
