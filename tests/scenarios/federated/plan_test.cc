#include "scenarios/federated/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "scenarios/federated/plan_doctor.h"
#include "scenarios/federated/plan_files.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/federated/plan_report.h"
#include "scenarios/federated/population_report.h"
#include "tests/message_of.h"
#include "tests/scenarios/federated/plan_testing.h"

namespace legacy::plan_test {
namespace {

double End(const Plan& plan) { return InSeconds(plan.rounds.back().row.end); }

std::string ErrorOf(const Texts& texts) {
  try {
    Request(texts);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

const Texts kPhones = {
    {"population", "phones"},      {"clients", "200"},
    {"per-round", "20"},           {"rounds", "40"},
    {"elements", "44426"},         {"client-seconds", "6"},
    {"over-select", "1.3"},        {"deadline", "factor:2"},
    {"dropout", "0.05"},           {"availability", "nightly:chance=1,length=20h"},
    {"server-price", "0.09/0.01"}, {"price", "0.02"}};

// Alone, a task takes the predicted time: here the second one, before which its client was idle.
TEST(Plan, PredictsWhatALoneTaskTakes) {
  const char* const kLines[] = {
      "broadband:down=30Mbps,up=7Mbps,delay=23ms",
      "broadband:down=300Mbps,up=1Mbps,delay=40ms"};  // ACKs fill its uplink
  for (const std::string fidelity : {"flow", "analytic"}) {
    const double within = fidelity == "flow" ? 1e-6 : .02;  // analytic: ACKs limit nothing
    for (const std::string connections :
         {"warm", "cold", "tls", "quic", "quic-0rtt", "persistent"}) {
      for (const char* line : kLines) {
        for (const char* streams : {"1", "4"}) {
          for (const std::string elements : {"100", "44426", "1e6"}) {
            const Plan plan = RunOf({{"population", line},
                                     {"clients", "1"},
                                     {"per-round", "1"},
                                     {"rounds", "2"},
                                     {"elements", elements},
                                     {"client-seconds", "9"},
                                     {"connections", connections},
                                     {"streams", streams},
                                     {"fidelity", fidelity}});
            const fabric::RoundRow& row = plan.rounds.back().row;
            const double seconds = InSeconds(row.end - row.start);
            EXPECT_NEAR(plan.predicted.front(), seconds, within * seconds)
                << fidelity << " " << connections << " " << line << " " << streams << " "
                << elements;
            const bool starts = connections != "warm" && elements != "100";
            const bool shakes =
                connections == "cold" || connections == "tls" || connections == "quic";
            EXPECT_EQ(plan.opening.front() > 0, fidelity == "flow" && (starts || shakes))
                << fidelity << " " << connections << " " << elements;
          }
        }
      }
    }
  }
}

// Twice the median prediction lets half of the tasks end, however small the model is.
TEST(Plan, DeadlinesByPredictionsCountHandshakesAndSlowStart) {
  Texts options = {{"population", "phones"}, {"clients", "200"},      {"per-round", "40"},
                   {"rounds", "10"},         {"elements", "44426"},   {"client-seconds", "0.001"},
                   {"deadline", "factor:2"}, {"selection", "uniform"}};
  const Plan plan = RunOf(options);
  for (const PlannedRound& round : plan.rounds) {
    EXPECT_GE(round.row.fates[static_cast<size_t>(fabric::TaskFate::Counted)], 20);
  }
}

TEST(Plan, SumsOfTasksRoundsAndClientsAgree) {
  const PlanRequest request = Request(kPhones);
  const Plan plan = RunPlan(request);
  ASSERT_EQ(plan.versions, 40);
  int64_t started = 0, tasks = 0, down = 0, up = 0, wire_down = 0, wire_up = 0;
  double usd = 0, busy = 0;
  for (const PlannedRound& round : plan.rounds) {
    started += round.row.started;
    const int64_t ended =
        std::accumulate(round.row.fates.begin(), round.row.fates.end(), int64_t{0});
    EXPECT_EQ(ended, round.tasks);
    EXPECT_EQ(round.first_task, tasks);
    tasks += ended;
    wire_down += round.wire_down;
    wire_up += round.wire_up;
    usd += round.cost.usd_down + round.cost.usd_up;
    busy += round.client_seconds;
  }
  EXPECT_EQ(started, tasks);
  double client_usd = 0, client_busy = 0;
  int64_t client_tasks = 0;
  for (const ClientTotals& client : plan.clients) {
    down += client.wire_down;
    up += client.wire_up;
    client_usd += client.usd;
    client_busy += client.busy_seconds;
    client_tasks += client.tasks;
  }
  EXPECT_EQ(client_tasks, tasks);
  EXPECT_EQ(down, wire_down);
  EXPECT_EQ(up, wire_up);
  EXPECT_NEAR(client_usd, usd, 1e-9 * usd);
  EXPECT_NEAR(client_busy, busy, 1e-6 * busy);
  // What the links carried costs the same: transfers that are cut are rounded to whole bytes.
  EXPECT_NEAR(plan.link_usd, usd, 1e-4 * usd);
  double rows_usd = 0;
  for (const analysis::LinkRow& row : plan.links) rows_usd += row.usd;
  EXPECT_NEAR(rows_usd, plan.link_usd, 1e-9);
  EXPECT_EQ(plan.links.size(), 4u);  // the server's line and the group's, each way
  EXPECT_GT(usd, 0);
}

// ResNet-18 for CIFAR: 11,173,962 parameters are 46,362,720 bytes on the wire, with 833,436 bytes
// of ACKs, one for two segments.
TEST(Plan, PricesOfATaskAreThoseOfItsBytesAndAcks) {
  const Plan plan = RunOf({{"clients", "1"},
                           {"rounds", "1"},
                           {"elements", "11173962"},
                           {"server-price", "0.02/0"},
                           {"price", "0.09/0"}});
  const PlannedRound& round = plan.rounds.front();
  EXPECT_EQ(round.wire_down, 46'362'720);
  EXPECT_EQ(round.wire_up, 46'362'720);
  EXPECT_NEAR(round.cost.usd_down, (46'362'720 * .02 + 833'436 * .09) * 1e-9, 1e-9);
  EXPECT_NEAR(round.cost.usd_up, (46'362'720 * .09 + 833'436 * .02) * 1e-9, 1e-9);
  EXPECT_NEAR(plan.link_usd, round.cost.usd_down + round.cost.usd_up, 1e-9);
}

// Ten hospitals in regions of a cloud and a server in eu-central-1: what one dense round costs at
// the list prices of 2022.
TEST(Plan, ARoundBetweenRegionsCostsItsEgress) {
  const Plan plan =
      RunOf({{"population", LEGACY_SOURCE_DIR "/scenarios/federated/hospitals.population.yaml"},
             {"topology", "regions:" LEGACY_SOURCE_DIR "/topologies/hospitals.yaml"},
             {"elements", "11173962"},
             {"rounds", "1"}});
  EXPECT_NEAR(plan.rounds[0].cost.usd_up, .0330212, 1e-6);
  EXPECT_NEAR(plan.rounds[0].cost.usd_down, .0089362, 1e-6);
  EXPECT_NEAR(plan.link_usd, .0419574, 1e-6);
}

TEST(Plan, EqualOptionsGiveEqualBytesAndOtherSeedsOthers) {
  const PlanRequest request = Request(kPhones);
  const Plan first = RunPlan(request), second = RunPlan(request);
  EXPECT_EQ(RoundsCsv(request, first), RoundsCsv(request, second));
  EXPECT_EQ(TasksCsv(request, first), TasksCsv(request, second));
  EXPECT_EQ(ClientsCsv(request, first), ClientsCsv(request, second));
  Texts other = kPhones;
  other["seed"] = "2";
  EXPECT_NE(RoundsCsv(request, first), RoundsCsv(request, RunOf(other)));
}

// All rates twice as high, and all delays, works and times of schedules halved: every time halves.
TEST(Plan, ScalingRatesAndTimesScalesEveryTime) {
  const auto schedule = [](const std::string& name, double rate, double time) {
    std::string text = "time_s,mbps\n";
    for (int i = 0; i < 60; ++i) {
      text += std::to_string(i * time) + "," + std::to_string(rate * (1 + (i * 37) % 11)) + "\n";
    }
    return Write(name, text);
  };
  const auto run = [&](double factor, const std::string& name) {
    const std::string path = schedule(name, factor, 1 / factor);
    return RunOf({{"population", factor == 1 ? "broadband:down=30Mbps,up=8Mbps,delay=20ms"
                                             : "broadband:down=60Mbps,up=16Mbps,delay=10ms"},
                  {"clients", "50"},
                  {"rounds", "30"},
                  {"elements", "1e6"},
                  {"connections", "warm"},
                  {"client-seconds", factor == 1 ? "4" : "2"},
                  {"server-rate", factor == 1 ? "100Mbps" : "200Mbps"},
                  {"over-select", "1.5"},
                  {"deadline", factor == 1 ? "30s" : "15s"},
                  {"traces", "csv:" + path + ":scale=mean"}});
  };
  const Plan slow = run(1, "slow.csv"), fast = run(2, "fast.csv");
  ASSERT_EQ(slow.rounds.size(), fast.rounds.size());
  for (size_t i = 0; i < slow.rounds.size(); ++i) {
    EXPECT_NEAR(InSeconds(slow.rounds[i].row.end) / InSeconds(fast.rounds[i].row.end), 2, 2e-3)
        << i;
    EXPECT_EQ(slow.rounds[i].row.fates, fast.rounds[i].row.fates) << i;
  }
}

TEST(Plan, AScheduleThatNeverChangesIsNone) {
  Texts plain = kPhones;
  plain["population"] = "broadband";
  plain["price"] = "";
  Texts scheduled = plain;
  scheduled["traces"] = "csv:" + Write("flat.csv", "time_s,mbps\n0,7\n1,7\n5,7\n") + ":scale=mean";
  const PlanRequest request = Request(plain);
  EXPECT_EQ(RoundsCsv(request, RunPlan(request)), RoundsCsv(request, RunOf(scheduled)));
}

// The options are the remedies: of lines with a trace, too.
TEST(Plan, RateFactorsScaleAllLines) {
  Texts options = kPhones;
  options["population"] = "broadband:up=8Mbps";
  options["price"] = "";
  options["traces"] = "csv:" + Write("rates.csv", "time_s,mbps\n0,7\n1,3\n2,9\n") + ":direction=up";
  const PlanRequest plain = Request(options);
  const Plan as_it_is = RunPlan(plain);
  for (const auto& [name, remedy] : std::map<std::string, PlanRemedy>{
           {"down-rates", {.down_rates = 0.25}}, {"up-rates", {.up_rates = 0.25}}}) {
    Texts scaled = options;
    scaled[name] = "0.25";
    const PlanRequest request = Request(scaled);
    const Plan plan = RunPlan(request);
    EXPECT_EQ(RoundsCsv(request, plan), RoundsCsv(plain, RunPlan(plain, remedy))) << name;
    EXPECT_GT(End(plan), End(as_it_is));
  }
  options["up-rates"] = "0";
  EXPECT_THROW(Request(options), Error);
}

// Factors on core and prices, and losses, of ten hospitals.
TEST(Plan, FactorsOnTheCoreLossesAndPrices) {
  const Texts options = {
      {"population", LEGACY_SOURCE_DIR "/scenarios/federated/hospitals.population.yaml"},
      {"topology", "regions:" LEGACY_SOURCE_DIR "/topologies/hospitals.yaml"},
      {"elements", "1e6"},
      {"rounds", "2"}};
  const PlanRequest plain = Request(options);
  const Plan as_it_is = RunPlan(plain);
  const auto with = [&](const std::string& name, const std::string& value) {
    Texts changed = options;
    changed[name] = value;
    return RunOf(changed);
  };
  const Plan slow_core = with("core-rates", "1e-3");
  EXPECT_EQ(RoundsCsv(plain, slow_core), RoundsCsv(plain, RunPlan(plain, {.core_rates = 1e-3})));
  EXPECT_GT(End(slow_core), End(as_it_is));
  EXPECT_LT(End(with("core-delays", "0.5")), End(as_it_is));
  EXPECT_GT(End(with("packet-loss", "1e-3")), End(as_it_is));
  EXPECT_GT(End(with("packet-loss", "1e-2")), End(with("packet-loss", "1e-3")));
  const Plan dear = with("prices", "3");
  EXPECT_EQ(End(dear), End(as_it_is));
  EXPECT_NEAR(dear.link_usd, 3 * as_it_is.link_usd, 1e-12);
  EXPECT_NEAR(dear.rounds[0].cost.usd_up / as_it_is.rounds[0].cost.usd_up, 3, 1e-6);
  EXPECT_GT(as_it_is.link_usd, 0);

  EXPECT_THROW(with("packet-loss", "1"), Error);
  EXPECT_THROW(with("prices", "-1"), Error);
  Texts star = kPhones;
  star["core-delays"] = "2";
  EXPECT_NE(MessageOf([&] { Request(star); }).find("--core-delays: got '2'; allowed: 1: without"),
            std::string::npos);
}

TEST(Plan, FormulaHasFedScalesTimesAndSimulatingIsSlower) {
  const Texts options = {{"population", "broadband:down=10Mbps,up=10Mbps"},
                         {"elements", "44426"},
                         {"client-seconds", "6"},
                         {"rounds", "3"},
                         {"clients", "20"}};
  Texts formula = options;
  formula["fidelity"] = "formula";
  EXPECT_NEAR(End(RunOf(formula)), 3 * 6.2843264, 1e-9);
  EXPECT_GT(End(RunOf(options)), 3 * 6.2843264 + 3 * 3 * .020);
  Texts flow = options, analytic = options;
  analytic["fidelity"] = "analytic";
  EXPECT_NEAR(End(RunOf(analytic)), End(RunOf(flow)), .1 * End(RunOf(flow)));
}

// Four workers of 2,280 s of work: utilisation is work / (work + exchange).
TEST(Plan, UtilisationIsWorkOverWorkAndExchange) {
  const Plan plan = RunOf({{"clients", "4"},
                           {"population", "broadband:down=1Gbps,up=1Gbps,delay=40ms"},
                           {"elements", "10.2e9"},
                           {"element-bytes", "1"},
                           {"client-seconds", "2280"},
                           {"connections", "warm"},
                           {"rounds", "2"}});
  const PlannedRound& round = plan.rounds.front();
  const double seconds = InSeconds(round.row.end - round.row.start);
  EXPECT_NEAR(round.work_seconds / round.counted_seconds, 2280 / seconds, 1e-9);
  // Each way takes 10.2 GB x 1502 / 1448 at 1 Gbit/s, and ACKs take nothing of either.
  EXPECT_NEAR(seconds, 2280 + 2 * 10.2e9 * 8 / 1e9 * 1502 / 1448, .02 * seconds);
}

TEST(Plan, RemediesDoWhatTheySay) {
  Texts options = kPhones;
  options["elements"] = "5e6";
  options["client-seconds"] = "0.5";
  options["dropout"] = "0";
  options["availability"] = "always";
  options["deadline"] = "none";
  const PlanRequest request = Request(options);
  const double base = End(RunPlan(request));
  EXPECT_LT(End(RunPlan(request, {.up_rates = 2})), .95 * base);
  EXPECT_LT(End(RunPlan(request, {.down_rates = 2})), .97 * base);
  EXPECT_LT(End(RunPlan(request, {.bytes = .5})), .8 * base);
  EXPECT_LT(End(RunPlan(request, {.no_slow_tenth = true})), base);
  EXPECT_EQ(RunPlan(request, {.versions = 7}).rounds.size(), 7u);
}

TEST(Plan, TheDoctorNamesTheRemedyThatShortensTheMedianRoundMost) {
  const PlanRequest request = Request({{"population", "broadband"},
                                       {"clients", "12"},
                                       {"elements", "5e6"},
                                       {"client-seconds", "0.5"},
                                       {"rounds", "3"}});
  const PlanRemedies remedies = RemediesFor(request);
  StopFlag stop = 0;
  const Diagnosis diagnosis = DiagnoseRounds(
      RunPlan(request), remedies,
      [&](const Remedy&, const PlanRemedy& change) { return RunPlan(request, change); }, stop);
  const Remedy& best = diagnosis.remedies.front();
  EXPECT_TRUE(best.verdict);
  EXPECT_EQ(best.bound, Bound::kBytes);
  const std::string verdict = RoundsVerdict(diagnosis);
  EXPECT_TRUE(verdict.starts_with("Rounds are bound by bytes: half the bytes saves ")) << verdict;
  EXPECT_TRUE(verdict.ends_with(FormatTime(diagnosis.as_it_is.total) + ", the median round."))
      << verdict;
  const analysis::Table table = RemedyTable(diagnosis);
  EXPECT_EQ(table.rows.size(), remedies.size() + 1);
  EXPECT_EQ(table.rows[0][0], "as it is");
  EXPECT_EQ(table.rows[0][2], "0.0 %");
  EXPECT_EQ(table.rows[1][0], "half the bytes");
  const auto interrupted = [&](const Remedy&, const PlanRemedy&) {
    stop = 1;
    return Plan();
  };
  EXPECT_TRUE(DiagnoseRounds(RunPlan(request), remedies, interrupted, stop).remedies.empty());
}

// Remedies share the networks that they do not change, and give the results of separate plans, in
// any order.
TEST(Plan, RemediesOfOneNetworkAreThoseOfTheirOwn) {
  const PlanRequest request =
      Request({{"population", LEGACY_SOURCE_DIR "/scenarios/federated/hospitals.population.yaml"},
               {"topology", "regions:" LEGACY_SOURCE_DIR "/topologies/hospitals.yaml"},
               {"elements", "1e6"},
               {"rounds", "2"}});
  PlanNetworks networks(request);
  PlanRemedies remedies = RemediesFor(request);
  remedies.emplace_back(Remedy{.change = "as it is"}, PlanRemedy());
  std::set<std::string> different;
  for (const auto& [remedy, change] : remedies) {
    const Plan shared = RunPlan(networks, change), own = RunPlan(request, change);
    EXPECT_EQ(RoundsCsv(request, shared), RoundsCsv(request, own)) << remedy.change;
    EXPECT_EQ(LinksCsv(shared), LinksCsv(own)) << remedy.change;
    EXPECT_EQ(shared.predicted, own.predicted) << remedy.change;
    EXPECT_EQ(shared.predicted.empty(), !change.AsItIs()) << remedy.change;
    different.insert(RoundsCsv(request, shared));
  }
  EXPECT_GT(different.size(), remedies.size() / 2);
}

TEST(Plan, ChartsAndTablesShowARound) {
  const PlanRequest request = Request(kPhones);
  const Plan plan = RunPlan(request);
  const PlannedRound& round = GanttRound(plan, 3);
  EXPECT_EQ(round.row.version, 3);
  const std::string text = analysis::GanttText(TasksOf(plan, round), 10);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 12);
  const std::string svg = analysis::GanttSvg(TasksOf(plan, round));
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  EXPECT_EQ(PlanTables(request, plan).size(), 3u);
  EXPECT_NE(WaitsFor(request, plan).find("% work"), std::string::npos);
  EXPECT_THROW(GanttRound(plan, 41), Error);
  const std::string rounds = RoundsCsv(request, plan);
  EXPECT_EQ(std::count(rounds.begin(), rounds.end(), '\n'), 41);
  EXPECT_EQ(rounds.substr(0, 50), "policy,seed,version,start,end,wanted,started,count");
}

TEST(Plan, UpdatesOfACodecHaveItsBytes) {
  const PlanRequest plan = Request({{"elements", "100000"}, {"codec", "topk@1%"}});
  const Unit unit{.id = 0, .name = "model", .shape = {100000}, .offset = 0, .numel = 100000};
  EXPECT_EQ(plan.down_bytes, 400000);
  EXPECT_EQ(plan.up_bytes, MakeCodec("topk")->MessageBytes(unit, 0.01));
  const PlanRequest shaped = Request({{"shape", "resnet50"}, {"codec", "qsgd@4"}});
  EXPECT_LT(6 * shaped.up_bytes, shaped.down_bytes);
  EXPECT_GT(8 * shaped.up_bytes, shaped.down_bytes);
}

TEST(Plan, SaysWhatIsWrong) {
  const auto with = [](const std::string& name, const std::string& text) {
    Texts texts = {{"elements", "1000"}, {"clients", "20"}};
    texts[name] = text;
    return ErrorOf(texts);
  };
  EXPECT_EQ(
      ErrorOf({}),
      "--elements: got 'nothing'; allowed: the model's size: --elements, --bytes, --shape, or "
      "--down-bytes and --up-bytes");
  EXPECT_EQ(with("server", "both").substr(0, 27), "--server: got 'both'; allow");
  EXPECT_EQ(with("server", "async:concurrency=21"),
            "--server: concurrency: got '21'; allowed: an integer from 1 to 20");
  EXPECT_EQ(with("over-select", "0.5").substr(0, 27), "--over-select: got '0.5'; a");
  EXPECT_EQ(with("elements", "1.5"),
            "--elements: got '1.5'; allowed: a whole number, as in 44426 or 10.2e9");
  EXPECT_EQ(with("min", "2"), "--min: got '2'; allowed: its default: there is no --deadline");
  EXPECT_EQ(with("max-tasks", "2"),
            "--max-tasks: got '2'; allowed: nothing here: --server=async reads it");
  EXPECT_EQ(with("bytes", "2"),
            "--elements: got '1000'; allowed: nothing here: a plan without --bytes reads it");
  EXPECT_EQ(ErrorOf({{"elements", "1"}, {"server", "async"}, {"deadline", "3s"}}),
            "--deadline: got '3s'; allowed: nothing here: --server=sync reads it");
  EXPECT_EQ(with("fidelity", "exact").substr(0, 28), "--fidelity: got 'exact'; all");
  EXPECT_EQ(with("selection", "best"),
            "--selection: got 'best'; allowed: uniform, weighted, round-robin, tiers[:count=5], "
            "power-of-choice[:d=N], "
            "oort[:explore=0.9,decay=0.98,least=0.3,percentile=30,penalty=2,pacer=20]");
  EXPECT_NE(with("selection", "oort").find("without training there are no losses"),
            std::string::npos);
  EXPECT_EQ(with("traces", "trace.csv").substr(0, 29), "--traces: got 'trace.csv'; al");
  EXPECT_EQ(with("dropout", "2").substr(0, 25), "--dropout: got '2'; allow");
  EXPECT_EQ(with("deadline", "soon").substr(0, 27), "--deadline: got 'soon'; all");
  EXPECT_EQ(
      with("at", "moon"),
      "server: at: got 'moon'; allowed: no place: the lines meet in one switch, as no topology "
      "was given");
}

TEST(PopulationView, LooksAtClientsAndTheirDay) {
  PlanOptions options;
  options.federated.population = "phones";
  options.federated.clients = 40'000;
  const fabric::Population population = ParsePopulation(options);
  const PopulationView view = ViewPopulation(population, "nightly:zone=0", 1);
  EXPECT_EQ(view.clients, 40'000);
  EXPECT_EQ(view.looked_at, 20'000);
  ASSERT_EQ(view.groups.size(), 1u);
  EXPECT_GT(view.groups[0].available[2], .6);
  EXPECT_LT(view.groups[0].available[14], .01);
  EXPECT_EQ(PopulationTables(view).size(), 2u);
  EXPECT_NE(AvailabilitySvg(view).find("<polyline"), std::string::npos);
  options.federated.clients = 3;
  const std::string csv = PopulationCsv(ParsePopulation(options));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
}

}  // namespace
}  // namespace legacy::plan_test
