#include "trainer/data/token_reader.h"

#include <array>

#include "base/error.h"
#include "trainer/data/images.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;

constexpr size_t kTextPiece = size_t{1} << 20;
constexpr size_t kLongestWord = size_t{1} << 16;  // bytes

// Returns the length of the UTF-8 sequence at the start of `text`, 0 if there is none, or if there
// is a NUL. A sequence that the end of the text cuts short does not count. (Unicode, table 3-7)
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  const auto follows = [&](size_t i, uint8_t least = 0x80, uint8_t most = 0xBF) {
    return byte(i) >= least && byte(i) <= most;
  };
  const uint8_t first = byte(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return follows(1) ? 2 : 0;
  if (first < 0xF0) {
    const uint8_t least = first == 0xE0 ? 0xA0 : 0x80;  // no overlong forms
    const uint8_t most = first == 0xED ? 0x9F : 0xBF;   // no surrogates
    return follows(1, least, most) && follows(2) ? 3 : 0;
  }
  if (first > 0xF4) return 0;
  const uint8_t least = first == 0xF0 ? 0x90 : 0x80;
  const uint8_t most = first == 0xF4 ? 0x8F : 0xBF;  // up to U+10FFFF
  return follows(1, least, most) && follows(2) && follows(3) ? 4 : 0;
}

// Throws Error for the byte at `offset` of a file, which is not text.
[[noreturn]] void ThrowNoText(const fs::path& file, uint64_t offset, std::string_view rest) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<uint8_t>(rest.front());
  const std::string hex = {kDigits[byte >> 4], kDigits[byte & 15]};
  ThrowFormatError(file, offset, byte == 0 ? "a NUL byte" : "byte 0x" + hex,
                   "text in UTF-8 (unit=bytes takes anything)");
}

// Calls take(text, offset, last) with growing parts of a file, plain or gzipped. `take` returns how
// many bytes it used; the others come again at the start of the next part.
void ReadParts(const fs::path& file,
               const std::function<size_t(std::string_view, uint64_t, bool)>& take) {
  if (fs::is_directory(file)) throw Error(file.string(), "a folder", "a file of text");
  ImageFile input(file);
  std::string text;
  uint64_t offset = 0;
  for (bool last = false; !last;) {
    const std::vector<uint8_t> piece = input.Read(kTextPiece);
    last = piece.size() < kTextPiece;
    text.append(piece.begin(), piece.end());
    const size_t used = take(text, offset, last);
    text.erase(0, used);
    offset += used;
  }
  if (offset == 0) ThrowFormatError(file, 0, "an empty file", "text");
}

// Appends the words of a file, with the end of each line.
void ReadWords(const fs::path& file, Numbering& numbering, Ids& ids) {
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); };
  bool open_line = false;  // true if the line has begun
  int32_t end_of_line = -1;
  const auto end_line = [&] {
    if (end_of_line < 0) end_of_line = numbering.Add(kEndOfLine).first;
    ids.push_back(end_of_line);
    open_line = false;
  };
  ReadParts(file, [&](std::string_view text, uint64_t offset, bool last) {
    size_t at = 0;
    while (at < text.size()) {
      if (text[at] == '\n') {
        end_line();
        ++at;
        continue;
      }
      open_line = true;
      if (is_blank(text[at])) {
        ++at;
        continue;
      }
      size_t end = at;
      while (end < text.size() && text[end] != '\n' && !is_blank(text[end])) ++end;
      if (end - at > kLongestWord) {
        ThrowFormatError(file, offset + at,
                         "a word of more than " + std::to_string(kLongestWord) + " bytes",
                         "words between blanks");
      }
      if (end == text.size() && !last) break;  // the word may continue
      const std::string_view word = text.substr(at, end - at);
      const auto [id, is_new] = numbering.Add(word);
      if (is_new) {
        for (size_t i = 0; i < word.size();) {
          const size_t length = SequenceLength(word.substr(i));
          if (length == 0) ThrowNoText(file, offset + at + i, word.substr(i));
          i += length;
        }
      }
      ids.push_back(id);
      at = end;
    }
    if (last && open_line) end_line();
    return at;
  });
}

// Appends the characters of a file.
void ReadCharacters(const fs::path& file, Numbering& numbering, Ids& ids) {
  constexpr size_t kLongest = 4;
  std::array<int32_t, 0x80> ascii;  // ids of these, or -1
  ascii.fill(-1);
  ReadParts(file, [&](std::string_view text, uint64_t offset, bool last) {
    size_t at = 0;
    while (at < text.size()) {
      const auto first = static_cast<uint8_t>(text[at]);
      if (first < ascii.size() && ascii[first] >= 0) {
        ids.push_back(ascii[first]);
        ++at;
        continue;
      }
      if (!last && text.size() - at < kLongest) break;  // the character may continue
      const size_t length = SequenceLength(text.substr(at));
      if (length == 0) ThrowNoText(file, offset + at, text.substr(at));
      ids.push_back(numbering.Add(text.substr(at, length)).first);
      if (length == 1) ascii[first] = ids.back();
      at += length;
    }
    return at;
  });
}

void ReadByteTokens(const fs::path& file, Ids& ids) {
  ReadParts(file, [&](std::string_view text, uint64_t, bool) {
    for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
    return text.size();
  });
}

}  // namespace

void ReadTokens(const fs::path& file, TextUnit unit, Numbering& numbering, Ids& ids) {
  switch (unit) {
    case TextUnit::kWords:
      return ReadWords(file, numbering, ids);
    case TextUnit::kCharacters:
      return ReadCharacters(file, numbering, ids);
    case TextUnit::kBytes:
      return ReadByteTokens(file, ids);
  }
}

}  // namespace legacy
