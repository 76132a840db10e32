// The table of congestion controls, their texts, and the pacing of queue pairs.
#include "ns3-module/fabric/roce/controls.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "ns3-module/fabric/roce/pacer.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric {
namespace {

TEST(RoceControls, NoneSendsAtLineRate) {
  const auto control = MakeRoceControl("none", "--transport");
  alignas(kRoceStateAlignment) std::array<std::byte, 64> memory;
  ASSERT_LE(control->StateBytes(3), memory.size());
  const RoceState* state = control->Begin(memory.data(), {1e11, 5'000'000, 4178, 3}, 0);
  EXPECT_EQ(state->rate, 1e11);
  EXPECT_EQ(state->window, kNoWindow);
  EXPECT_EQ(state->timer, kNoTimer);
}

TEST(RoceControls, UnknownNamesAndKeysNameTheNearest) {
  EXPECT_EQ(MessageOf([] { MakeRoceControl("nine", "cc"); }).substr(0, 25),
            "cc: got 'nine'; allowed: ");
  EXPECT_NE(MessageOf([] { MakeRoceControl("nine", "cc"); }).find("the nearest is 'none'"),
            std::string::npos);
  EXPECT_EQ(MessageOf([] { MakeRoceControl("none:eta=1", "cc"); }),
            "cc: unknown key of none: got 'eta'; allowed: no keys");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("none:", "cc"); }),
            "cc: got 'none:'; allowed: NAME:key=value+key=value; '' is not key=value");
}

TEST(RoceControls, TextsAreCanonical) {
  EXPECT_EQ(CanonicalRoceControl("x:b=2+a=1", "cc"), "x:a=1+b=2");
  EXPECT_EQ(CanonicalRoceControl("none", "cc"), "none");
}

// 1,000 bytes at 10 Gbit/s take 800 ns.
TEST(RocePacer, PacesFramesFromTheirBegin) {
  RocePacer pacer;
  pacer.OnSent(5'000, 1000, 918, false, 0, 1e10);
  EXPECT_EQ(pacer.next, 5'000 + 800'000);
  pacer.OnRate(100'000, 5e9);
  EXPECT_EQ(pacer.next, 5'000 + 1'600'000);
  pacer.OnRate(900'000, 1e11);  // would have been 80 ns after its begin
  EXPECT_EQ(pacer.next, 900'000);
}

TEST(RocePacer, PacesBurstsAsAWhole) {
  RocePacer pacer;
  pacer.OnSent(0, 1082, 1000, false, 2000, 1e10);
  EXPECT_EQ(pacer.next, 0);  // the second frame follows at once
  pacer.OnSent(86'560, 1082, 1000, false, 2000, 1e10);
  EXPECT_EQ(pacer.next, 2 * 865'600);
  pacer.OnSent(2'000'000, 582, 500, true, 2000, 1e10);  // the message ends, and the burst
  EXPECT_EQ(pacer.next, 2'000'000 + 465'600);
}

}  // namespace
}  // namespace legacy::fabric
