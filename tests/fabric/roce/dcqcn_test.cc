// DCQCN against its equations, event by event, and against its fixed point.
#include "ns3-module/fabric/roce/dcqcn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/hash.h"
#include "ns3-module/fabric/roce/dcqcn-fixed-point.h"
#include "ns3-module/fabric/roce/notifier.h"
#include "tests/fabric/fabric_testing.h"
#include "tests/fabric/roce/roce_testing.h"

namespace legacy::fabric {
namespace {

using DcqcnPair = QueuePairOf<DcqcnState>;

constexpr RocePath kDcqcnPath{40e9, 10 * kUs, 1000, 1};
constexpr double kExact = 1e-12;  // relative

TEST(Dcqcn, FollowsAHandMadeSequence) {
  DcqcnPair pair("dcqcn:ai=40Mbps+bytes=off", kDcqcnPath);
  EXPECT_EQ(pair.state().rate, 40e9);
  EXPECT_EQ(pair.state().timer, kNoTimer);  // at line rate
  pair.Cnp(100 * kUs);
  EXPECT_EQ(pair.state().rate, 20e9);
  EXPECT_EQ(pair.state().target, 40e9);
  EXPECT_EQ(pair.state().timer, 155 * kUs);
  pair.Cnp(150 * kUs);
  EXPECT_EQ(pair.state().rate, 10e9);
  EXPECT_EQ(pair.state().target, 20e9);
  double rate = 10e9;
  for (int i = 1; i <= 5; ++i) {  // fast recovery
    rate = (rate + 20e9) / 2;
    pair.Advance((150 + 55 * i) * kUs);
    EXPECT_EQ(pair.state().rate, rate);
    EXPECT_EQ(pair.state().target, 20e9);
  }
  pair.Advance((150 + 55 * 6) * kUs);  // additive increase
  EXPECT_EQ(pair.state().target, 20.04e9);
  EXPECT_EQ(pair.state().rate, (19.6875e9 + 20.04e9) / 2);
  pair.Advance((150 + 55 * 7) * kUs);  // hyper increase: without a byte counter, by time alone
  EXPECT_EQ(pair.state().target, 20.24e9);
  // Alpha was 1 with the CNPs, and has had seven periods since.
  const auto& control = dynamic_cast<const Dcqcn&>(pair.control());
  EXPECT_NEAR(control.Alpha(pair.state(), (150 + 55 * 7) * kUs), std::pow(255.0 / 256, 7), kExact);
  pair.Cnp(540 * kUs);
  EXPECT_NEAR(pair.state().alpha, 255.0 / 256 * std::pow(255.0 / 256, 7) + 1.0 / 256, kExact);
}

TEST(Dcqcn, ReachesTheLineAndThenNeedsNoTimer) {
  DcqcnPair pair("dcqcn", kDcqcnPath);
  pair.Cnp(0);
  pair.Advance(5000 * kUs);
  EXPECT_EQ(pair.state().rate, 40e9);
  EXPECT_EQ(pair.state().timer, kNoTimer);
}

// Both stage counts beyond F are hyper increase: 200 Mbit/s on 40 Gbit/s.
TEST(Dcqcn, IncreasesHyperAfterStagesOfBoth) {
  DcqcnPair pair("dcqcn:f=1+bytes=1000B+timer=1us", kDcqcnPath);
  pair.Cnp(0);
  pair.Cnp(kUs / 2);
  EXPECT_EQ(pair.state().target, 20e9);
  pair.Sent(kUs / 2 + 1, 2000);  // events 0 and 1 of the counter: recovery, then additive
  EXPECT_EQ(pair.state().target, 20.04e9);
  pair.Advance(2 * kUs);  // event 0 of the timer: two of bytes, none of time
  EXPECT_EQ(pair.state().target, 20.08e9);
  pair.Advance(3 * kUs);  // event 1: two of bytes, one of time, which is not more than F
  EXPECT_EQ(pair.state().target, 20.12e9);
  pair.Advance(4 * kUs);  // event 2: two of both
  EXPECT_EQ(pair.state().target, 20.32e9);
}

// The equations, with every end of a period executed when it comes.
class Oracle {
 public:
  Oracle(const DcqcnParameters& parameters, double line, double additive, double hyper)
      : p_(parameters), line_(line), additive_(additive), hyper_(hyper), rate(line), target(line) {}

