#include "scenarios/federated/exchange_plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "scenarios/federated/plan_parts.h"

namespace legacy {
namespace {

using fabric::DirectedLink;

// Returns the name of the group if the client is the only one in it, else the name of the node.
std::string NameOf(const PlanRequest& request, const ExchangeNetwork& network, int endpoint) {
  if (endpoint < network.Ranks()) {
    const int group = request.population.GroupOf(network.Order()[endpoint]);
    if (request.population.Groups()[group].count == 1) {
      return request.population.Groups()[group].name;
    }
  }
  return network.Topology().NodeName(network.Placement().NodeOf(endpoint));
}

// Sets the time below which no engine can go while rates stay the same: that of the fullest link.
// `bytes` are those that directed links carry.
void SetBound(const fabric::Topology& topology, const std::vector<double>& bytes,
              ExchangeFigures& figures) {
  figures.rates_change = topology.HasSchedules();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto link = static_cast<DirectedLink>(i);
    const double seconds = bytes[i] * 8 / static_cast<double>(topology.MeanRate(link));
    if (seconds <= figures.bound_seconds) continue;
    figures.bound_seconds = seconds;
    figures.fullest_link = topology.LinkName(link);
  }
}

// Sets the hops, the bound and the worst path of a round that sends `pairs`.
void DescribeHops(const PlanRequest& request, const ExchangeNetwork& network,
                  const ExchangedPairs& pairs, ExchangeFigures& figures) {
  std::vector<double> carried(network.Topology().Links().size() * 2, 0);
  std::vector<std::pair<double, size_t>> slowest;  // hops' seconds, negated, and their numbers
  double seconds_per_byte = 0, delay = 0, links = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto wire = static_cast<double>(pairs[i].wire);
    const PairPath path = network.Path(pairs[i].ends);
    for (const fabric::LinkShare& hop : path.shares) carried[hop.link] += hop.share * wire;
    slowest.emplace_back(-wire / (8 / path.seconds_per_byte), i);
    seconds_per_byte = std::max(seconds_per_byte, path.seconds_per_byte);
    if (path.delay >= delay) {
      delay = path.delay;
      links = path.links;
    }
  }
  SetBound(network.Topology(), carried, figures);
  if (pairs.empty()) return;
  figures.worst.hops = std::max(1, static_cast<int>(std::lround(links)));
  figures.worst.rateBps = std::llround(8 / seconds_per_byte);
  figures.worst.delay = RoundedTime(delay * 1e9 / figures.worst.hops);
  figures.all_hops = std::ssize(pairs);
  const auto shown = slowest.begin() + std::min(std::ssize(slowest), std::ptrdiff_t{kMostHops});
  std::partial_sort(slowest.begin(), shown, slowest.end());
  for (auto hop = slowest.begin(); hop != shown; ++hop) {
    const ExchangedBytes& bytes = pairs[hop->second];
    const PairPath path = network.Path(bytes.ends);
    figures.hops.push_back({NameOf(request, network, bytes.ends.first),
                            NameOf(request, network, bytes.ends.second), 8 / path.seconds_per_byte,
                            2 * path.delay, bytes.payload, bytes.wire});
  }
}

double UsdOf(const fabric::Topology& topology, const std::vector<fabric::LinkCounters>& links) {
  double usd = 0;
  for (size_t i = 0; i < links.size(); ++i) {
    usd += topology.PortOf(static_cast<DirectedLink>(i)).usdPerGb *
           static_cast<double>(links[i].bytes) * 1e-9;
  }
  return usd;
}

// Returns a round of `clients` clients that begins and ends at `start`.
PlannedRound RoundAt(TimeNs start, int64_t version, int64_t clients) {
  PlannedRound round;
  round.row.version = version;
  round.row.start = round.row.end = start;
  round.row.wanted = round.row.started = clients;
  round.row.fates[static_cast<size_t>(fabric::TaskFate::Counted)] = clients;
  round.row.made = true;
  round.tasks = clients;
  return round;
}

// Adds an exchange to the round.
void AddExchange(const fabric::StepTraffic& traffic, const fabric::StepTiming& timing,
                 PlannedRound& round) {
  round.row.end = Later(round.row.end, timing.total);
  round.client_seconds += InSeconds(timing.total) * static_cast<double>(traffic.workers);
  round.counted_seconds = round.client_seconds;
  for (const TimeNs work : traffic.deviceFree) round.work_seconds += InSeconds(work);
}

// The rounds of a plan, which are all equal.
class PlannedExchange : public ExchangeRun {
 public:
  PlannedExchange(PlanNetworks& networks, const PlanControl& control)
      : ExchangeRun(networks, control, VersionsOf(networks.Request(), control.remedy), 1) {
    const PlanRemedy& remedy = control.remedy;
    const ExchangeRequest& exchange = *request().exchange;
    fabric::CollectiveSpec spec;
    spec.algorithm = exchange.algorithm;
    const double bytes = std::ceil(static_cast<double>(request().up_bytes) * remedy.bytes);
    spec.bytes.assign(exchange.order.size(), static_cast<int64_t>(bytes));
    spec.group = exchange.group;
    spec.parents = network().Placement().parents;
    spec.firstAggregator = network().Placement().FirstAggregator();
    sent_ = fabric::BytesSent(spec);
    traffic_.workers = network().Ranks();
    for (const int client : exchange.order) {
      const double seconds = remedy.work * request().WorkSeconds(client);
      traffic_.deviceFree.push_back(RoundedTime(seconds * 1e9));
    }
    if (remedy.no_slow_tenth) CutSlowest(traffic_.deviceFree);
    traffic_.buckets.push_back({traffic_.deviceFree, {{spec, {}}}, {}});
  }

