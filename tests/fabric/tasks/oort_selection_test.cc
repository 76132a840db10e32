#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "ns3-module/fabric/tasks/oort-selection.h"
#include "tests/fabric/tasks/task_testing.h"

namespace legacy::fabric {
namespace {

// Candidates of a population, with weights.
struct People {
  explicit People(int64_t count, const std::string& text = "always",
                  std::vector<int64_t> weights = {})
      : population(Make(count)),
        availability(population, text, 3),
        candidates(count, availability,
                   weights.empty() ? std::vector<int64_t>(static_cast<size_t>(count), 1)
                                   : std::move(weights)) {}

  static Population Make(int64_t count) {
    PopulationRequest request;
    request.clients = count;
    return MakePopulation(request);
  }

  Population population;
  ClientAvailability availability;
  Candidates candidates;
};

std::set<int> Clients(const std::vector<Pick>& picks) {
  std::set<int> clients;
  for (const Pick& pick : picks) clients.insert(pick.client);
  EXPECT_EQ(clients.size(), picks.size());  // no client twice
  return clients;
}

SelectionInfo Known(int64_t clients, TimeNs seconds = 1) {
  return {clients, [seconds](int) { return seconds * kSecond; }};
}

TaskFacts Facts(int client, double squares, int64_t samples = 1, TimeNs seconds = 1) {
  return {client, std::sqrt(squares), squares, samples, seconds * kSecond};
}

// Five tried clients with utilities 10, 20, 30, 40 and 50; version 2 is being made. With clipping
// at the .9 quantile, which is 50, utilities scale to 0, .25, .5, .75, 1, and each gets
// sqrt(.1 ln 2 / 1) = .26328. Client 4 took 4 s where the 30th percentile is 2 s, and so it scores
// a quarter of 1.26328, which is .31582: the best are 3 (1.01328) and 2 (.76328). Of one wanted
// client, only 3 has .95 of the best; of two, the last of the best is 2.
TEST(Oort, FollowsAnExample) {
  OortOptions options;
  options.explore = options.least = 0;
  People people(5);
  OortSelection oort(1, options, {});
  const TimeNs seconds[] = {1, 2, 2, 2, 4};
  for (int client = 0; client < 5; ++client) {
    oort.Observe(Facts(client, 25.0 * (client + 1) * (client + 1), 2, seconds[client]));
  }
  oort.OnVersion(1);
  for (uint64_t choice = 0; choice < 200; ++choice) {
    EXPECT_EQ(Clients(oort.Select(choice, 1, people.candidates)), (std::set<int>{3}));
    EXPECT_EQ(Clients(oort.Select(choice, 2, people.candidates)), (std::set<int>{2, 3}));
  }
  // Without a penalty client 4 is the best.
  options.penalty = 0;
  OortSelection patient(1, options, {});
  patient.SetState(oort.State());
  EXPECT_EQ(Clients(patient.Select(1, 1, people.candidates)), (std::set<int>{4}));
  // A client that has not taken part since the first version becomes uncertain:
  // sqrt(.1 ln 10000 / 1) = .96 against sqrt(.1 ln 10000 / 10000) = .01.
  OortSelection long_run(1, options, {});
  long_run.Observe(Facts(0, 25, 2));
  long_run.OnVersion(9999);
  for (int client = 1; client < 5; ++client) long_run.Observe(Facts(client, 26.0 + client, 2));
  EXPECT_EQ(Clients(long_run.Select(1, 2, people.candidates)), (std::set<int>{0, 4}));
}

// If several score about as much as the last of the best, they are drawn by their scores.
TEST(Oort, DrawsAmongTheBest) {
  OortOptions options;
  options.explore = options.least = 0;
  People people(4);
  OortSelection oort(1, options, {});
  for (int client = 0; client < 4; ++client) oort.Observe(Facts(client, client == 0 ? 1 : 100));
  std::map<int, int> hits;
  for (uint64_t choice = 0; choice < 3000; ++choice) {
    ++hits[oort.Select(choice, 1, people.candidates).front().client];
  }
  EXPECT_EQ(hits.count(0), 0u);
  for (int client = 1; client < 4; ++client) EXPECT_NEAR(hits[client], 1000, 130);
}

TEST(Oort, ExploresLessAndLess) {
  OortSelection oort(1, {}, {});
  EXPECT_DOUBLE_EQ(oort.Exploration(), 0.9);
  oort.OnVersion(1);
  EXPECT_DOUBLE_EQ(oort.Exploration(), 0.9 * 0.98);
  oort.OnVersion(54);
  EXPECT_NEAR(oort.Exploration(), 0.9 * std::pow(0.98, 54), 1e-12);
  oort.OnVersion(55);
  EXPECT_DOUBLE_EQ(oort.Exploration(), 0.3);
  // Of ten wanted clients, three are never tried then; and of one at a time, three in ten.
  People people(100);
  for (int client = 0; client < 50; ++client) oort.Observe(Facts(client, 4));
  const auto fresh = [&](uint64_t choice, int64_t wanted) {
    int count = 0;
    for (const Pick& pick : oort.Select(choice, wanted, people.candidates)) {
      count += pick.client >= 50;
    }
    return count;
  };
  int single = 0;
  for (uint64_t choice = 0; choice < 1000; ++choice) {
    EXPECT_EQ(fresh(choice, 10), 3);
    single += fresh(choice, 1);
  }
  EXPECT_NEAR(single, 300, 75);
}

// Among the never tried, clients with more data and with short tasks come more often.
TEST(Oort, ExploresByDataAndSpeed) {
  std::vector<int64_t> weights(10, 1);
  weights[2] = 4;
  People people(10, "always", weights);
  const auto share = [&](const OortSelection& made, int client) {
    OortSelection oort = made;
    int hits = 0;
    for (uint64_t choice = 0; choice < 4000; ++choice) {
      hits += oort.Select(choice, 1, people.candidates).front().client == client;
    }
    return hits / 4000.;
  };
  EXPECT_NEAR(share(OortSelection(1, {}, {}), 2), 4 / 13., 0.04);
  // Client 2 needs twice the time of the others, and so it weighs a quarter.
  const OortSelection timed(1, {},
                            {10, [](int client) { return (client == 2 ? 2 : 1) * kSecond; }});
  EXPECT_NEAR(share(timed, 2), 1 / 10., 0.03);
}

TEST(Oort, ThePacerFollowsUtility) {
  OortOptions options;
  options.pacer = 2;
  OortSelection oort(1, options, Known(4));
  int64_t version = 0;
  const auto turn = [&](double squares) {
    for (int i = 0; i < 2; ++i) {
      oort.Observe(Facts(0, squares));
      oort.OnVersion(++version);
    }
    return oort.Percentile();
  };
  EXPECT_EQ(turn(100), 30);    // nothing before it
  EXPECT_EQ(turn(110), 35);    // within a tenth: 20.98 against 20
  EXPECT_EQ(turn(400), 35);    // twice as much
  EXPECT_EQ(turn(57600), 30);  // 480 against 40: moved by more than five times
  for (int i = 0; i < 20; ++i) turn(57600);
  EXPECT_EQ(oort.Percentile(), 100);
}

// Whatever happens, no client is chosen that is busy or away, and as many are chosen as possible.
TEST(Oort, ChoosesIdleAndAvailableClientsAlone) {
  for (const char* availability : {"sessions:on=20m,off=40m", "bernoulli:p=0.5"}) {
    People people(60, availability);
    OortSelection oort(4, {}, Known(60));
    std::map<int, uint64_t> busy;  // until which choice
    for (uint64_t choice = 0; choice < 400; ++choice) {
      const TimeNs now = static_cast<TimeNs>(choice) * 97 * kSecond;
      people.candidates.Advance(now);
      for (auto it = busy.begin(); it != busy.end();) {
        if (it->second > choice) {
          ++it;
          continue;
        }
        people.candidates.SetBusy(it->first, false);
        oort.Observe(Facts(it->first, 1 + it->first % 7, 3, 1 + it->first % 5));
        it = busy.erase(it);
      }
      oort.OnVersion(static_cast<int64_t>(choice) + 1);
      int64_t joining = 0;
      for (int64_t rank = 0; rank < people.candidates.Count(); ++rank) {
        joining += people.candidates.Joins(people.candidates.At(rank), choice);
      }
      const std::set<int> chosen = Clients(oort.Select(choice, 8, people.candidates));
      EXPECT_EQ(static_cast<int64_t>(chosen.size()), std::min<int64_t>(8, joining));
      for (const int client : chosen) {
        EXPECT_EQ(busy.count(client), 0u);
        EXPECT_TRUE(people.availability.Available(client, now));
        EXPECT_TRUE(people.availability.Joins(client, choice));
        people.candidates.SetBusy(client, true);
        busy[client] = choice + 1 + static_cast<uint64_t>(client) % 6;
      }
    }
  }
}

TEST(Oort, GoesOnFromItsState) {
  People people(30);
  OortSelection whole(2, {}, Known(30)), second(2, {}, Known(30));
  for (int client = 0; client < 20; ++client) whole.Observe(Facts(client, client, 5, client % 4));
  whole.OnVersion(70);
  second.SetState(whole.State());
  EXPECT_EQ(second.State(), whole.State());
  for (uint64_t choice = 0; choice < 20; ++choice) {
    EXPECT_EQ(Clients(second.Select(choice, 9, people.candidates)),
              Clients(whole.Select(choice, 9, people.candidates)));
  }
}

TEST(Oort, IsMadeFromText) {
  const auto oort = MakeSelection("oort:explore=0.5,pacer=0", 1, "selection", Known(4));
  EXPECT_TRUE(oort->ReadsTimes());
  EXPECT_TRUE(oort->ReadsLosses());
  EXPECT_TRUE(oort->ReadsWeights());
  EXPECT_TRUE(oort->ReadsSquares());
  EXPECT_THROW(MakeSelection("oort:explore=2", 1, "selection", Known(4)), Error);
  EXPECT_THROW(MakeSelection("oort:explored=0.2", 1, "selection", Known(4)), Error);
}

}  // namespace
}  // namespace legacy::fabric
