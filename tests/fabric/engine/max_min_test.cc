#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <sstream>

#include "ns3-module/fabric/engine/max-min.h"

namespace legacy::fabric::max_min_test {
namespace {

struct Wanted {
  std::vector<MaxMin::Use> uses;
  double limit = 0;
};

// The oracle follows the definition of progressive filling: it raises all unfrozen rates together
// until a link is full or a limit is reached.
std::vector<double> Oracle(const std::vector<double>& capacities, const std::vector<Wanted>& all,
                           const std::vector<bool>& running) {
  std::vector<double> rate(all.size(), 0);
  std::vector<bool> frozen(all.size());
  for (size_t c = 0; c < all.size(); ++c) frozen[c] = !running[c];
  while (std::find(frozen.begin(), frozen.end(), false) != frozen.end()) {
    double raise = INFINITY;
    std::vector<double> load(capacities.size(), 0), weight(capacities.size(), 0);
    for (size_t c = 0; c < all.size(); ++c) {
      for (const MaxMin::Use& use : all[c].uses) {
        load[use.link] += rate[c] * use.share;
        if (!frozen[c]) weight[use.link] += use.share;
      }
      if (!frozen[c]) raise = std::min(raise, all[c].limit - rate[c]);
    }
    for (size_t l = 0; l < capacities.size(); ++l) {
      if (weight[l] > 0) raise = std::min(raise, (capacities[l] - load[l]) / weight[l]);
    }
    for (size_t c = 0; c < all.size(); ++c) {
      if (!frozen[c]) rate[c] += raise;
    }
    for (size_t c = 0; c < all.size(); ++c) {
      bool stuck = rate[c] >= all[c].limit * (1 - 1e-12);
      for (const MaxMin::Use& use : all[c].uses) {
        stuck |= load[use.link] + raise * weight[use.link] >= capacities[use.link] * (1 - 1e-12);
      }
      frozen[c] = frozen[c] || stuck;
    }
  }
  return rate;
}

class Network {
 public:
  Network(unsigned seed, int links, int connections, bool spray)
      : random_(seed), capacities_(links), running_(connections), joined_(connections) {
    for (double& capacity : capacities_) capacity = 0.5 + 0.5 * Below(20);
    rates_.emplace(capacities_);
    for (int c = 0; c < connections; ++c) {
      Wanted wanted;
      std::vector<int> route(links);
      for (int l = 0; l < links; ++l) route[l] = l;
      std::shuffle(route.begin(), route.end(), random_);
      route.resize(1 + Below(std::min(links, 6)));
      for (int link : route) wanted.uses.push_back({link, spray ? 0.25 * (1 + Below(4)) : 1.0});
      wanted.limit = Below(3) == 0 ? 0.1 + 0.3 * Below(10) : 1e9;
      rates_->Add(wanted.uses, wanted.limit);
      wanted_.push_back(wanted);
    }
  }

  // Every host sends to every other one over its uplink, one of `spines` and the other's downlink,
  // all of one capacity, so that many fair shares are equal or nearly so.
  Network(unsigned seed, int hosts, int spines, int many = 1024)
      : random_(seed),
        capacities_(2 * hosts + spines, 12),
        running_(hosts * (hosts - 1)),
        joined_(running_.size()) {
    rates_.emplace(capacities_, many);
    for (int from = 0; from < hosts; ++from) {
      for (int to = 0; to < hosts; ++to) {
        if (from == to) continue;
        wanted_.push_back({{{from, 1}, {2 * hosts + Below(spines), 1}, {hosts + to, 1}}, 12});
        rates_->Add(wanted_.back().uses, wanted_.back().limit);
      }
    }
  }

  // Makes a few changes, then compares all rates with the oracle's.
  void Step() {
    Change();
    const std::vector<double> expected = Oracle(capacities_, wanted_, running_);
    for (size_t c = 0; c < wanted_.size(); ++c) {
      ASSERT_NEAR(rates_->Rate(static_cast<int>(c)), expected[c], 1e-9 * std::max(1.0, expected[c]))
          << "connection " << c;
    }
  }

  // Makes a few changes, then checks that each connection has its limit or a bottleneck, a link
  // that is full within `nearly` and on which no connection is faster by three times as much.
  void NearStep(double nearly) {
    Change();
    std::vector<double> load(capacities_.size(), 0), fastest(capacities_.size(), 0);
    for (size_t c = 0; c < wanted_.size(); ++c) {
      const double rate = rates_->Rate(static_cast<int>(c));
      for (const MaxMin::Use& use : wanted_[c].uses) {
        load[use.link] += rate * use.share;
        fastest[use.link] = std::max(fastest[use.link], rate);
      }
    }
    for (size_t l = 0; l < capacities_.size(); ++l) {
      ASSERT_LE(load[l], capacities_[l] * (1 + nearly)) << "link " << l;
    }
    for (size_t c = 0; c < wanted_.size(); ++c) {
      if (!running_[c]) continue;
      const double rate = rates_->Rate(static_cast<int>(c));
      bool fair = rate >= wanted_[c].limit * (1 - 1e-9);
      for (const MaxMin::Use& use : wanted_[c].uses) {
        fair |= load[use.link] >= capacities_[use.link] * (1 - nearly) &&
                rate >= fastest[use.link] * (1 - 3 * nearly);
      }
      std::ostringstream links;
      for (const MaxMin::Use& use : wanted_[c].uses) {
        links << "; link " << use.link << " carries " << load[use.link] << " of "
              << capacities_[use.link] << ", fastest " << fastest[use.link];
      }
      ASSERT_TRUE(fair) << "connection " << c << " at " << rate << links.str();
    }
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % n); }

