#include "scenarios/federated/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "scenarios/federated/exchange_report.h"

namespace legacy {
namespace {

using analysis::Table;
using fabric::TaskFate;
using fabric::TimeNs;

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

double Median(const std::vector<double>& values) { return Quantile(values, 0.5); }

// A row of the table of rounds: median and 95th percentile over the rounds, and the sum.
struct Measure {
  std::string name;
  std::vector<double> values;
  bool summed = false;
};

std::vector<std::string> RowOf(const Measure& measure) {
  if (measure.values.empty()) return {measure.name, "-", "-", "-"};
  const double sum = std::accumulate(measure.values.begin(), measure.values.end(), 0.0);
  return {measure.name, Figure(Median(measure.values)), Figure(Quantile(measure.values, 0.95)),
          measure.summed ? Figure(sum) : "-"};
}

int64_t Fate(const PlannedRound& round, TaskFate fate) {
  return round.row.fates[static_cast<size_t>(fate)];
}

Table RoundsTable(const PlanRequest& request, const Plan& plan) {
  Measure round{"round s", {}, false}, down{"download s", {}, false}, work{"work s", {}, false},
      up{"upload s", {}, false}, wait{"wait s", {}, false}, started{"tasks started", {}, true},
      counted{"counted", {}, true}, lost{"lost", {}, true}, late{"late", {}, true},
      interrupted{"interrupted", {}, true}, cancelled{"cancelled", {}, true},
      stale{"stale", {}, true}, staleness{"staleness", {}, false},
      mb_down{"MB down (wire)", {}, true}, mb_up{"MB up (wire)", {}, true},
      usd_down{"USD down", {}, true}, usd_up{"USD up", {}, true},
      usd_hours{"USD of client hours", {}, true}, hours{"client hours", {}, true},
      utilisation{"utilisation", {}, false};
  for (const PlannedRound& planned : plan.rounds) {
    const fabric::RoundRow& row = planned.row;
    const double seconds = Seconds(row.end - row.start);
    round.values.push_back(seconds);
    if (row.critical) {
      const fabric::TaskTimes& times = row.critical->times;
      down.values.push_back(Seconds(times.downloaded - times.dispatched));
      work.values.push_back(Seconds(times.worked - times.downloaded));
      up.values.push_back(Seconds(times.ended - times.worked));
      if (request.Synchronous()) {
        wait.values.push_back(seconds - Seconds(times.ended - times.dispatched));
      }
    }
    const auto add = [&](Measure& measure, TaskFate fate) {
      measure.values.push_back(static_cast<double>(Fate(planned, fate)));
    };
    started.values.push_back(static_cast<double>(row.started));
    add(counted, TaskFate::Counted);
    add(lost, TaskFate::Lost);
    add(late, TaskFate::Late);
    add(interrupted, TaskFate::Interrupted);
    add(cancelled, TaskFate::Cancelled);
    add(stale, TaskFate::Stale);
    staleness.values.push_back(row.stalenessMean);
    mb_down.values.push_back(static_cast<double>(planned.wire_down) / 1e6);
    mb_up.values.push_back(static_cast<double>(planned.wire_up) / 1e6);
    usd_down.values.push_back(planned.cost.usd_down);
    usd_up.values.push_back(planned.cost.usd_up);
    usd_hours.values.push_back(planned.cost.usd_hours);
    hours.values.push_back(planned.client_seconds / 3600);
    if (planned.counted_seconds > 0) {
      utilisation.values.push_back(planned.work_seconds / planned.counted_seconds);
    }
  }
  Table table{.title = "Rounds (parts are of the critical task)",
              .header = {"of a round", "median", "95th percentile", "all"},
              .rows = {}};
  for (const Measure* measure :
       {&round, &down,     &work,        &up,        &wait,  &started,    &counted,
        &lost,  &late,     &interrupted, &cancelled, &stale, &staleness,  &mb_down,
        &mb_up, &usd_down, &usd_up,      &usd_hours, &hours, &utilisation}) {
    // What never happens has no row.
    const bool happens = std::any_of(measure->values.begin(), measure->values.end(),
                                     [](double value) { return value != 0; });
    if (happens || measure == &round) table.rows.push_back(RowOf(*measure));
  }
  return table;
}

Table GroupsTable(const PlanRequest& request, const Plan& plan) {
  struct Sums {
    int64_t clients = 0, tasks = 0, counted = 0, down = 0, up = 0;
    double usd = 0;
    std::vector<double> seconds;
  };
  const auto& groups = request.population.Groups();
  std::vector<Sums> sums(groups.size());
  for (size_t client = 0; client < plan.clients.size(); ++client) {
    const ClientTotals& totals = plan.clients[client];
    Sums& group = sums[request.population.GroupOf(static_cast<int64_t>(client))];
    ++group.clients;
    group.tasks += totals.tasks;
    group.counted += totals.counted;
    group.down += totals.wire_down;
    group.up += totals.wire_up;
    group.usd += totals.usd;
  }
  for (const ShortTask& task : plan.short_tasks) {
    if (task.fate != TaskFate::Counted) continue;
    sums[request.population.GroupOf(task.client)].seconds.push_back(task.seconds);
  }
  int64_t tasks = 0, counted = 0;
  for (const Sums& group : sums) {
    tasks += group.tasks;
    counted += group.counted;
  }
  Table table{.title = "Clients by group",
              .header = {"group", "clients", "share of tasks", "share of counted", "median task s",
                         "MB down", "MB up", "USD"},
              .rows = {}};
  for (size_t i = 0; i < groups.size(); ++i) {
    const Sums& group = sums[i];
    const auto share = [](int64_t part, int64_t whole) {
      return whole == 0 ? "-" : Percent(static_cast<double>(part) / static_cast<double>(whole));
    };
    table.rows.push_back({groups[i].name, std::to_string(group.clients), share(group.tasks, tasks),
                          share(group.counted, counted),
                          group.seconds.empty() ? "-" : Figure(Median(group.seconds)),
                          Figure(static_cast<double>(group.down) / 1e6),
                          Figure(static_cast<double>(group.up) / 1e6), Figure(group.usd)});
  }
  return table;
}

Table DecileTable(const Plan& plan) {
  constexpr size_t kDeciles = 10;
  std::vector<int32_t> order(plan.predicted.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return plan.predicted[a] < plan.predicted[b]; });
  int64_t tasks = 0, counted = 0;
  for (const ClientTotals& totals : plan.clients) {
    tasks += totals.tasks;
    counted += totals.counted;
  }
  Table table{.title = "Participation by decile of speed (predicted tasks, fast first)",
              .header = {"decile", "clients", "predicted task s", "share of tasks",
                         "share of counted", "never counted"},
              .rows = {}};
  const size_t deciles = std::min(kDeciles, order.size());
  for (size_t i = 0; i < deciles; ++i) {
    const size_t from = i * order.size() / deciles, to = (i + 1) * order.size() / deciles;
    int64_t own_tasks = 0, own_counted = 0, never = 0;
    std::vector<double> predicted;
    for (size_t k = from; k < to; ++k) {
      const ClientTotals& totals = plan.clients[order[k]];
      own_tasks += totals.tasks;
      own_counted += totals.counted;
      never += totals.counted == 0;
      predicted.push_back(plan.predicted[order[k]]);
    }
    const auto share = [](int64_t part, int64_t whole) {
      return whole == 0 ? "-" : Percent(static_cast<double>(part) / static_cast<double>(whole));
    };
    table.rows.push_back({std::to_string(i + 1), std::to_string(to - from),
                          Figure(Median(predicted)), share(own_tasks, tasks),
                          share(own_counted, counted), std::to_string(never)});
  }
  return table;
}

std::vector<double> Durations(const Plan& plan) {
  std::vector<double> seconds;
  for (const PlannedRound& planned : plan.rounds) {
    seconds.push_back(Seconds(planned.row.end - planned.row.start));
  }
  return seconds;
}

}  // namespace

