// Selective repeat as arithmetic: which frames are sent again, and when a recovery begins and ends.
#include "ns3-module/fabric/roce/selective.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/hash.h"

namespace legacy::fabric {
namespace {

constexpr uint64_t kNext = 20;  // frames 0 to 19 are sent

SelectiveSender Sender(uint64_t reorder) {
  SelectiveSender sender;
  sender.Open(64, reorder);
  return sender;
}

// Returns the frames that it sends again now.
std::vector<uint64_t> Resent(SelectiveSender& sender, uint64_t acked) {
  std::vector<uint64_t> resent;
  while (sender.HasHole()) {
    resent.push_back(sender.Hole());
    sender.OnResent(acked, kNext);
  }
  return resent;
}

TEST(RoceSelective, HolesBelowTheHighestAreSentOnceEach) {
  SelectiveSender sender = Sender(1);
  EXPECT_FALSE(sender.Update(5, kNext));
  EXPECT_TRUE(sender.OnArrived(6));
  EXPECT_FALSE(sender.OnArrived(6));
  EXPECT_TRUE(sender.Update(5, kNext));  // 5 is lost: a recovery begins
  EXPECT_EQ(Resent(sender, 5), (std::vector<uint64_t>{5}));
  sender.OnArrived(9);
  EXPECT_FALSE(sender.Update(5, kNext));  // the same recovery
  EXPECT_EQ(Resent(sender, 5), (std::vector<uint64_t>{7, 8}));
  EXPECT_EQ(sender.Ahead(), 2u);
  EXPECT_FALSE(sender.Forget(5));
  EXPECT_TRUE(sender.Forget(6));
  EXPECT_FALSE(sender.Forget(7));
  EXPECT_FALSE(sender.Update(8, kNext));
  EXPECT_FALSE(sender.HasHole());  // 8 was sent again, and may be under way
  sender.OnTimeout(8, kNext);
  EXPECT_EQ(Resent(sender, 8), (std::vector<uint64_t>{8}));
}

TEST(RoceSelective, ARecoveryEndsWhenAllSentBeforeItIsAcknowledged) {
  SelectiveSender sender = Sender(1);
  sender.OnArrived(1);
  EXPECT_TRUE(sender.Update(0, 10));  // 0 to 9 are sent
  sender.OnResent(0, 10);
  sender.Forget(1);
  sender.OnArrived(9);
  EXPECT_FALSE(sender.Update(8, 14));  // 8 is lost in it
  EXPECT_EQ(sender.Hole(), 8u);
  sender.OnResent(8, 14);
  sender.Forget(9);
  sender.OnArrived(12);
  EXPECT_TRUE(sender.Update(10, 14));  // all of the first are acknowledged: another one
}

TEST(RoceSelective, FramesThatOvertakeAreNoLosses) {
  SelectiveSender sender = Sender(4);
  for (const uint64_t psn : {3, 1, 2}) {
    sender.OnArrived(psn);
    EXPECT_FALSE(sender.Update(0, kNext)) << psn;
  }
  sender.OnArrived(4);  // sent 4 later than 0
  EXPECT_TRUE(sender.Update(0, kNext));
  EXPECT_EQ(Resent(sender, 0), (std::vector<uint64_t>{0}));
}

TEST(RoceSelective, TheReceiverPlacesFrames) {
  SelectiveReceiver receiver;
  receiver.Open(8);
  EXPECT_EQ(receiver.Place(0, 0), 1u);
  EXPECT_EQ(receiver.Place(2, 1), 1u);
  EXPECT_TRUE(receiver.Has(2));
  EXPECT_TRUE(receiver.IsOvertaken(1));
  EXPECT_EQ(receiver.Place(3, 1), 1u);
  EXPECT_EQ(receiver.Place(1, 1), 4u);
  EXPECT_FALSE(receiver.Has(4));
}

// Any losses, of frames sent again too: all arrives, and in each recovery a frame is sent once.
TEST(RoceSelective, AnyLossesAreRecovered) {
  constexpr uint64_t kFrames = 2000;
  constexpr uint64_t kSpan = 48;
  for (const uint64_t reorder : {1, 5}) {
    SelectiveSender sender;
    SelectiveReceiver receiver;
    sender.Open(kSpan, reorder);
    receiver.Open(kSpan);
    uint64_t next = 0;
    uint64_t acked = 0;
    uint64_t expected = 0;
    uint64_t draws = 0;
    int timeouts = 0;
    std::set<uint64_t> got;
    while (acked < kFrames) {
      const bool again = sender.HasHole();
      if (!again && (next == kFrames || next - acked >= kSpan)) {
        sender.OnTimeout(acked, next);
        ASSERT_LT(++timeouts, 1000);
        continue;
      }
      const uint64_t psn = again ? sender.Hole() : next++;
      if (again) sender.OnResent(acked, next);
      if (UnitInterval(HashWords({reorder, draws++})) < 0.1) continue;  // lost
      const bool is_new = psn >= expected && !receiver.Has(psn);
      ASSERT_EQ(is_new, got.insert(psn).second);
      if (is_new) expected = receiver.Place(psn, expected);
      for (; acked < expected; ++acked) sender.Forget(acked);
      if (psn >= expected) sender.OnArrived(psn);
      sender.Update(acked, next);
    }
    EXPECT_EQ(got.size(), kFrames);
    EXPECT_EQ(sender.Ahead(), 0u);
  }
}

}  // namespace
}  // namespace legacy::fabric
