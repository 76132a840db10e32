#include "base/programs/terminal.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

namespace legacy::terminal_test {
namespace {

class Terminal : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("COLUMNS"); }
};

TEST_F(Terminal, IsAsWideAsColumnsSay) {
  setenv("COLUMNS", "80", 1);
  EXPECT_EQ(OutputColumns(), 80u);
  EXPECT_EQ(ErrorColumns(), 80u);
  setenv("COLUMNS", "10", 1);  // nothing can be read there
  EXPECT_EQ(OutputColumns(), 60u);
  setenv("COLUMNS", "1000", 1);
  EXPECT_EQ(OutputColumns(), 160u);
}

TEST_F(Terminal, TextsAreWrappedBetweenWords) {
  EXPECT_EQ(Wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(Wrapped("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(Wrapped("  one two three\nfour\n", 9), "  one two\n  three\nfour\n");
  EXPECT_EQ(Wrapped("unbreakable", 4), "unbreakable");
  EXPECT_EQ(Wrapped("µµµµ µµµµ", 9), "µµµµ µµµµ");  // characters count, and not bytes
  EXPECT_EQ(Wrapped("a\n\ne f g", 4), "a\n\ne f\ng");
  EXPECT_EQ(Wrapped("topk   keeps the largest", 18, 2), "topk   keeps the\n  largest");
  EXPECT_EQ(Wrapped("as it  is", SIZE_MAX), "as it  is");
}

}  // namespace
}  // namespace legacy::terminal_test
