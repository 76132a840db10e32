#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>

#include "base/draws.h"
#include "tests/fabric/tasks/task_testing.h"

namespace legacy::fabric::servers_test {
namespace {

SyncOptions Sync(int64_t per_round, int64_t versions) {
  SyncOptions options;
  options.perRound = per_round;
  options.versions = versions;
  return options;
}

AsyncOptions Async(int64_t concurrency, int64_t buffer, int64_t versions) {
  AsyncOptions options;
  options.concurrency = concurrency;
  options.buffer = buffer;
  options.versions = versions;
  return options;
}

// Every task is in one round, rounds follow each other, and times ascend.
void CheckRecords(const TaskRun& run) {
  int64_t started = 0, ended = 0;
  TimeNs last = 0;
  for (const RoundRow& row : run.records.rounds) {
    EXPECT_GE(row.start, 0);
    EXPECT_LE(row.start, row.end);
    EXPECT_LE(last, row.end);
    last = row.end;
    started += row.started;
    ended += std::accumulate(row.fates.begin(), row.fates.end(), int64_t{0});
    if (row.made) {
      EXPECT_GT(row.fates[0], 0);
    }
  }
  EXPECT_LE(ended, started);
  for (const TaskRow& row : run.records.tasks) {
    const TaskTimes& times = row.times;
    EXPECT_NE(times.ended, kNever);
    EXPECT_LE(times.dispatched, std::min(times.downloaded, times.ended));
    EXPECT_LE(std::min(times.downloaded, times.ended), times.ended);
    if (times.worked != kNever) {
      EXPECT_LE(times.downloaded, times.worked);
      EXPECT_LE(times.worked, times.ended);
    }
    if (row.fate == TaskFate::Counted) {
      EXPECT_EQ(times.carriedUp, row.work.upBytes);
    }
  }
}

// Exponential task times of mean 1 and an infinite network: a round of 50 takes H_50 = 4.499205 s
// on average, and the 50th of 65 comes at H_65 - H_15 = 1.441047 s.
TEST(SyncServer, RoundsOfExponentialTasksTakeHarmonicSums) {
  double harmonic[66] = {};
  for (int k = 1; k <= 65; ++k) harmonic[k] = harmonic[k - 1] + 1.0 / k;
  EXPECT_NEAR(harmonic[50], 4.499205, 1e-6);
  EXPECT_NEAR(harmonic[65] - harmonic[15], 1.441047, 1e-6);
  for (const double over : {1.0, 1.3}) {
    TaskCase wanted;
    wanted.clients = 1000;
    SyncOptions options = Sync(50, 1000);
    options.overSelect = over;
    wanted.server = options;
    wanted.work = [](int client, int64_t version) {
      const uint64_t hash = HashWords({static_cast<uint64_t>(client), uint64_t(version), 77});
      return static_cast<TimeNs>(ExponentialDraw(hash) * 1e9);
    };
    const TaskRun run = RunTasks(wanted);
    CheckRecords(run);
    ASSERT_EQ(run.version, 1000);
    double mean = 0, squares = 0;
    for (const RoundRow& row : run.records.rounds) {
      const double seconds = static_cast<double>(row.end - row.start) / 1e9;
      mean += seconds / 1000;
      squares += seconds * seconds / 1000;
      ASSERT_EQ(row.fates[0], 50);
      ASSERT_EQ(row.started, over == 1 ? 50 : 65);
      ASSERT_EQ(row.fates[static_cast<int>(TaskFate::Cancelled)], over == 1 ? 0 : 15);
      ASSERT_EQ(row.critical->times.ended, row.end);
    }
    const double expected = over == 1 ? 4.499205 : 1.441047;
    const double error = 4 * std::sqrt((squares - mean * mean) / 1000);
    EXPECT_NEAR(mean, expected, error) << over;
    EXPECT_LT(error, .2);
  }
}

TEST(SyncServer, TiesGoToTheLowerClient) {
  TaskCase wanted;
  SyncOptions options = Sync(6, 20);
  options.overSelect = 10. / 6;
  wanted.server = options;
  const TaskRun run = RunTasks(wanted);
  for (const TaskRow& row : run.records.tasks) {
    EXPECT_EQ(row.fate, row.client < 6 ? TaskFate::Counted : TaskFate::Cancelled);
  }
  EXPECT_EQ(run.end, 20 * kSecond);
}

// Client k takes k + 1 seconds.
TaskCase Stairs(SyncOptions options) {
  TaskCase wanted;
  wanted.clients = 10;
  wanted.server = options;
  wanted.work = [](int client, int64_t) { return (client + 1) * kSecond; };
  return wanted;
}

TEST(SyncServer, DeadlinesWaitOrSkip) {
  SyncOptions options = Sync(10, 3);
  options.deadline = 4 * kSecond;  // the arrival at 4 s is in time
  TaskRun run = RunTasks(Stairs(options));
  CheckRecords(run);
  EXPECT_EQ(run.end, 12 * kSecond);
  EXPECT_EQ(run.records.Count(TaskFate::Counted), 12);
  EXPECT_EQ(run.records.Count(TaskFate::Late), 18);
  EXPECT_FALSE(run.records.rounds[0].extended);

  options.least = 7;  // waits for the seventh
  run = RunTasks(Stairs(options));
  EXPECT_EQ(run.end, 21 * kSecond);
  EXPECT_TRUE(run.records.rounds[0].extended);
  EXPECT_EQ(run.records.rounds[0].fates[0], 7);

  options.skip = true;  // never enough
  run = RunTasks(Stairs(options));
  EXPECT_EQ(run.version, 0);
  EXPECT_EQ(run.stop, "version 1 does not come: of its tasks so far 400 counted, 600 late");
  EXPECT_EQ(run.end, 100 * 4 * kSecond);

  options = Sync(10, 1);
  options.deadlineFactor = .5;  // of the fifth's 5 s
  run = RunTasks(Stairs(options));
  EXPECT_EQ(run.end, 2'500'000'000);
  EXPECT_EQ(run.records.Count(TaskFate::Counted), 2);

  options = Sync(10, 1);
  options.deadline = 0;
  run = RunTasks(Stairs(options));  // continues to the first arrival
  EXPECT_EQ(run.end, kSecond);
  options.skip = true;
  EXPECT_NE(RunTasks(Stairs(options)).stop.find("1000 late"), std::string::npos);
}

TEST(SyncServer, TakesAllWhereFewerAreAvailableAndSleepsUntilSomeoneIs) {
  const std::string path = OwnFolder() + "servers_test.csv";
  std::ofstream(path) << "client,start_s,end_s\na,100,200\nb,150,200\n";
  TaskCase wanted;
  wanted.clients = 4;  // a, b, a, b
  wanted.availability = "trace:file=" + path;
  wanted.server = Sync(4, 61);
  const TaskRun run = RunTasks(wanted);
  CheckRecords(run);
  ASSERT_EQ(run.version, 61);
  EXPECT_EQ(run.records.rounds[0].start, 100 * kSecond);
  EXPECT_EQ(run.records.rounds[0].started, 2);
  EXPECT_EQ(run.records.rounds[0].unavailable, 2);
  EXPECT_EQ(run.records.rounds[49].started, 2);
  EXPECT_EQ(run.records.rounds[50].started, 4);  // from 150 s on
  EXPECT_EQ(run.end, 161 * kSecond);
}

TEST(SyncServer, SaysWhyItStops) {
  TaskCase wanted;
  wanted.server = Sync(5, 10);
  wanted.dropout = "1";
  TaskRun run = RunTasks(wanted);
  EXPECT_EQ(run.version, 0);
  EXPECT_EQ(run.stop, "version 1 does not come: of its tasks so far 500 lost");
  EXPECT_EQ(run.records.Count(TaskFate::Lost), 500);
  wanted.dropout = "off";
  wanted.availability = "bernoulli:p=0";
  EXPECT_EQ(RunTasks(wanted).stop, "no client joined in 100 draws");
  wanted.availability = "nightly:chance=0";
  EXPECT_EQ(RunTasks(wanted).stop, "no client is available at 0 ns, and none will be again");
  wanted.server = Async(5, 5, 10);
  EXPECT_EQ(RunTasks(wanted).stop, "no client is available at 0 ns, and none will be again");
  EXPECT_EQ(MessageOf([&] {
              wanted.server = Sync(11, 1);
              RunTasks(wanted);
            }),
            "per-round: got '11'; allowed: 1 to 10, the number of clients");
}

TEST(SyncServer, LosesTasksToDropoutHazardAndAvailability) {
  TaskCase wanted;
  wanted.clients = 200;
  wanted.server = Sync(100, 50);
  wanted.dropout = "0.2";
  TaskRun run = RunTasks(wanted);
  CheckRecords(run);
  EXPECT_NEAR(static_cast<double>(run.records.Count(TaskFate::Lost)) / 5000, .2, .025);
  double part = 0;
  for (const TaskRow& row : run.records.tasks) {
    if (row.fate == TaskFate::Lost) {
      part += static_cast<double>(row.times.ended - row.times.dispatched) / 1e9;
    }
  }
  EXPECT_NEAR(part / static_cast<double>(run.records.Count(TaskFate::Lost)), .5, .03);

  wanted.dropout = "hazard:mean=2s";  // a task takes 1 s: 1 - exp(-.5) are lost
  run = RunTasks(wanted);
  CheckRecords(run);
  EXPECT_NEAR(static_cast<double>(run.records.Count(TaskFate::Lost)) / 5000, 1 - std::exp(-.5),
              .025);

  wanted.dropout = "off";
  wanted.availability = "sessions:on=1m,off=1m";
  wanted.work = [](int, int64_t) { return 60 * kSecond; };
  run = RunTasks(wanted);
  CheckRecords(run);
  // A client is available when it starts, and is then interrupted within the mean of one minute
  // with probability 1 - exp(-1).
  const auto tasks = static_cast<double>(run.records.tasks.size());
  EXPECT_NEAR(static_cast<double>(run.records.Count(TaskFate::Interrupted)) / tasks,
              1 - std::exp(-1), .025);
}

TEST(SyncServer, TheServerLearnsOfALossAfterTheTimeOfDetection) {
  TaskCase wanted;
  wanted.server = Sync(10, 1);
  wanted.dropout = "1";
  wanted.detection = 5 * kSecond;
  const TaskRun run = RunTasks(wanted);
  // A hundred rounds, each until 5 s after the last loss, which is within the second of work.
  EXPECT_GT(run.end, 100 * 5 * kSecond);
  EXPECT_LT(run.end, 100 * 6 * kSecond);
}

TEST(AsyncServer, StalenessHasItsClosedForm) {
  // C clients of equal task time T, staggered evenly: an update of the model every T k / C, and a
  // mean staleness of (C - 1) / k.
  for (const auto& [c, k] : {std::pair<int64_t, int64_t>{100, 10}, {10, 10}, {7, 1}, {30, 7}}) {
    TaskCase wanted;
    wanted.clients = c;
    wanted.server = Async(c, k, 400);
    std::vector<bool> begun(static_cast<size_t>(c), false);
    // The first task of each client is shortened so that the clients are staggered.
    const int64_t cycle = c * 7 * kSecond;
    auto first = std::make_shared<std::vector<bool>>(static_cast<size_t>(c), true);
    wanted.work = [first, cycle, c = c](int client, int64_t) {
      const bool stagger = (*first)[client];
      (*first)[client] = false;
      return stagger ? cycle * (client + 1) / c : cycle;
    };
    const TaskRun run = RunTasks(wanted);
    CheckRecords(run);
    double mean = 0;
    int64_t counted = 0;
    for (const RoundRow& row : run.records.rounds) {
      if (row.version <= 100) continue;
      EXPECT_EQ(row.end - row.start, cycle * k / c);
      mean += row.stalenessMean / 300;
    }
    EXPECT_NEAR(mean, static_cast<double>(c - 1) / static_cast<double>(k), 1e-9) << c << " " << k;
    for (const TaskRow& row : run.records.tasks) {
      if (row.fate != TaskFate::Counted || row.baseVersion < 100) continue;
      ++counted;
      EXPECT_GE(row.staleness, (c - 1) / k);
      EXPECT_LE(row.staleness, (c - 1 + k - 1) / k);
    }
    EXPECT_GT(counted, 100);
  }
}

// C = k = N and equal speeds: all arrivals of an instant are counted before anything is dispatched,
// so every round has all clients and no staleness.
TEST(AsyncServer, OfOneSpeedIsSynchronous) {
  TaskCase wanted;
  wanted.server = Async(10, 10, 20);
  const TaskRun async = RunTasks(wanted);
  wanted.server = Sync(10, 20);
  const TaskRun sync = RunTasks(wanted);
  ASSERT_EQ(async.records.rounds.size(), sync.records.rounds.size());
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(async.records.rounds[i].end, sync.records.rounds[i].end);
    EXPECT_EQ(async.records.rounds[i].stalenessMax, 0);
    EXPECT_EQ(async.records.rounds[i].fates, sync.records.rounds[i].fates);
  }
}

TEST(AsyncServer, GivesUpWhereAllUpdatesAreStale) {
  TaskCase wanted;
  wanted.clients = 4;
  AsyncOptions options = Async(4, 1, 1000);
  options.maxStaleness = 1;
  wanted.server = options;
  wanted.work = [](int client, int64_t) { return client == 0 ? kSecond : 10 * kSecond; };
  TaskRun run = RunTasks(wanted);
  CheckRecords(run);
  EXPECT_EQ(run.version, 1000);  // client 0's updates are in time, the others' are not
  EXPECT_GT(run.records.Count(TaskFate::Stale), 100);
  for (const TaskRow& row : run.records.tasks) {
    EXPECT_EQ(row.fate == TaskFate::Stale, row.staleness > 1);
  }
  wanted.dropout = "1";
  run = RunTasks(wanted);
  EXPECT_EQ(run.stop, "version 1 does not come: of its tasks so far 100 lost");
  options.tasks = 50;
  wanted.server = options;
  run = RunTasks(wanted);
  EXPECT_EQ(run.stop, "");
  EXPECT_EQ(run.records.Count(TaskFate::Lost), 50);
}

TEST(AsyncServer, KeepsItsConcurrencyWithoutTwiceTheSameClient) {
  TaskCase wanted;
  wanted.clients = 60;
  wanted.population = "phones";
  wanted.availability = "sessions:on=10m,off=10m";
  wanted.dropout = "0.1:where=any";
  wanted.down = 200'000;
  wanted.up = 100'000;
  wanted.server = Async(20, 5, 400);
  wanted.work = [](int client, int64_t) { return (1 + client % 7) * 10 * kSecond; };
  const TaskRun run = RunTasks(wanted);
  CheckRecords(run);
  EXPECT_EQ(run.version, 400);
  EXPECT_EQ(run.most_live, 20u);
  EXPECT_GT(run.records.Count(TaskFate::Interrupted), 10);
  EXPECT_GT(run.records.Count(TaskFate::Lost), 10);
  std::map<int, TimeNs> free;  // by client; tasks are recorded as they end
  std::map<int, std::vector<std::pair<TimeNs, TimeNs>>> spans;
  for (const TaskRow& row : run.records.tasks) {
    spans[row.client].emplace_back(row.times.dispatched, row.times.ended);
  }
  for (auto& [client, list] : spans) {
    std::sort(list.begin(), list.end());
    for (size_t i = 1; i < list.size(); ++i) {
      EXPECT_GE(list[i].first, list[i - 1].second) << client;
    }
  }
}

TEST(Selection, UniformIsUniformAndWeightedFollowsWeights) {
  PopulationRequest request;
  request.clients = 20;
  Population plain = MakePopulation(request);
  const ClientAvailability always(plain, "always", 1);
  std::vector<int64_t> weights(20);
  std::iota(weights.begin(), weights.end(), 1);
  Candidates candidates(20, always, weights);
  for (int64_t busy : {3, 8, 19}) candidates.SetBusy(busy, true);
  const auto uniform = MakeSelection("uniform", 5, "s");
  const auto weighted = MakeSelection("weighted", 5, "s");
  const auto robin = MakeSelection("round-robin", 5, "s");
  std::vector<double> hits(20, 0), weight(20, 0);
  constexpr int kChoices = 20'000;
  for (uint64_t choice = 0; choice < kChoices; ++choice) {
    std::vector<bool> seen(20, false);
    const auto picks = uniform->Select(choice, 5, candidates);
    ASSERT_EQ(picks.size(), 5u);
    for (const Pick& pick : picks) {
      ASSERT_FALSE(seen[pick.client]);
      seen[pick.client] = true;
      ++hits[pick.client];
    }
    int drawn = 0;
    for (const Pick& pick : weighted->Select(choice, 5, candidates)) {
      weight[pick.client] += pick.times;
      drawn += pick.times;
    }
    ASSERT_EQ(drawn, 5);
  }
  double uniform_chi = 0, weighted_chi = 0;
  const double all = 210 - 4 - 9 - 20;
  for (int k = 0; k < 20; ++k) {
    if (k == 3 || k == 8 || k == 19) {
      EXPECT_EQ(hits[k] + weight[k], 0);
      continue;
    }
    const double expected = kChoices * 5 / 17.;
    uniform_chi += (hits[k] - expected) * (hits[k] - expected) / expected;
    const double share = kChoices * 5 * (k + 1) / all;
    weighted_chi += (weight[k] - share) * (weight[k] - share) / share;
  }
  // 16 degrees of freedom: 39.3 is passed once in a thousand.
  EXPECT_LT(uniform_chi, 39.3);
  EXPECT_LT(weighted_chi, 39.3);
  std::vector<int> order;
  for (uint64_t choice = 0; choice < 5; ++choice) {
    for (const Pick& pick : robin->Select(choice, 5, candidates)) order.push_back(pick.client);
  }
  EXPECT_EQ(order, (std::vector<int>{0,  1,  2,  4,  5, 6, 7, 9, 10, 11, 12, 13, 14,
                                     15, 16, 17, 18, 0, 1, 2, 4, 5,  6,  7,  9}));
  EXPECT_EQ(uniform->Select(1, 30, candidates).size(), 17u);
  EXPECT_EQ(MessageOf([] { MakeSelection("best", 1, "selection"); }),
            "selection: got 'best'; allowed: uniform, weighted, round-robin, tiers[:count=5], "
            "power-of-choice[:d=N], "
            "oort[:explore=0.9,decay=0.98,least=0.3,percentile=30,penalty=2,pacer=20]");
  EXPECT_EQ(MessageOf([] { MakeSelection("tiers", 1, "selection"); }),
            "selection: got 'tiers'; allowed: uniform, weighted, round-robin: nobody predicts "
            "times here");
}

// Clients that were never tried come first; then those whose last loss was larger, among those that
// were drawn.
TEST(Selection, PowerOfChoicePrefersLargeLosses) {
  PopulationRequest request;
  request.clients = 20;
  const Population plain = MakePopulation(request);
  const ClientAvailability always(plain, "always", 1);
  const Candidates candidates(20, always, std::vector<int64_t>(20, 1));
  const auto all = MakeSelection("power-of-choice:d=20", 5, "s");
  for (int client = 0; client < 17; ++client) all->Observe({client, 1.0 + client % 7});
  const auto chosen = [&](Selection& selection, uint64_t choice) {
    std::vector<int> clients;
    for (const Pick& pick : selection.Select(choice, 5, candidates)) clients.push_back(pick.client);
    return clients;
  };
  EXPECT_EQ(chosen(*all, 1), (std::vector<int>{17, 18, 19, 6, 13}));
  const auto other = MakeSelection("power-of-choice:d=20", 5, "s");
  other->SetState(all->State());
  EXPECT_EQ(chosen(*other, 2), chosen(*all, 2));
  // Drawing as many as are wanted is drawing by weight; a client with three times the weight is
  // first drawn three times as often.
  std::vector<int64_t> weights(20, 1);
  weights[4] = 3;
  const Candidates weighted(20, always, weights);
  const auto one = MakeSelection("power-of-choice:d=1", 5, "s");
  int hits = 0;
  constexpr int kChoices = 20'000;
  for (uint64_t choice = 0; choice < kChoices; ++choice) {
    hits += one->Select(choice, 1, weighted).front().client == 4;
  }
  EXPECT_NEAR(hits, kChoices * 3 / 22., 5 * std::sqrt(kChoices * 3 / 22.));
}

TEST(Selection, TiersStayWithinAClassOfTimes) {
  PopulationRequest request;
  request.clients = 20;
  const Population plain = MakePopulation(request);
  const ClientAvailability always(plain, "always", 1);
  Candidates candidates(20, always);
  for (int64_t busy = 0; busy < 20; busy += 5) candidates.SetBusy(busy, true);
  // Client k takes time k modulo 5, so classes are the clients of equal times.
  const auto tiers =
      MakeSelection("tiers", 5, "s", {20, [](int client) { return TimeNs{client % 5}; }});
  EXPECT_TRUE(tiers->ReadsTimes());
  std::map<int, int> classes;
  for (uint64_t choice = 0; choice < 4000; ++choice) {
    const auto picks = tiers->Select(choice, 3, candidates);
    ASSERT_EQ(picks.size(), 3u);
    for (const Pick& pick : picks) ASSERT_EQ(pick.client % 5, picks[0].client % 5);
    ASSERT_NE(picks[0].client, picks[1].client);
    ++classes[picks[0].client % 5];
  }
  EXPECT_EQ(classes.size(), 4u);  // one class has no candidates
  for (const auto& [time, count] : classes) EXPECT_NEAR(count, 1000, 150) << time;
}

TEST(Candidates, FollowAvailability) {
  PopulationRequest request;
  request.clients = 300;
  const Population people = MakePopulation(request);
  const ClientAvailability availability(people, "sessions:on=20m,off=40m", 3);
  Candidates candidates(300, availability);
  for (int64_t step = 0; step < 400; ++step) {
    const TimeNs now = step * 137 * kSecond;
    candidates.Advance(now);
    candidates.SetBusy(step % 300, step % 3 == 0);
    int64_t available = 0;
    for (int64_t client = 0, rank = 0; client < 300; ++client) {
      const bool busy = client <= step && client % 3 == 0 && step < 300;
      if (step >= 300) break;
      if (availability.Available(client, now) && !busy) {
        ASSERT_EQ(candidates.At(rank), client);
        ASSERT_EQ(candidates.RankOf(client), rank);
        ++rank;
      }
      available = rank;
    }
    if (step < 300) {
      ASSERT_EQ(candidates.Count(), available);
    }
    ASSERT_GT(candidates.NextChange(), now);
  }
}

}  // namespace
}  // namespace legacy::fabric::servers_test