  // Makes a few starts, stops, joins, leaves and changes of capacities and limits, and solves them.
  void Change() {
    const int changes = 1 + Below(4);
    for (int i = 0; i < changes; ++i) {
      const int c = Below(static_cast<int>(wanted_.size()));
      if (Below(12) == 0) {
        const int link = Below(static_cast<int>(capacities_.size()));
        capacities_[link] = 0.5 + 0.5 * Below(20);
        rates_->SetCapacity(link, capacities_[link]);
      } else if (Below(6) == 0) {
        wanted_[c].limit = Below(3) == 0 ? 1e9 : 0.1 + 0.3 * Below(10);
        rates_->SetLimit(c, wanted_[c].limit);
      } else if (running_[c]) {
        rates_->Stop(c);
        running_[c] = false;
        if (Below(2) == 0) {
          rates_->Leave(c);
          joined_[c] = false;
        }
      } else {
        if (!joined_[c]) rates_->Join(c);
        joined_[c] = true;
        rates_->Start(c);
        running_[c] = true;
      }
    }
    if (rates_->Pending()) rates_->Solve();
  }

  std::mt19937 random_;
  std::vector<double> capacities_;
  std::vector<Wanted> wanted_;
  std::vector<bool> running_, joined_;
  std::optional<MaxMin> rates_;
};

TEST(MaxMin, EqualsProgressiveFillingAfterEveryChange) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const int links = 1 + static_cast<int>(seed % 12) * 3;
    const int connections = 2 + static_cast<int>(seed * 7 % 60);
    Network network(seed, links, connections, seed % 3 == 2);
    for (int i = 0; i < 120; ++i) {
      network.Step();
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(MaxMin, EqualsProgressiveFillingWhereEveryPairSends) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Network network(seed, 4 + static_cast<int>(seed % 6), 1 + static_cast<int>(seed % 4));
    for (int i = 0; i < 250; ++i) {
      network.Step();
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(MaxMin, IsFairWithinTwoPercentWhereManyConnectionsRun) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    Network network(seed, 6 + static_cast<int>(seed % 9), 1 + static_cast<int>(seed % 5), 10);
    for (int i = 0; i < 400; ++i) {
      network.NearStep(0.021);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// Three links lie in a row: the long connection gets its share of the fullest link, and the others
// the rest (Bertsekas, Gallager).
TEST(MaxMin, ParkingLot) {
  MaxMin rates({1, 1, 2});
  std::vector<int> all;
  all.push_back(rates.Add({{0, 1}, {1, 1}, {2, 1}}, 100));
  for (int link = 0; link < 3; ++link) all.push_back(rates.Add({{link, 1}}, 100));
  for (int connection : all) rates.Join(connection);
  for (int connection : all) rates.Start(connection);
  rates.Solve();
  EXPECT_DOUBLE_EQ(rates.Rate(all[0]), 0.5);
  EXPECT_DOUBLE_EQ(rates.Rate(all[1]), 0.5);
  EXPECT_DOUBLE_EQ(rates.Rate(all[3]), 1.5);
  rates.Stop(all[1]);
  rates.Stop(all[2]);
  EXPECT_EQ(rates.Solve(), (std::vector<int>{all[0], all[3]}));
  EXPECT_DOUBLE_EQ(rates.Rate(all[0]), 1);
  EXPECT_DOUBLE_EQ(rates.Rate(all[3]), 1);
  EXPECT_DOUBLE_EQ(rates.PeakLoad(2), 2);
}

// Connections that a change does not reach are not solved again.
TEST(MaxMin, ADistantChangeIsNotReported) {
  MaxMin rates({1, 1});
  const int near = rates.Add({{0, 1}}, 10), other = rates.Add({{0, 1}}, 10);
  const int far = rates.Add({{1, 1}}, 10), late = rates.Add({{1, 1}}, 10);
  for (int c : {near, other, far, late}) rates.Join(c);
  rates.Start(near);
  rates.Start(far);
  rates.Start(late);
  rates.Solve();
  rates.Start(other);
  std::vector<int> changed = rates.Solve();
  std::sort(changed.begin(), changed.end());
  EXPECT_EQ(changed, (std::vector<int>{near, other}));
}

}  // namespace
}  // namespace legacy::fabric::max_min_test