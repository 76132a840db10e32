// Plans without a server: --exchange.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "scenarios/federated/exchange_plan.h"
#include "scenarios/federated/exchange_run.h"
#include "scenarios/federated/plan_doctor.h"
#include "scenarios/federated/plan_files.h"
#include "scenarios/federated/plan_report.h"
#include "scenarios/network/engines/engines.h"
#include "tests/scenarios/federated/plan_testing.h"

namespace legacy::exchange_test {
namespace {

Texts With(Texts texts, const Texts& more) {
  for (const auto& [name, text] : more) texts[name] = text;
  return texts;
}

std::string ErrorOf(const Texts& texts) {
  try {
    RunOf(texts);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

double SynchronisationOf(const Plan& plan) { return plan.exchange->synchronisation.front(); }

std::string TopologyOf(const std::string& file) {
  return "regions:" LEGACY_SOURCE_DIR "/topologies/" + file;
}

// A model of 10.2e9 parameters between four regions, one byte each.
Texts FourRegions(const std::string& topology) {
  return {{"population", LEGACY_SOURCE_DIR "/scenarios/federated/four-regions.population.yaml"},
          {"topology", topology},
          {"exchange", "ring-allreduce"},
          {"elements", "10.2e9"},
          {"element-bytes", "1"},
          {"client-seconds", "2280"},
          {"rounds", "3"}};
}

// A ring of four moves 2 * 3/4 of the model over its slowest hop.
TEST(ExchangePlan, ARingBetweenRegionsTakesWhatItsSlowestHopTakes) {
  const std::string topology = TopologyOf("four-regions.yaml");
  const auto bound = [](double bits_per_second) {
    return 2 * .75 * 10.2e9 * 8 / bits_per_second * 1502 / 1448;
  };
  EXPECT_NEAR(bound(3.6569e9), 33.5 * 1502 / 1448, .05);
  EXPECT_NEAR(bound(3.1396e9), 39.0 * 1502 / 1448, .05);
  struct Case {
    std::string order, from, to;
    double rate;
  };
  for (const Case& c : {Case{"virginia,ireland,oregon,tokyo", "tokyo", "virginia", 3.6569e9},
                        Case{"virginia,oregon,ireland,tokyo", "ireland", "tokyo", 3.1396e9},
                        Case{"virginia,ireland,tokyo,oregon", "ireland", "tokyo", 3.1396e9}}) {
    for (const std::string fidelity : {"flow", "analytic"}) {
      const Plan plan =
          RunOf(With(FourRegions(topology), {{"order", c.order}, {"fidelity", fidelity}}));
      const ExchangeHop& slowest = plan.exchange->hops.front();
      EXPECT_EQ(slowest.from, c.from) << c.order;
      EXPECT_EQ(slowest.to, c.to) << c.order;
      EXPECT_NEAR(slowest.bits_per_second, c.rate, 1);
      EXPECT_NEAR(plan.exchange->bound_seconds, bound(c.rate), 1e-3);
      const double seconds = SynchronisationOf(plan);
      // At analytic fidelity flows of one pair do not wait for each other inside the fabric.
      const double least = fidelity == "analytic" ? 0.8 : 1;
      EXPECT_GE(seconds, least * bound(c.rate)) << fidelity << " " << c.order;
      EXPECT_LE(seconds, 1.10 * bound(c.rate)) << fidelity << " " << c.order;
      const PlannedRound& round = plan.rounds.front();
      EXPECT_NEAR(round.work_seconds / round.counted_seconds, 2280 / (2280 + seconds), 1e-9);
      for (const int64_t sent : plan.exchange->sent_bytes) EXPECT_EQ(sent, 15'300'000'000);
    }
  }
}

// At 1 Gbit/s all hops are equal, and the closed form holds.
TEST(ExchangePlan, EqualLinesHaveTheClosedForm) {
  const Texts options = {{"population", "broadband:down=1Gbps,up=1Gbps,delay=20ms"},
                         {"clients", "4"},
                         {"exchange", "ring-allreduce"},
                         {"elements", "10.2e9"},
                         {"element-bytes", "1"},
                         {"connections", "warm"},
                         {"rounds", "1"}};
  const double bound = 122.4 * 1502 / 1448;
  const Plan analytic = RunOf(With(options, {{"fidelity", "analytic"}}));
  EXPECT_NEAR(analytic.exchange->bound_seconds, bound, 1e-3);
  EXPECT_NEAR(SynchronisationOf(analytic), analytic.exchange->closed_form_seconds, 1e-8);
  EXPECT_GE(SynchronisationOf(analytic), bound);
  const Plan flow = RunOf(options);
  EXPECT_GE(SynchronisationOf(flow), bound);
  EXPECT_LE(SynchronisationOf(flow), 1.05 * bound);
}

const Texts kSilos = {{"population", "broadband:down=200Mbps,up=100Mbps,delay=10ms"},
                      {"clients", "8"},
                      {"elements", "1e6"},
                      {"client-seconds", "2"},
                      {"price", "0.09/0.01"},
                      {"rounds", "5"}};

// Messages are added up by pair while they are counted; of many pairs the slowest are kept.
TEST(ExchangePlan, CountsMoreMessagesThanItKeeps) {
  const PlanRequest request = Request(
      With(kSilos, {{"clients", "300"}, {"exchange", "ring-allreduce"}, {"fidelity", "analytic"}}));
  const ExchangeFigures figures = *RunPlan(request).exchange;
  EXPECT_EQ(figures.all_hops, 300);
  ASSERT_EQ(figures.hops.size(), kMostHops);
  for (const ExchangeHop& hop : figures.hops) {
    const int client = std::stoi(hop.from.substr(std::string("client").size()));
    EXPECT_EQ(hop.payload_bytes, figures.sent_bytes[client]);
  }
}

// Rounds, clients and links have the same bytes and prices, for every collective.
TEST(ExchangePlan, SumsOfRoundsClientsAndLinksAgree) {
  for (const std::string name :
       {"ring-allreduce", "halving-doubling-allreduce", "double-tree-allreduce", "direct-allreduce",
        "hierarchical-allreduce", "ring-allgather", "direct-allgather", "hierarchical-allgather",
        "recursive-doubling-allgather", "bruck-allgather"}) {
    for (const std::string fidelity : {"flow", "analytic"}) {
      const PlanRequest request =
          Request(With(kSilos, {{"exchange", name}, {"fidelity", fidelity}, {"streams", "3"}}));
      const Plan plan = RunPlan(request);
      ASSERT_EQ(plan.rounds.size(), 5u) << name;
      double round_usd = 0, client_usd = 0, row_usd = 0, up = 0, round_up = 0;
      for (const PlannedRound& round : plan.rounds) {
        round_usd += round.cost.usd_up;
        round_up += static_cast<double>(round.wire_up);
      }
      int64_t link_bytes = 0, down = 0;
      for (const ClientTotals& client : plan.clients) {
        client_usd += client.usd;
        up += static_cast<double>(client.wire_up);
        down += client.wire_down;
        EXPECT_EQ(client.counted, 5);
      }
      for (const analysis::LinkRow& row : plan.links) {
        row_usd += row.usd;
        link_bytes += row.bytes;
      }
      EXPECT_EQ(up, round_up) << name;
      EXPECT_EQ(static_cast<double>(down), up) << name;
      EXPECT_GT(link_bytes, 2 * down) << name;  // two links on each way, and ACKs
      EXPECT_NEAR(row_usd, plan.link_usd, 1e-9) << name;
      EXPECT_NEAR(round_usd, plan.link_usd, 1e-9) << name;
      EXPECT_NEAR(client_usd, plan.link_usd, 1e-4 * plan.link_usd) << name << " " << fidelity;
      EXPECT_GE(SynchronisationOf(plan), plan.exchange->bound_seconds) << name << " " << fidelity;
      int64_t payload = 0, hops = 0;
      for (const int64_t sent : plan.exchange->sent_bytes) payload += sent;
      for (const ExchangeHop& hop : plan.exchange->hops) hops += hop.payload_bytes;
      EXPECT_EQ(payload, hops) << name;
    }
  }
}

// Switches of the star sum: each client sends its update once.
TEST(ExchangePlan, SwitchesMaySum) {
  const Plan plan = RunOf(With(kSilos, {{"exchange", "in-network-allreduce"}}));
  for (const int64_t sent : plan.exchange->sent_bytes) EXPECT_EQ(sent, 4'000'000);
  EXPECT_GE(SynchronisationOf(plan), plan.exchange->bound_seconds);
}

TEST(ExchangePlan, SlowClientsDelayAllAndAreWaitedFor) {
  const std::string path = Write("uneven.yaml",
                                 "- {name: fast, count: 3, up: 100Mbps, device: {slowdown: 1}}\n"
                                 "- {name: slow, up: 100Mbps, device: {slowdown: 3}}\n");
  const PlanRequest request = Request({{"population", path},
                                       {"exchange", "ring-allreduce"},
                                       {"elements", "1e5"},
                                       {"client-seconds", "10"},
                                       {"order", "slow,2,0,1"},
                                       {"rounds", "2"}});
  const Plan plan = RunPlan(request);
  EXPECT_EQ(request.exchange->order, (std::vector<int>{3, 2, 0, 1}));
  for (int client = 0; client < 4; ++client) {
    EXPECT_NEAR(plan.exchange->work_seconds[client], client == 3 ? 30 : 10, 1e-9);
  }
  const PlannedRound& round = plan.rounds.front();
  const double seconds = InSeconds(round.row.end - round.row.start);
  EXPECT_NEAR(seconds, 30 + SynchronisationOf(plan), 1e-9);
  EXPECT_NEAR(round.work_seconds / round.counted_seconds, 60 / (4 * seconds), 1e-12);
  EXPECT_EQ(plan.rounds[1].row.start, round.row.end);
  const auto tables = PlanTables(request, plan);
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[2].rows[0][1], "slow");
}

// Lines that carry nothing every other minute: rounds that begin at other times take other times.
TEST(ExchangePlan, RoundsBeginAtTheirOwnTimeWhereLinesChange) {
  const std::string path =
      Write("lines.csv", "time_s,mbps\n0,100\n60,1\n120,100\n180,1\n240,100\n");
  const Texts options =
      With(kSilos, {{"exchange", "ring-allreduce"}, {"client-seconds", "25"}, {"rounds", "8"}});
  const Plan steady = RunOf(options);
  const Plan plan = RunOf(With(options, {{"traces", "csv:" + path}}));
  EXPECT_TRUE(plan.exchange->rates_change);
  const auto span = [](const std::vector<double>& values) {
    return *std::max_element(values.begin(), values.end()) -
           *std::min_element(values.begin(), values.end());
  };
  EXPECT_EQ(span(steady.exchange->synchronisation), 0);
  EXPECT_GT(span(plan.exchange->synchronisation), 1);
}

TEST(ExchangePlan, EqualOptionsGiveEqualBytes) {
  const PlanRequest request = Request(With(kSilos, {{"exchange", "direct-allreduce"}}));
  const Plan first = RunPlan(request), second = RunPlan(request);
  EXPECT_EQ(RoundsCsv(request, first), RoundsCsv(request, second));
  EXPECT_EQ(ClientsCsv(request, first), ClientsCsv(request, second));
  EXPECT_EQ(LinksCsv(first), LinksCsv(second));
}

TEST(ExchangePlan, RemediesDoWhatTheySay) {
  const PlanRequest request = Request(With(kSilos, {{"exchange", "ring-allreduce"}}));
  const Plan base = RunPlan(request);
  const auto seconds = [&](const PlanRemedy& remedy) {
    return SynchronisationOf(RunPlan(request, remedy));
  };
  EXPECT_LT(seconds({.down_rates = 2, .up_rates = 2}), .8 * SynchronisationOf(base));
  EXPECT_LT(seconds({.bytes = .5}), .8 * SynchronisationOf(base));
  EXPECT_NEAR(seconds({.work = .5}), SynchronisationOf(base), 1e-9);
  EXPECT_EQ(RunPlan(request, {.versions = 2}).rounds.size(), 2u);
  EXPECT_EQ(RemediesFor(request).size(), 4u);  // no links of a topology
}

TEST(ExchangePlan, PacketsAgreeWithFlows) {
  if (Ns3Version() == "none") GTEST_SKIP() << "built without ns-3";
  const Texts options =
      With(kSilos, {{"exchange", "ring-allreduce"}, {"clients", "4"}, {"rounds", "1"}});
  const Plan flow = RunOf(options);
  const Plan packet = RunOf(With(options, {{"fidelity", "packet"}}));
  EXPECT_GE(SynchronisationOf(packet), packet.exchange->bound_seconds);
  EXPECT_NEAR(SynchronisationOf(packet), SynchronisationOf(flow), .15 * SynchronisationOf(flow));
}

// A learner whose clients send the given bytes of each fragment, after equal parts of `steps`.
class SentBytes : public ExchangeLearner {
 public:
  SentBytes(int clients, std::vector<int64_t> fragments, int64_t steps)
      : fragments_(std::move(fragments)) {
    for (const int64_t bytes : fragments_) {
      StepWork& work = works_.emplace_back();
      work.workers = clients;
      work.batch_size = 8;
      work.update = WorkList();
      work.local_steps.assign(static_cast<size_t>(clients), steps / std::ssize(fragments_));
      SentCall call;
      call.reduction = Reduction::kSum;
      call.collective = Collective::kAllReduce;
      call.bytes.assign(static_cast<size_t>(clients), bytes);
      work.buckets.push_back({{0}, bytes / 4, {call}});
    }
  }

  int Fragments() const override { return static_cast<int>(fragments_.size()); }
  std::span<const StepWork> Next() override {
    ++version_;
    return works_;
  }
  int64_t Version() const override { return version_; }
  const VersionFacts& Facts() const override { return facts_; }
  Evaluation Evaluate() override { return {}; }
  std::vector<analysis::DecisionRow> TakeDecisions() override { return {}; }
  std::vector<analysis::LayerRow> LayerRows() const override { return {}; }
  std::string Description() const override { return ""; }
  std::optional<int64_t> SamplesOf(int) override { return 800; }
  int64_t LabelsOf(int) const override { return 0; }

 private:
  std::vector<int64_t> fragments_;
  std::vector<StepWork> works_;
  VersionFacts facts_;
  int64_t version_ = 0;
};

struct Streamed {
  double seconds = 0;  // of a round
  ExchangeSplit split;
  int64_t wire = 0;
  int64_t message = 0;  // of a client
};

constexpr int64_t kStreamedSteps = 20;

// Returns the second of two rounds of four clients of 100 Mbit/s, whose device has this speed.
Streamed RunStreamed(const std::string& algorithm, std::vector<int64_t> fragments, double speed) {
  Scenario scenario = FederatedDefaults();
  scenario.device_speed = speed;
  const PlanRequest request =
      Request({{"population", "broadband:down=100Mbps,up=100Mbps,delay=10ms"},
               {"clients", "4"},
               {"exchange", "ring-allreduce"},
               {"elements", "1e6"},
               {"connections", "warm"},
               {"rounds", "2"}});
  const FederatedMethod method = {"m", algorithm, "dense", {}};
  const std::vector<OperationCost> costs = {{"linear", 6e9, 8, 40, {0}}};
  const std::vector<Unit> layers = {{0, "weight", {1'000'000}, 0, 1'000'000}};
  SentBytes learner(4, std::move(fragments), kStreamedSteps);
  PlanNetworks networks(request);
  const auto run = StartExchangeTraining(networks, {}, {scenario, method, costs, layers}, learner);
  PlannedRound last;
  EndedTask task;
  while (const PlannedRound* round = run->Next()) {
    last = *round;
    task = run->Tasks().back();
  }
  EXPECT_EQ(learner.Version(), 2);
  EXPECT_EQ(task.figures.local_steps, kStreamedSteps);
  EXPECT_EQ(task.row.times.dispatched, last.row.start);
  EXPECT_LE(task.row.times.worked, task.row.times.ended);
  EXPECT_EQ(task.row.times.ended, last.row.end);
  return {InSeconds(last.row.end - last.row.start), last.split.value(), last.wire_up,
          task.row.work.upBytes};
}

// Messages that are sent while clients continue to work cost time only if they take longer.
TEST(StreamedExchange, TravelsBesideLocalSteps) {
  constexpr int64_t kBytes = 4'000'000;
  constexpr int64_t kOverlap = 5;
  const std::string overlapped = "diloco:overlap=" + std::to_string(kOverlap);
  for (const double speed : {1e-1, 3e2}) {
    const Streamed alone = RunStreamed("diloco", {kBytes}, speed);
    const double communication = alone.seconds - alone.split.compute;
    EXPECT_GT(communication, 2 * .75 * kBytes * 8 / 100e6);
    const Streamed beside = RunStreamed(overlapped, {kBytes}, speed);
    EXPECT_NEAR(beside.split.compute, alone.split.compute, 1e-7);
    EXPECT_EQ(beside.wire, alone.wire);
    const double meanwhile = alone.split.compute * kOverlap / kStreamedSteps;
    EXPECT_EQ(meanwhile > communication, speed < 1) << meanwhile << " " << communication;
    EXPECT_NEAR(beside.seconds, alone.seconds - std::min(meanwhile, communication), 1e-6);
    EXPECT_NEAR(beside.split.communication + beside.split.wait,
                std::max(0.0, communication - meanwhile), 1e-6);
  }
}

TEST(StreamedExchange, FragmentsTravelOneAfterTheOther) {
  constexpr double kFast = 3e2;
  const Streamed whole = RunStreamed("diloco", {4'000'000}, kFast);
  const std::vector<int64_t> sizes = {1'000'000, 500'000, 2'000'000, 500'000};
  const Streamed parts = RunStreamed("diloco:fragments=4", sizes, kFast);
  EXPECT_EQ(parts.message, whole.message);
  EXPECT_NEAR(parts.split.compute, whole.split.compute, 1e-7);
  EXPECT_NEAR(parts.split.nic_bytes, whole.split.nic_bytes, 1e-6 * whole.split.nic_bytes);
  EXPECT_NEAR(static_cast<double>(parts.wire), static_cast<double>(whole.wire), 5e4);
  double alone = 0;  // each fragment's exchange
  for (const int64_t bytes : sizes) {
    const Streamed one = RunStreamed("diloco", {bytes}, kFast);
    alone += one.seconds - one.split.compute;
  }
  EXPECT_NEAR(parts.seconds, whole.split.compute + alone, 1e-6);
  // Devices that take long enough for a turn hide all of them.
  const Streamed slow = RunStreamed("diloco:fragments=4,overlap=4", sizes, 1e-1);
  EXPECT_NEAR(slow.seconds, slow.split.compute, 1e-6);
}

TEST(ExchangePlan, SaysWhatIsWrong) {
  const Texts ring = With(kSilos, {{"exchange", "ring-allreduce"}});
  const std::map<std::string, std::string> served = {
      {"availability", "nightly"}, {"dropout", "0.1"},  {"detect", "1s"},
      {"down-bytes", "1MB"},       {"up-bytes", "1MB"}, {"server", "async"},
      {"max-tasks", "9"},          {"per-round", "5"},  {"over-select", "1.3"},
      {"deadline", "60s"},         {"min", "2"},        {"short", "skip"},
      {"selection", "weighted"},   {"at", "x"},         {"server-rate", "1Gbps"},
      {"server-price", "0.1"}};
  for (const auto& [name, text] : served) {
    EXPECT_EQ(
        ErrorOf(With(ring, {{name, text}})),
        "--" + name + ": got '" + text + "'; allowed: nothing here: --exchange=server reads it");
  }
  EXPECT_EQ(ErrorOf(With(kSilos, {{"order", "1,0"}})),
            "--order: got '1,0'; allowed: nothing here: --exchange=COLLECTIVE reads it");
  EXPECT_EQ(ErrorOf(With(ring, {{"group", "2"}})),
            "--group: got '2'; allowed: nothing here: --exchange=hierarchical-allreduce or "
            "hierarchical-allgather reads it");
  EXPECT_EQ(ErrorOf(With(ring, {{"order", "0,1"}})),
            "--order: got '0,1'; allowed: all 8 clients: 6 are missing");
  EXPECT_EQ(ErrorOf(With(ring, {{"order", "0,0"}})), "--order: got '0'; allowed: each client once");
  EXPECT_EQ(
      ErrorOf(With(ring, {{"order", "moon"}})),
      "--order: got 'moon'; allowed: numbers of clients, from 0, or names of groups or places");
  EXPECT_EQ(ErrorOf(With(ring, {{"clients", "1"}})),
            "--exchange: got 'ring-allreduce of 1 client'; allowed: 2 clients or more");
  EXPECT_EQ(ErrorOf(With(ring, {{"fidelity", "formula"}})),
            "--fidelity: got 'formula'; allowed: packet, flow or analytic with "
            "--exchange=ring-allreduce");
  EXPECT_EQ(ErrorOf(With(kSilos, {{"exchange", "parameter-server"}})).substr(0, 36),
            "--exchange: got 'parameter-server'; ");
  EXPECT_EQ(ErrorOf(With(kSilos, {{"exchange", "recursive-doubling-allgather"}, {"clients", "6"}})),
            "--exchange: got 'recursive-doubling-allgather of 6 clients'; allowed: a power of two "
            "of them, or another collective");
  EXPECT_EQ(
      ErrorOf(With(kSilos, {{"exchange", "direct-allreduce"}, {"clients", "9000"}})),
      "--exchange: got 'direct-allreduce of 9000 clients'; allowed: fewer clients, or another "
      "collective: it is more than 10 million messages");
  const std::string nightly = Write("nightly.yaml", "- {count: 3, availability: nightly}\n");
  EXPECT_EQ(ErrorOf({{"population", nightly}, {"exchange", "ring-allreduce"}, {"elements", "9"}}),
            "--population: availability of group 1: got 'nightly'; allowed: none with "
            "--exchange=ring-allreduce: all clients take part in every round");
}

// Ten hospitals in regions of a cloud and a server in eu-central-1, as shipped: what one dense
// round of ResNet-18 for CIFAR costs at the list prices of 2022.
TEST(Hospitals, ADenseRoundCostsItsEgress) {
  const std::string topology = TopologyOf("hospitals.yaml");
  const Texts options = {
      {"population", LEGACY_SOURCE_DIR "/scenarios/federated/hospitals.population.yaml"},
      {"topology", topology},
      {"elements", "11173962"},
      {"rounds", "1"}};
  for (const std::string fidelity : {"flow", "analytic"}) {
    const Plan plan = RunOf(With(options, {{"fidelity", fidelity}}));
    EXPECT_EQ(plan.rounds[0].wire_up, 10 * int64_t{46'362'720});
    EXPECT_NEAR(plan.rounds[0].cost.usd_up, .0330212, 1e-6);
    EXPECT_NEAR(plan.rounds[0].cost.usd_down, .0089362, 1e-6);
    EXPECT_NEAR(plan.link_usd, .0419574, 1e-6);
  }
}

}  // namespace
}  // namespace legacy::exchange_test
