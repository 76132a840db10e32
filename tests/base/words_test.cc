#include "base/words.h"

#include <gtest/gtest.h>

#include "base/parse.h"
#include "tests/message_of.h"

namespace legacy::words_test {
namespace {

TEST(Words, Utf8IsWhatUnicodeAdmits) {
  for (const char* text : {"", "a", "\xC2\xA0", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "a\xC3\xA9z"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  // Lone and missing continuations, overlong forms, surrogates, and values above U+10FFFF.
  for (const char* text : {"\x80", "a\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3(a"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(Words, AreTrimmedAndSplit) {
  EXPECT_EQ(Trimmed(" \ta b\n "), "a b");
  EXPECT_EQ(Trimmed(" \t\n"), "");
  EXPECT_EQ(Split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(Split("", ','), std::vector<std::string>{""});
  EXPECT_EQ(SplitList("a,,b,"), (std::vector<std::string>{"a", "b"}));
}

TEST(Words, AreShownInOneLineOfUtf8) {
  EXPECT_EQ(Shown("a\tb\x7F\xC3\xA9"), "a?b?\xC3\xA9");
  EXPECT_EQ(Shown("a\xE9"), "a?");
  EXPECT_EQ(Shown(std::string(61, 'a')), std::string(60, 'a') + "...");
}

// Returns the words of all lines as "line:column word", one a line.
std::string WordsIn(const std::string& text, WordStyle style = {}) {
  std::string words;
  for (WordLines lines("", text, style); lines.Advance();) {
    for (const PlacedWord& word : lines.Words()) {
      words += lines.Location(word).substr(1) + " " + std::string(word.text) + "\n";
    }
  }
  return words;
}

TEST(WordLines, KnowThePlacesOfWords) {
  EXPECT_EQ(WordsIn("\n a,b\t#c\r\n\n\v\n# d\n1#2"), "2:2 a,b\n2:6 #c\n5:1 #\n5:3 d\n6:1 1#2\n");
  EXPECT_EQ(WordsIn("a #b\n # c\n#\n", {'#'}), "1:1 a\n1:3 #b\n");
  EXPECT_EQ(WordsIn("a #b\n # c\n1#2\n", {'#', true}), "1:1 a\n3:1 1\n");
  EXPECT_EQ(WordsIn("a, b ,c", {.separator = ','}), "1:1 a\n1:4 b\n1:7 c\n");
}

TEST(WordLines, SayWhereSomethingIsWrong) {
  WordLines lines("file", "7 x\n\n8\n");
  lines.Next("two words", 2);
  EXPECT_EQ(lines.Whole(0, "number", 0, 9), 7);
  EXPECT_EQ(MessageOf([&] { lines.Real(1, "rate", 0, 9); }),
            "file:1:3: rate: got 'x'; allowed: a number from 0 to 9");
  EXPECT_EQ(MessageOf([&] { lines.Next("two words", 2); }),
            "file:3:1: got '8'; allowed: two words");
  lines.Again();
  lines.Next("a word", 1);
  EXPECT_EQ(lines.LineNumber(), 3);
  EXPECT_EQ(MessageOf([&] { lines.Next("a word", 1); }),
            "file:4: got 'the end of the file'; allowed: a word");
}

}  // namespace
}  // namespace legacy::words_test
