#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "scenarios/federated/plan_report.h"

namespace legacy {
namespace {

using analysis::Table;

// The largest number of rows of the tables of hops and clients.
constexpr size_t kMostRows = 16;

std::string ShownOf(const std::string& what, size_t shown, size_t all) {
  return shown == all ? what : fmt::format("{}, {} of {}", what, shown, all);
}

Table ExchangeRoundsTable(const PlanRequest& request, const Plan& plan) {
  Table table{
      .title = fmt::format("Rounds ({} of {} clients)",
                           fabric::ToString(request.exchange->algorithm), plan.clients.size()),
      .header = {"of a round", "median", "95th percentile", "all"},
      .rows = {}};
  const auto add = [&](const std::string& name, bool summed, auto value) {
    std::vector<double> values;
    for (size_t i = 0; i < plan.rounds.size(); ++i) values.push_back(value(i));
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    if (sum == 0) return;  // What never happens has no row.
    table.rows.push_back({name, Figure(Quantile(values, 0.5)), Figure(Quantile(values, 0.95)),
                          summed ? Figure(sum) : "-"});
  };
  const ExchangeFigures& exchange = *plan.exchange;
  const auto seconds = [&](size_t i) {
    return InSeconds(plan.rounds[i].row.end - plan.rounds[i].row.start);
  };
  add("round s", true, seconds);
  add("slowest work s", true, [&](size_t i) { return seconds(i) - exchange.synchronisation[i]; });
  add("synchronisation s", true, [&](size_t i) { return exchange.synchronisation[i]; });
  add("utilisation", false,
      [&](size_t i) { return plan.rounds[i].work_seconds / plan.rounds[i].counted_seconds; });
  add("MB sent (wire)", true,
      [&](size_t i) { return static_cast<double>(plan.rounds[i].wire_up) / 1e6; });
  add("USD", true, [&](size_t i) { return plan.rounds[i].cost.usd_up; });
  add("USD of client hours", true, [&](size_t i) { return plan.rounds[i].cost.usd_hours; });
  return table;
}

Table HopsTable(const Plan& plan) {
  const std::vector<ExchangeHop>& hops = plan.exchange->hops;
  const size_t shown = std::min(kMostRows, hops.size());
  Table table{
      .title = ShownOf("Hops, slowest first", shown, static_cast<size_t>(plan.exchange->all_hops)),
      .header = {"from", "to", "Gbit/s", "round trip ms", "MB a round", "s at that rate"},
      .rows = {}};
  for (size_t i = 0; i < shown; ++i) {
    const ExchangeHop& hop = hops[i];
    table.rows.push_back({hop.from, hop.to, Figure(hop.bits_per_second / 1e9),
                          Figure(hop.round_trip * 1e3),
                          Figure(static_cast<double>(hop.payload_bytes) / 1e6),
                          Figure(static_cast<double>(hop.wire_bytes) * 8 / hop.bits_per_second)});
  }
  return table;
}

Table ExchangeClientsTable(const PlanRequest& request, const Plan& plan) {
  const size_t shown = std::min(kMostRows, plan.clients.size());
  Table table{.title = ShownOf("Clients, in the order of the exchange", shown, plan.clients.size()),
              .header = {"client", "group", "place", "work s", "utilisation", "MB sent a round",
                         "MB sent (wire)", "USD"},
              .rows = {}};
  const auto rounds = static_cast<double>(plan.rounds.size());
  const double all = plan.rounds.empty() ? 0 : InSeconds(plan.rounds.back().row.end);
  for (size_t rank = 0; rank < shown; ++rank) {
    const auto client = static_cast<size_t>(request.exchange->order[rank]);
    const fabric::Client drawn = request.population.At(static_cast<int64_t>(client));
    const ClientTotals& totals = plan.clients[client];
    const double work = plan.exchange->work_seconds[client];
    table.rows.push_back({std::to_string(client), request.population.Groups()[drawn.group].name,
                          drawn.region->empty() ? "-" : *drawn.region, Figure(work),
                          all > 0 ? fmt::format("{:.1f} %", 100 * work * rounds / all) : "-",
                          Figure(static_cast<double>(plan.exchange->sent_bytes[client]) / 1e6),
                          Figure(static_cast<double>(totals.wire_up) / 1e6), Figure(totals.usd)});
  }
  return table;
}

}  // namespace

std::vector<Table> ExchangeTables(const PlanRequest& request, const Plan& plan) {
  return {ExchangeRoundsTable(request, plan), HopsTable(plan), ExchangeClientsTable(request, plan)};
}

std::string ExchangeWaitsFor(const Plan& plan) {
  const ExchangeFigures& exchange = *plan.exchange;
  if (exchange.hops.empty() || exchange.bound_seconds == 0) return "Nothing is exchanged.";
  const double seconds = Quantile(exchange.synchronisation, 0.5);
  const ExchangeHop& hop = exchange.hops.front();
  const std::string closed =
      exchange.closed_form_seconds > 0
          ? fmt::format(
                ";\nthe closed form, with every hop as slow as the slowest and as long as "
                "the longest, says {} s.",
                Figure(exchange.closed_form_seconds))
          : ".";
  return fmt::format(
      "A synchronisation takes {} s. What {} carries takes {} s at its {}{}\n"
      "The slowest hop is {} > {}: {} Gbit/s.",
      Figure(seconds), exchange.fullest_link, Figure(exchange.bound_seconds),
      exchange.rates_change ? "mean rate" : "rate, which nothing can beat", closed, hop.from,
      hop.to, Figure(hop.bits_per_second / 1e9));
}

}  // namespace legacy
