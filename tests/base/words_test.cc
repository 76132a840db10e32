#include "base/words.h"

#include <gtest/gtest.h>

#include "base/parse.h"

namespace legacy::words_test {
namespace {

TEST(Words, Utf8IsWhatUnicodeAdmits) {
  for (const char* text : {"", "a", "\xC2\xA0", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "a\xC3\xA9z"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  // Lone and missing continuations, overlong forms, surrogates, and what is above U+10FFFF.
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

}  // namespace
}  // namespace legacy::words_test