  Plan Finish() override {
    Plan plan = ExchangeRun::Finish();
    if (network().AsItIs()) Describe(*plan.exchange);
    return plan;
  }

 private:
  static int64_t VersionsOf(const PlanRequest& request, const PlanRemedy& remedy) {
    const int64_t own = request.Versions();
    return remedy.versions > 0 ? std::min(remedy.versions, own) : own;
  }

  const fabric::StepTraffic& NextTraffic() override { return traffic_; }

  // Writes the closed form and the figures of the clients.
  void Describe(ExchangeFigures& figures) const {
    if (figures.worst.rateBps > 0) {
      figures.closed_form_seconds = InSeconds(fabric::ClosedFormTime(
          traffic_.buckets[0].calls[0].collective, figures.worst, network().Transport()));
    }
    const std::vector<int>& order = network().Order();
    figures.sent_bytes.resize(order.size());
    figures.work_seconds.resize(order.size());
    for (size_t rank = 0; rank < order.size(); ++rank) {
      figures.sent_bytes[order[rank]] = sent_[rank];
      figures.work_seconds[order[rank]] = InSeconds(traffic_.deviceFree[rank]);
    }
  }

  fabric::StepTraffic traffic_;
  std::vector<int64_t> sent_;  // payload by rank
};

}  // namespace

ExchangeRun::ExchangeRun(PlanNetworks& networks, const PlanControl& control, int64_t versions,
                         int exchanges)
    : request_(networks.Request()),
      network_(networks, control.remedy),
      versions_(versions),
      stop_(control.stop),
      simulator_(network_.Simulator()),
      sent_(static_cast<size_t>(exchanges)) {
  plan_.exchange.emplace();
  plan_.clients.resize(network_.Order().size());
  for (size_t client = 0; client < plan_.clients.size(); ++client) {
    usd_per_hour_ += request_.population.UsdPerHourOf(static_cast<int64_t>(client));
  }
}

const PlannedRound* ExchangeRun::Next() {
  if (plan_.versions == versions_ || (stop_ != nullptr && *stop_ != 0)) return nullptr;
  PlannedRound round = RoundAt(now_, ++plan_.versions, network_.Ranks());
  double synchronisation = 0;
  for (AlikeRounds& alike : sent_) synchronisation += Exchange(alike, round);
  round.cost.usd_hours = InSeconds(round.row.end - round.row.start) / 3600 * usd_per_hour_;
  now_ = round.row.end;
  plan_.link_usd += round.cost.usd_up;
  plan_.exchange->synchronisation.push_back(synchronisation);
  Complete(round);
  plan_.rounds.push_back(std::move(round));
  return &plan_.rounds.back();
}

double ExchangeRun::Exchange(AlikeRounds& alike, PlannedRound& round) {
  const fabric::StepTraffic& traffic = NextTraffic();
  if (std::string canonical = traffic.Canonical(); canonical != alike.known) {
    network_.AddBytes(alike.pairs, alike.rounds, plan_.clients);
    alike = {std::move(canonical), network_.PairsOf(traffic), 0};
  }
  ++alike.rounds;
  const fabric::StepTiming& timing = [&]() -> const fabric::StepTiming& {
    try {
      return simulator_.Simulate(traffic, number_++, round.row.end);
    } catch (const fabric::DeadLink& dead) {
      ThrowWithClients(dead, network_.Network(), request_.population);
    }
  }();
  Timed(timing, round.row.end);
  AddExchange(traffic, timing, round);
  round.wire_up += WireBytes(alike.pairs);
  round.cost.usd_up += UsdOf(network_.Topology(), timing.links);
  fabric::Add(links_, timing.links);
  for (size_t rank = 0; rank < plan_.clients.size(); ++rank) {
    plan_.clients[network_.Order()[rank]].busy_seconds += InSeconds(timing.finish[rank]);
  }
  return InSeconds(timing.total) - InSeconds(*std::ranges::max_element(traffic.deviceFree));
}

ExchangedPairs ExchangeRun::AddClients() {
  ExchangedPairs pairs;
  for (AlikeRounds& alike : sent_) {
    network_.AddBytes(alike.pairs, alike.rounds, plan_.clients);
    if (pairs.empty()) {
      pairs = std::move(alike.pairs);
    } else {
      pairs.insert(pairs.end(), alike.pairs.begin(), alike.pairs.end());
    }
  }
  if (sent_.size() > 1) AddUp(pairs);
  for (size_t i = 0; i < plan_.clients.size(); ++i) {
    ClientTotals& client = plan_.clients[i];
    client.tasks = client.counted = plan_.versions;
    client.last_staleness = plan_.versions > 0 ? 0 : -1;
    client.usd +=
        InSeconds(now_) / 3600 * request_.population.UsdPerHourOf(static_cast<int64_t>(i));
  }
  return pairs;
}

Plan ExchangeRun::Finish() {
  const ExchangedPairs pairs = AddClients();
  if (network_.AsItIs()) DescribeHops(request_, network_, pairs, *plan_.exchange);
  plan_.interrupted = stop_ != nullptr && *stop_ != 0;
  plan_.counters = simulator_.Totals();
  if (network_.AsItIs()) {
    links_.resize(network_.Topology().Links().size() * 2);
    plan_.links = LinksOf(request_, network_.Network(), links_, InSeconds(now_));
  }
  plan_.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return std::move(plan_);
}

std::unique_ptr<PlanRun> StartExchangePlan(PlanNetworks& networks, const PlanControl& control) {
  return std::make_unique<PlannedExchange>(networks, control);
}

}  // namespace legacy
