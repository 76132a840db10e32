// GOAL schedules: the grammar, times by hand, and what is refused.
#include <gtest/gtest.h>

#include "scenarios/graphs/goal_reader.h"
#include "tests/graphs/graph_testing.h"
#include "tests/message_of.h"

namespace legacy::graphs::goal_test {
namespace {

using graph_test::Folder;
using graph_test::TimesOf;

fabric::StepPlan PlanOf(const std::string& text) {
  const Folder folder;
  return ImportTrace(folder.Write("t.goal", text), "", {}).plan;
}

constexpr const char* kPingPong = R"(// there and back
num_ranks 2
rank 0 {
  l1: calc 5000 cpu 0
  l2: send 1000b to 1 tag 7 cpu 0 nic 0
  l3: recv 1000b from 1 tag 8
  l4: calc 300
  l2 requires l1
  l4 requires l3
}
rank 1 { a: recv 1000b from 0 tag 7; b: send 1000b to 0 tag 8 /* at once */ b requires a }
)";

TEST(Goal, ReadsTheGrammar) {
  EXPECT_EQ(fabric::ToText(PlanOf(kPingPong)),
            "2 ranks\n"
            "stream compute, any order\n"
            "stream sends, any order\n"
            "stream receives, any order\n"
            "role 0: ranks 0\n"
            "  0 l1: segment compute of 5000 ns, on compute\n"
            "  1 l2: send of 1000 B to 1, tag 7, on sends, after 0\n"
            "  2 l3: receive from 1, tag 8, on receives\n"
            "  3 l4: segment compute of 300 ns, on compute, after 2\n"
            "role 1: ranks 1\n"
            "  0 a: receive from 0, tag 7, on receives\n"
            "  1 b: send of 1000 B to 0, tag 8, on sends, after 0\n");
}

TEST(Goal, MessagesTakeTheirTimeBothWays) {
  const fabric::PlanTiming times = TimesOf(PlanOf(kPingPong));
  const TimeNs there = times.roles[1][0].end[0] - 5000;
  EXPECT_GT(there, 2 * 1000);
  EXPECT_EQ(times.roles[0][2].end[0], 5000 + 2 * there);
  EXPECT_EQ(times.total, 5000 + 2 * there + 300);
}

// What waits for a start waits for what that waits for; what runs on another cpu runs beside.
TEST(Goal, StartsAndCpus) {
  const fabric::StepPlan plan = PlanOf(
      "num_ranks 1\nrank 0 { a: calc 100 b: calc 50 cpu 1 c: calc 7 cpu 1 d: calc 20\n"
      "b requires a c irequires b d irequires c }");
  EXPECT_EQ(plan.roles[0].operations[2].after, std::vector<int>{0});
  EXPECT_EQ(plan.roles[0].operations[3].after, std::vector<int>{0});
  EXPECT_EQ(TimesOf(plan).finish[0], 100 + 50 + 7);
}

// Ranks may be in any order; those that are not there do nothing.
TEST(Goal, RanksComeInAnyOrder) {
  const fabric::StepPlan plan =
      PlanOf("num_ranks 3\nrank 2 { x: calc 5 }\nrank 0 { calc 6 calc 7 }");
  EXPECT_EQ(TimesOf(plan).finish, (std::vector<TimeNs>{13, 0, 5}));
}

TEST(Goal, RefusesOtherTexts) {
  const Folder folder;
  const auto refusal = [&](const std::string& text) {
    const std::string path = folder.Write("t.goal", text);
    return MessageOf([&] { ImportTrace(path, "", {}); }).substr(folder.Path().size() + 1);
  };
  EXPECT_EQ(refusal(""), "t.goal:1: a word: got ''; allowed: num_ranks");
  EXPECT_EQ(refusal("num_ranks 2\nrank 2 { }"),
            "t.goal:2: rank: got '2'; allowed: an integer from 0 to 1");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\n a: jump 5 }"),
            "t.goal:3: operation: got 'jump'; allowed: send, recv, calc");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\n a: calc 5\n a: calc 6 }"),
            "t.goal:4: the label a is there twice");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\n a: calc 5\n b requires a }"),
            "t.goal:4: there is no label b before");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 {\n a: calc 5\n a irequires a }"),
            "t.goal:4: a waits for itself");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 { a: calc 5 b: calc 5 a irequires b b irequires a }"),
            "t.goal: rank 0: node 0 'a': waits, over others, for its own start");
  EXPECT_EQ(refusal("num_ranks 2\nrank 0 { a: send -1b to 1 }"),
            "t.goal:2: bytes: got '-1'; allowed: an integer from 0 to 70368744177664");
  EXPECT_EQ(refusal("num_ranks 1 /* never"), "t.goal:1: a comment has no end");
  EXPECT_EQ(refusal("num_ranks 1\nrank 0 { a: calc 5"), "t.goal:2: the text ends too early");
  EXPECT_EQ(refusal("num_ranks 2\nrank 1 { a: recv 5b from 0 tag 3 }"),
            "t.goal: rank 1: node 0 'a': receives from rank 0 with tag 3, which never sends that");
}

}  // namespace
}  // namespace legacy::graphs::goal_test
