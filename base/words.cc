#include "base/words.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/number.h"

namespace legacy {
namespace {

constexpr size_t kShownCharacters = 60;

// Returns the length of the UTF-8 sequence at the start of a text; 0: there is none (Unicode,
// table 3-7).
size_t SequenceLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const auto follows = [&](size_t i, int least = 0x80, int most = 0xBF) {
    const int byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    return byte >= least && byte <= most;
  };
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return follows(1) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && follows(2) ? 3 : 0;
  }
  const bool second = follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
  return first >= 0xF0 && first <= 0xF4 && second && follows(2) && follows(3) ? 4 : 0;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::string Shown(std::string_view text) {
  std::string shown(text.substr(0, kShownCharacters));
  const bool utf8 = IsUtf8(text);
  const auto hidden = [utf8](char c) { return IsControl(c) || (!utf8 && (c & 0x80) != 0); };
  std::replace_if(shown.begin(), shown.end(), hidden, '?');
  return text.size() <= kShownCharacters ? shown : shown + "...";
}

std::string OneLine(std::string_view text) {
  std::string line;
  bool blank = false;
  for (const char c : text) {
    if (c == ' ' || IsControl(c)) {
      blank = !line.empty();
      continue;
    }
    line += blank ? " " : "";
    line += c;
    blank = false;
  }
  return line;
}

double ParseReal(std::string_view text, const std::string& where, double minimum, double maximum) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  // Negated, so that NaN fails.
  if (error != std::errc() || rest != end || !(value >= minimum && value <= maximum)) {
    throw Error(where, Shown(text),
                "a number from " + FormatLimit(minimum) + " to " + FormatLimit(maximum));
  }
  return value;
}

int64_t ParseWhole(std::string_view text, const std::string& where, int64_t minimum,
                   int64_t maximum) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < minimum || value > maximum) {
    throw Error(where, Shown(text),
                "an integer from " + std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return value;
}

WordLines::WordLines(const std::string& path, std::string text, WordStyle style)
    : path_(path), text_(std::move(text)), style_(style) {}

bool WordLines::Advance() {
  words_.clear();
  while (words_.empty() && position_ < text_.size()) {
    const size_t end = std::min(text_.find('\n', position_), text_.size());
    std::string_view line(text_.data() + position_, end - position_);
    line_start_ = position_;
    position_ = end + 1;
    ++line_;
    if (style_.comments_follow) line = line.substr(0, line.find(style_.comment));
    Split(line);
    if (!words_.empty() && style_.comment != 0 && words_[0].text[0] == style_.comment) {
      words_.clear();
    }
  }
  return !words_.empty();
}

void WordLines::Split(std::string_view line) {
  const auto separates = [this](char c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == style_.separator;
  };
  for (const char* end = line.begin();;) {
    const char* const begin = std::find_if_not(end, line.end(), separates);
    if (begin == line.end()) return;
    end = std::find_if(begin, line.end(), separates);
    words_.push_back(
        {line.substr(static_cast<size_t>(begin - line.begin()), static_cast<size_t>(end - begin)),
         static_cast<size_t>(begin - line.begin()) + 1});
  }
}

void WordLines::Next(const std::string& what, size_t count) {
  if (!Advance()) {
    throw Error(End(), "the end of the file", what);
  }
  if (words_.size() != count) {
    throw Error(Location(std::min(count, words_.size() - 1)), Line(), what);
  }
}

void WordLines::Again() {
  if (!words_.empty()) {
    position_ = line_start_;
    --line_;
    words_.clear();
  }
}

const std::vector<PlacedWord>& WordLines::Words() const { return words_; }

size_t WordLines::Count() const { return words_.size(); }

std::string WordLines::Word(size_t word) const { return std::string(words_[word].text); }

int64_t WordLines::LineNumber() const { return line_; }

std::string WordLines::Line() const {
  std::string line;
  for (const PlacedWord& word : words_) {
    line.append(line.empty() ? "" : " ").append(word.text);
    if (line.size() > kShownCharacters) {
      break;
    }
  }
  return Shown(line);
}

std::string WordLines::Location(const PlacedWord& word) const {
  const int64_t line = std::max<int64_t>(line_, 1);
  return path_ + ":" + std::to_string(line) + ":" + std::to_string(word.column);
}

std::string WordLines::Location(size_t word) const { return Location(words_[word]); }

std::string WordLines::End() const { return path_ + ":" + std::to_string(line_ + 1); }

int WordLines::Integer(size_t word, const std::string& what, int minimum, int maximum) const {
  return static_cast<int>(Whole(word, what, minimum, maximum));
}

int64_t WordLines::Whole(size_t word, const std::string& what, int64_t minimum,
                         int64_t maximum) const {
  return ParseWhole(words_[word].text, Location(word) + ": " + what, minimum, maximum);
}

double WordLines::Real(size_t word, const std::string& what, double minimum, double maximum) const {
  return ParseReal(words_[word].text, Location(word) + ": " + what, minimum, maximum);
}

bool WordLines::Parse(size_t word, double& number) const {
  const std::string_view text = words_[word].text;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

}  // namespace legacy