  void Advance(Picoseconds now) {
    while (true) {
      Picoseconds first = std::min({alpha_at_, cut_at_, increase_at_});
      if (first > now) return;
      if (alpha_at_ == first) {
        alpha_at_ += p_.alphaPeriod;
        const bool fed = p_.cutPeriod > 0 && seen_;
        alpha = (1 - p_.gain) * alpha + (fed ? p_.gain : 0);
        seen_ = false;
      } else if (cut_at_ == first) {
        cut_at_ += p_.cutPeriod;
        if (pending_) Cut(first);
        pending_ = false;
      } else {
        increase_at_ += p_.timer;
        Increase();
        ++by_time_;
      }
    }
  }
  void Cnp(Picoseconds now) {
    Advance(now);
    if (!known_) {
      known_ = true;
      alpha_at_ = now + p_.alphaPeriod;
      if (p_.cutPeriod > 0) cut_at_ = now + p_.cutPeriod;
    }
    if (p_.cutPeriod > 0) {
      pending_ = true;
      seen_ = true;
      return;
    }
    Cut(now);
    alpha = (1 - p_.gain) * alpha + p_.gain;
    alpha_at_ = now + p_.alphaPeriod;
  }
  void Sent(Picoseconds now, int64_t bytes) {
    Advance(now);
    if (p_.counterBytes == 0) return;
    counted_ += bytes;
    while (counted_ >= p_.counterBytes) {
      counted_ -= p_.counterBytes;
      Increase();
      ++by_bytes_;
    }
  }

 private:
  void Cut(Picoseconds now) {
    if (!p_.targetAfterTime || by_time_ > 0) target = rate;
    rate = std::max(rate * (1 - alpha / 2), p_.leastRate);
    by_time_ = by_bytes_ = counted_ = 0;
    increase_at_ = now + p_.timer;
  }
  void Increase() {
    const int64_t bytes = p_.counterBytes > 0 ? by_bytes_ : by_time_;
    if (std::max(by_time_, bytes) >= p_.stages) {
      target += std::min(by_time_, bytes) > p_.stages ? hyper_ : additive_;
    }
    target = std::min(target, line_);
    rate = (rate + target) / 2;
  }

  DcqcnParameters p_;
  double line_;
  double additive_;
  double hyper_;
  Picoseconds alpha_at_ = kNoTimer;
  Picoseconds cut_at_ = kNoTimer;
  Picoseconds increase_at_ = kNoTimer;
  bool known_ = false;
  bool pending_ = false;
  bool seen_ = false;
  int64_t by_time_ = 0;
  int64_t by_bytes_ = 0;
  int64_t counted_ = 0;

 public:
  double rate;
  double target;
  double alpha = 1;
};

// 3,000 random CNPs, frames and waits, of which some let the rate come back to the line.
void CompareWithOracle(const std::string& text, double scale, uint64_t seed) {
  DcqcnPair pair(text, kDcqcnPath);
  const auto& control = dynamic_cast<const Dcqcn&>(pair.control());
  const size_t colon = text.find(':');
  Settings settings("cc", "dcqcn");
  settings.Set("parameters", text.substr(colon + 12));
  const DcqcnParameters parameters = Dcqcn::Read(settings);
  Oracle oracle(parameters, 40e9, parameters.additive * scale, parameters.hyper * scale);
  Picoseconds now = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    const uint64_t hash = HashWords({seed, i});
    const uint64_t longest = hash % 50 == 0 ? 40'000 * kUs : 30 * kUs;
    now += static_cast<Picoseconds>(Reduce(Mix64(hash), longest / 1000)) * 1000 + 1;
    if (hash % 7 == 0) {
      pair.Cnp(now);
      oracle.Cnp(now);
    } else {
      const auto bytes = static_cast<int64_t>(Reduce(Mix64(hash + 1), 3'000'000));
      pair.Sent(now, bytes);
      oracle.Sent(now, bytes);
    }
    ASSERT_NEAR(pair.state().rate, oracle.rate, kExact * oracle.rate) << text << " " << i;
    ASSERT_NEAR(pair.state().target, oracle.target, kExact * oracle.target) << text << " " << i;
    ASSERT_NEAR(control.Alpha(pair.state(), now), oracle.alpha, kExact * oracle.alpha)
        << text << " " << i;
  }
}

TEST(Dcqcn, EqualsTheEquationsInRandomSequences) {
  for (uint64_t seed : {1, 2, 3}) {
    CompareWithOracle("dcqcn:parameters=paper", 1, seed);
    CompareWithOracle("dcqcn:parameters=mellanox", 1, seed);
    CompareWithOracle("dcqcn:parameters=hpcc", 40.0 / 25, seed);
    CompareWithOracle("dcqcn:parameters=astra-sim", 1, seed);
  }
}

TEST(Dcqcn, RefusesBadParameters) {
  EXPECT_EQ(MessageOf([] { MakeRoceControl("dcqcn:parameters=papers", "cc"); }),
            "cc: dcqcn: parameters: got 'papers'; allowed: paper, mellanox, hpcc, astra-sim");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("dcqcn:g=0", "cc"); }),
            "cc: dcqcn: g: got '0'; allowed: a number from 1e-09 to 1");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("dcqcn:timer=0s", "cc"); }),
            "cc: dcqcn: timer: got '0 ns'; allowed: 1 ns to 1000 s");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("dcqcn:bytes=0", "cc"); }),
            "cc: dcqcn: bytes: got '0'; allowed: a size > 0, or off");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("dcqcn:target=never", "cc"); }),
            "cc: dcqcn: target: got 'never'; allowed: always, after-time");
  EXPECT_NE(MessageOf([] { MakeRoceControl("dcqcn:times=1us", "cc"); }).find("did you mean timer?"),
            std::string::npos);
}

