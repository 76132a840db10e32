#include "trainer/clock/trace_lines.h"

#include <algorithm>

#include "base/error.h"
#include "base/files/plain_file.h"
#include "base/words.h"

namespace legacy {
namespace {

constexpr size_t kMostQuoted = 60;  // characters of a wrong word that are shown
constexpr const char* kBlanks = " \t\r";

bool Printable(char c) { return static_cast<unsigned char>(c) > ' ' && c != '\x7f'; }

}  // namespace

TraceLines::TraceLines(const std::filesystem::path& path)
    : path_(path.string()), file_(OpenToRead(path_)) {
  if (!file_) throw Error(path_ + ": cannot be read, or is no plain file");
}

bool TraceLines::Next() {
  while (std::getline(file_, text_)) {
    ++line_;
    Split();
    if (!words_.empty()) return true;
  }
  if (file_.bad()) throw Error(path_ + ": cannot be read");
  return false;
}

Word TraceLines::End() const {
  return {"", words_.empty() ? 1 : words_.back().column + words_.back().text.size()};
}

void TraceLines::Fail(const Word& word, const std::string& what, const std::string& allowed) const {
  std::string value;
  const bool utf8 = IsUtf8(std::string(word.text));
  for (const char c : word.text.substr(0, kMostQuoted)) {
    value += Printable(c) && (utf8 || (c & 0x80) == 0) ? c : '?';
  }
  throw Error(path_ + ":" + std::to_string(std::max<int64_t>(line_, 1)) + ":" +
                  std::to_string(word.column) + ": " + what,
              value, allowed);
}

void TraceLines::Split() {
  words_.clear();
  const std::string_view text = std::string_view(text_).substr(0, text_.find('#'));
  for (size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words_.push_back({text.substr(at, end - at), at + 1});
    const std::string_view word = words_.back().text;
    if (!std::ranges::all_of(word, Printable) || !IsUtf8(std::string(word))) {
      Fail(words_.back(), "word", "printable characters");
    }
    at = text.find_first_not_of(kBlanks, end);
  }
}

}  // namespace legacy