std::string Figure(double value) {
  if (value == 0) return "0";
  if (std::abs(value) >= 1e15 || std::abs(value) < 1e-6) return fmt::format("{:.3g}", value);
  const int digits = 3 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::clamp(digits, 0, 9));
}

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double part = place - static_cast<double>(below);
  return values[below] * (1 - part) + values[above] * part;
}

std::vector<Table> PlanTables(const PlanRequest& request, const Plan& plan) {
  if (plan.exchange) return ExchangeTables(request, plan);
  std::vector<Table> tables{RoundsTable(request, plan), GroupsTable(request, plan)};
  if (plan.clients.size() >= 10) tables.push_back(DecileTable(plan));
  return tables;
}

std::vector<std::pair<std::string, Remedy>> RemediesFor(const PlanRequest& request) {
  if (request.exchange) return ExchangeRemedies(request);
  std::vector<std::pair<std::string, Remedy>> remedies{
      {"downlinks of clients twice as fast", {.down_rates = 2}},
      {"uplinks of clients twice as fast", {.up_rates = 2}},
      {"server's line twice as fast", {.server_rate = 2}},
      {"half the bytes", {.bytes = 0.5}},
      {"work in half the time", {.work = 0.5}},
  };
  if (request.population.Clients() >= 20) {
    remedies.emplace_back("without the slowest tenth", Remedy{.no_slow_tenth = true});
  }
  if (request.core) {
    constexpr size_t kMostPlaces = 8;
    std::set<std::string> places;
    for (const fabric::Group& group : request.population.Groups()) {
      for (const std::string& place : group.at.Words()) places.insert(place);
    }
    places.erase(request.population.Server().at);
    for (const std::string& place : places) {
      if (remedies.size() >= 6 + kMostPlaces) break;
      remedies.emplace_back("server at " + place, Remedy{.at = place});
    }
  }
  return remedies;
}