// N flows at the fixed point, with frames of 1,000 bytes.
struct Settled {
  double rate;
  EcnThresholds ecn;
  int flows;
  double published;  // p* by the equations of CoNEXT'16
};

constexpr EcnThresholds kPaperMarks{5e3, 200e3, 0.01};
constexpr EcnThresholds kPaperLine{5e3, 1955e3, 0.1};  // the same, up to ten times the probability
constexpr EcnThresholds kProductionMarks{400e3, 1600e3, 0.2};
constexpr Settled kSettled[] = {
    {40e9, kPaperMarks, 2, 7.770e-4},       {40e9, kPaperMarks, 4, 1.888e-3},
    {40e9, kPaperMarks, 8, 4.552e-3},       {40e9, kPaperLine, 8, 4.552e-3},
    {100e9, kProductionMarks, 2, 2.387e-4}, {100e9, kProductionMarks, 4, 5.831e-4},
    {100e9, kProductionMarks, 8, 1.420e-3},
};

DcqcnFixedPoint FixedPointOf(const Settled& one, const std::string& np) {
  Settings settings("cc", "dcqcn");
  settings.Set("ai", "40Mbps");
  settings.Set("np", np);
  return {Dcqcn::Read(settings), one.flows, one.rate, 1000};
}

// Returns p*: CoNEXT'16's for its receiver, and for the other one that of cycles.
double FixedPointMarks(const Settled& one, const std::string& np) {
  const DcqcnFixedPoint point = FixedPointOf(one, np);
  return np == "window" ? point.Solve() : point.SolveCycles();
}

TEST(DcqcnFixedPoint, OfCyclesIsThatOfTheFluidWhereMarksAreAnsweredAtTheEndsOfIntervals) {
  for (const Settled& one : kSettled) {
    const DcqcnFixedPoint point = FixedPointOf(one, "window");
    EXPECT_NEAR(point.Solve(), one.published, 1e-3 * one.published);
    EXPECT_NEAR(point.SolveCycles(), one.published, 0.01 * one.published);
  }
}

TEST(DcqcnFixedPoint, IsTheSameForBothReceiversWhereEachMarkIsAnswered) {
  for (const Settled& one : kSettled) {
    DcqcnFixedPoint gap = FixedPointOf(one, "gap");
    DcqcnFixedPoint window = FixedPointOf(one, "window");
    gap.interval = window.interval = 0;
    EXPECT_DOUBLE_EQ(gap.SolveCycles(), window.SolveCycles());
  }
}

// The same without a queue: frames of one flow at constant probability, which both forms assume.
// Returns its mean rate over C/N.
double RateAtConstantMarks(const Settled& one, const std::string& np, double share) {
  DcqcnPair pair("dcqcn:ai=40Mbps+np=" + np, RocePath{1e15, 10 * kUs, 1000, 1});
  const double fair = one.rate / one.flows;
  pair.Cnp(0);
  pair.state().rate = pair.state().target = fair;
  pair.state().alpha = 0.1;
  RocePacer pacer;
  RoceNotifier notifier;
  Picoseconds cnp = kNoTimer;
  const Picoseconds until = 1'000'000 * kUs;
  const Picoseconds from = until / 10;
  constexpr Picoseconds kBack = 8 * kUs;
  int64_t sent = 0;
  for (uint64_t i = 0; pacer.next < until; ++i) {
    const Picoseconds now = pacer.next;
    if (cnp <= now) {
      pair.Cnp(now);
      cnp = kNoTimer;
    }
    pair.Sent(now, 1000);
    pacer.OnSent(now, 1000, 918, false, 0, pair.state().rate);
    const bool marked = MarkingDraw(1, 0, i) < share;
    if (notifier.OnFrame(now, now, marked, pair.control().Traits())) cnp = now + kBack;
    sent += now >= from ? 1000 : 0;
  }
  return 8e12 * static_cast<double>(sent) / static_cast<double>(until - from) / fair;
}

