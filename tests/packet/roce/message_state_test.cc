// With `idle=message` each message has rates and windows of its own: answers to frames of the
// previous message do not change them.
#include <algorithm>
#include <string>
#include <vector>

#include "model/roce/roce-event.h"
#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::message_state_test {
namespace {

using fabric::DirectedLink;
using packet::Frame;
using packet::FrameKind;

constexpr int64_t kGbps = 1'000'000'000;
constexpr int64_t kBytes = 2'000'000;
constexpr uint64_t kFrames = (kBytes + 4095) / 4096;  // of a message
constexpr TimeNs kDelay = 5000;
constexpr DirectedLink kFromNic = 0;       // host 0 > switch
constexpr DirectedLink kFromReceiver = 6;  // host 3 > switch

// The rate and window that the NIC of host 0 is allowed when a frame begins to leave.
struct Allowed {
  double rate = 0;
  double window = 0;
};

bool operator==(const Allowed& a, const Allowed& b) {
  return a.rate == b.rate && a.window == b.window;
}

struct Seen {
  Allowed fresh;              // at the first frame of the first message
  Allowed last;               // at its last frame but one
  std::vector<Allowed> next;  // at frames of the second, until one of them may be answered
  std::vector<Allowed> all;   // at all frames of the second
  int late = 0;               // answers to the first that come during `next`
  double ended = 0;           // rate at the end of the first, by its record
};

// Two messages from host 0 follow each other on one queue pair; `others` send to the same host.
// Frame `lost` of the first message is lost once.
Seen Watch(const std::string& options, const std::vector<fabric::Flow>& others,
           uint64_t lost = UINT64_MAX) {
  RoceRun run(Star(4, 100 * kGbps, kDelay), "roce:" + options);
  Seen seen;
  packet::Picoseconds answered = INT64_MAX;
  LoseOnce lose{kFromNic, FrameKind::Data, lost};
  run.ports().SetDrop([&](DirectedLink link, const Frame& frame) {
    if (frame.kind == FrameKind::Pause || frame.pair != 0) return false;
    const bool second = frame.kind == FrameKind::Data && frame.psn >= kFrames;
    const packet::QueuePair& pair = run.pairs()[0];
    const packet::Picoseconds now = packet::RoceNow();
    if (link == kFromReceiver && pair.expected >= kFrames) {
      answered = std::min(answered, now + 2 * kDelay * fabric::kPicosecondsPerNs);
    }
    if (link == (kFromNic ^ 1) && !seen.next.empty() && now < answered) ++seen.late;
    if (link == kFromNic && frame.kind == FrameKind::Data) {
      const Allowed allowed{pair.Rate(), pair.Window()};
      if (frame.psn == 0) seen.fresh = allowed;
      if (frame.psn == kFrames - 2) seen.last = allowed;
      if (second) seen.all.push_back(allowed);
      if (second && now < answered) seen.next.push_back(allowed);
    }
    return lose(link, frame);
  });
  std::vector<fabric::Flow> flows(2, {0, 3, kBytes});
  flows.insert(flows.end(), others.begin(), others.end());
  seen.ended = run.Records(flows)[0].rateAtEnd;
  return seen;
}

const std::vector<fabric::Flow> kOthers = {{1, 3, 4 * kBytes}, {2, 3, 4 * kBytes}};

TEST(RoceMessageState, IsNotThatOfTheMessageBefore) {
  for (const std::string control :
       {"dcqcn:cnp=0s,ack=1,ecn=20KB/100KB/1", "dcqcn:np=window,ack=1", "dcqcn:parameters=mellanox",
        "hpcc", "timely:low=10us+high=50us+a=0.875", "swift", "swift,recovery=selective"}) {
    const Seen seen = Watch("idle=message,cc=" + control, kOthers);
    EXPECT_FALSE(seen.last == seen.fresh) << control;
    EXPECT_NEAR(seen.ended, seen.last.rate, 0.1 * seen.last.rate) << control;
    EXPECT_GT(seen.late, 0) << control;
    ASSERT_FALSE(seen.next.empty()) << control;
    for (const Allowed& allowed : seen.next) EXPECT_TRUE(allowed == seen.fresh) << control;
    // Answers to its own frames count.
    EXPECT_FALSE(std::all_of(seen.all.begin(), seen.all.end(), [&](const Allowed& allowed) {
      return allowed == seen.fresh;
    })) << control;

    const Seen kept = Watch("idle=keep,cc=" + control, kOthers);
    EXPECT_FALSE(kept.all.front() == kept.fresh) << control;
  }
}

// The last frame of the first message is missed when the second has begun, in a network without a
// queue, where Swift's window falls only by a loss.
TEST(RoceMessageState, IsNotToldOfALossBefore) {
  for (const std::string recovery : {"go-back-n", "selective"}) {
    const std::string options = ",cc=swift,recovery=" + recovery;
    const auto least = [&](const std::string& idle) {
      const Seen seen = Watch("idle=" + idle + options, {}, kFrames - 1);
      double window = seen.fresh.window;
      for (const Allowed& allowed : seen.all) window = std::min(window, allowed.window);
      return window / seen.fresh.window;
    };
    EXPECT_EQ(least("message"), 1) << recovery;
    EXPECT_LT(least("keep"), 0.9) << recovery;
  }
}

}  // namespace
}  // namespace legacy::packet_test::message_state_test