Table RemedyTable(const std::vector<std::pair<std::string, Remedy>>& remedies, const Plan& base,
                  const std::vector<Plan>& plans) {
  Table table{
      .title = fmt::format("Remedies (simulated anew, {} rounds each)", base.rounds.size()),
      .header = {"remedy", "median round s", "saves", "95th percentile s", "all rounds s", "USD"},
      .rows = {}};
  const double median = Median(Durations(base));
  const auto add = [&](const std::string& name, const Plan& plan) {
    const std::vector<double> seconds = Durations(plan);
    if (seconds.empty()) {
      table.rows.push_back({name, "-", "-", "-", "-", "-"});
      return;
    }
    const double own = Median(seconds);
    table.rows.push_back({name, Figure(own), median > 0 ? Percent(1 - own / median) : "-",
                          Figure(Quantile(seconds, 0.95)),
                          Figure(Seconds(plan.rounds.back().row.end)), Figure(plan.link_usd)});
  };
  add("as it is", base);
  for (size_t i = 0; i < remedies.size(); ++i) add(remedies[i].first, plans[i]);
  return table;
}

std::string WaitsFor(const PlanRequest& request, const Plan& plan) {
  std::array<double, 4> sums{};
  double all = 0, shared = 0;
  int64_t rounds = 0, slow = 0;
  std::vector<int64_t> by_group(request.population.Groups().size(), 0);
  std::vector<double> predicted(plan.predicted.begin(), plan.predicted.end());
  const double slow_from = Quantile(predicted, 0.9);
  for (const PlannedRound& planned : plan.rounds) {
    if (!planned.row.critical) continue;
    const fabric::TaskRow& task = *planned.row.critical;
    const fabric::TaskTimes& times = task.times;
    const double parts[] = {
        Seconds(times.downloaded - times.dispatched), Seconds(times.worked - times.downloaded),
        Seconds(times.ended - times.worked), std::max(0.0, Seconds(planned.row.end - times.ended))};
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += parts[i];
      all += parts[i];
    }
    shared += std::max(0.0, Seconds(times.ended - times.dispatched) - plan.predicted[task.client]);
    ++rounds;
    ++by_group[request.population.GroupOf(task.client)];
    slow += plan.predicted[task.client] >= slow_from;
  }
  if (all == 0) return "Rounds take no time.";
  const auto share = [](double part, double whole) {
    return fmt::format("{:.0f} %", 100 * part / whole);
  };
  std::string text = fmt::format(
      "A round waits for its last counted task: {} downloads, {} work, {} uploads, {} after its "
      "arrival.\n{} of that is handshakes, slow start, rates below the mean, and sharing lines.",
      share(sums[0], all), share(sums[1], all), share(sums[2], all), share(sums[3], all),
      share(shared, all));
  const auto whole = static_cast<double>(rounds);
  if (plan.clients.size() >= 20) {
    text += fmt::format("\nThe slowest tenth of the clients ends {} of the rounds.",
                        share(static_cast<double>(slow), whole));
  }
  if (by_group.size() > 1) {
    const auto most = std::max_element(by_group.begin(), by_group.end());
    text += fmt::format("\nGroup {} ends {} of the rounds.",
                        request.population.Groups()[most - by_group.begin()].name,
                        share(static_cast<double>(*most), whole));
  }
  return text;
}

}  // namespace legacy