TEST(DcqcnFixedPoint, GivesTheRateAtConstantMarks) {
  PrintRow("| line | flows | `np` | p* | CoNEXT'16's | rate at p*, of C/N |\n");
  for (const Settled& one : kSettled) {
    if (one.ecn.mostBytes == kPaperLine.mostBytes) continue;
    for (const std::string np : {"window", "gap"}) {
      const double share = FixedPointOf(one, np).SolveCycles();
      const double rate = RateAtConstantMarks(one, np, share);
      PrintRow("| %.0f Gbit/s | %d | `%s` | %.4f %% | %.4f %% | %.3f |\n", one.rate / 1e9,
               one.flows, np.c_str(), 100 * share, 100 * one.published, rate);
      EXPECT_NEAR(rate, 1, 0.05);
    }
  }
}

// Figures of the flows, divided by those of the closed form.
struct Compared {
  double rate;
  double marks;
  double queue;
};

Compared Compare(const Settled& one, const std::string& np) {
  const double p = FixedPointMarks(one, np);
  const double queue =
      one.ecn.leastBytes + p / one.ecn.share * (one.ecn.mostBytes - one.ecn.leastBytes);
  OneQueue setup;
  setup.control = "dcqcn:ai=40Mbps+np=" + np;
  setup.flows = one.flows;
  setup.rate = one.rate;
  setup.ecn = one.ecn;
  setup.until = 200'000 * kUs;
  setup.from = setup.until / 2;
  const OneQueueResult result = OneQueueRun(setup).Run();
  const double sum = std::accumulate(result.rates.begin(), result.rates.end(), 0.0);
  PrintRow(
      "| %.0f Gbit/s | %d | %.0f kB | `%s` | %.4f %% of %.4f %% | %.1f kB of %.1f kB | %.0f %% | "
      "%.2f %% | %.1f %% |\n",
      one.rate / 1e9, one.flows, one.ecn.mostBytes / 1e3, np.c_str(), 100 * result.marked, 100 * p,
      result.queueBytes / 1e3, queue / 1e3, 100 * result.unmarkedShare, 100 * result.allMarkedShare,
      100 * sum / one.rate);
  return {sum / one.rate, result.marked / p, result.queueBytes / queue};
}

// Two flows at 100 Gbit/s need a queue of 2 kB above the threshold of 400 kB, so that each cut
// takes it below; eight at 40 Gbit/s swing beyond kmax, unless that is further along the line.
TEST(Dcqcn, SettlesAtItsFixedPoint) {
  PrintRow(
      "| line | flows | kmax | `np` | frames marked, of p* | mean queue, of q* | time at most kmin "
      "| above kmax | used |\n");
  for (const std::string np : {"window", "gap"}) {
    for (const Settled& one : kSettled) {
      const bool gap = np == "gap";
      const bool two = one.rate > 40e9 && one.flows == 2;
      const bool beyond = one.ecn.mostBytes == kPaperMarks.mostBytes && one.flows == 8;
      const Compared compared = Compare(one, np);
      EXPECT_NEAR(compared.rate, 1, 0.02);
      EXPECT_NEAR(compared.queue, 1, gap ? 0.1 : two ? 0.4 : 0.3);
      EXPECT_NEAR(compared.marks, 1, beyond && !gap ? 0.6 : two && gap ? 0.4 : 0.3);
    }
  }
}

TEST(RoceNotifier, AnswersAtOnceOrWhenTheIntervalIsOver) {
  const auto cnps = [](bool windows) {
    RoceTraits traits;
    traits.cnpInterval = 50;
    traits.cnpWindows = windows;
    RoceNotifier notifier;
    std::vector<std::pair<Picoseconds, Picoseconds>> at;  // with the beginnings that they answer
    for (Picoseconds now = 0; now < 400; now += 10) {
      const bool marked = now == 20 || now == 30 || now == 40 || now == 90 || now == 200;
      if (const auto begin = notifier.OnFrame(now, now - 7, marked, traits)) {
        at.emplace_back(now, *begin);
      }
    }
    return at;
  };
  using Answers = std::vector<std::pair<Picoseconds, Picoseconds>>;
  // 30 and 40 are within 50 of 20.
  EXPECT_EQ(cnps(false), (Answers{{20, 13}, {90, 83}, {200, 193}}));
  EXPECT_EQ(cnps(true), (Answers{{20, 13}, {70, 33}, {120, 83}, {200, 193}}));
}

// Jain's index of two flows, of which one starts 1 ms later.
TEST(Dcqcn, IsFairToALateFlow) {
  OneQueue setup;
  setup.control = "dcqcn";
  setup.ecn = {5e3, 200e3, 0.01};
  setup.secondStarts = 1'000 * kUs;
  setup.from = setup.until / 2;
  const OneQueueResult result = OneQueueRun(setup).Run();
  const double sum = result.rates[0] + result.rates[1];
  const double squares = result.rates[0] * result.rates[0] + result.rates[1] * result.rates[1];
  EXPECT_GE(sum * sum / (2 * squares), 0.99);
}

}  // namespace
}  // namespace legacy::fabric
