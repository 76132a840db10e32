#include "scenarios/federated/plan_request.h"

#include <cmath>
#include <numeric>
#include <sstream>

#include "base/error.h"
#include "base/parse.h"
#include "ns3-module/fabric/engine/formula.h"
#include "ns3-module/fabric/import/make.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/network/engines.h"
#include "scenarios/network/network.h"
#include "scenarios/options/federated_checks.h"
#include "scenarios/shapes/model_shape.h"
#include "trainer/clock/clock.h"
#include "trainer/clock/profile.h"

namespace legacy {
namespace {

// Reads texts of options by name. Errors name the option as it is typed.
class Reader {
 public:
  explicit Reader(const FederatedValues& values) : values_(values) {}

  const std::string& Text(const std::string& name) const { return values_.at(name); }
  bool Has(const std::string& name) const { return !Text(name).empty(); }
  static std::string Flag(const std::string& name) { return "--" + name; }
  int64_t Integer(const std::string& name, int64_t least, int64_t most) const {
    return ParseInteger(Text(name), Flag(name), least, most);
  }
  double Number(const std::string& name, double least, double most) const {
    return ParseNumber(Text(name), Flag(name), least, most);
  }
  TimeNs Time(const std::string& name) const { return ParseTime(Text(name), Flag(name)); }
  int64_t Bytes(const std::string& name) const { return ParseBytes(Text(name), Flag(name)); }
  void Refuse(const std::string& name, const std::string& reader) const {
    if (Has(name)) throw Error(Flag(name), Text(name), "nothing here: " + reader + " reads it");
  }
  // Refuses all options with the property that are not left at their defaults.
  void RefuseAll(OptionProperty property, const std::string& reader) const {
    for (const FederatedOption& option : FederatedOptionRows()) {
      if (option.Has(property) && Text(option.name) != option.fallback) {
        Refuse(option.name, reader);
      }
    }
  }

 private:
  const FederatedValues& values_;
};

constexpr double kMostSeconds = 1e8;
constexpr double kLeastFactor = 1e-6, kMostFactor = 1e6;
constexpr double kMostLoss = 0.9;

// Returns the server's USD per GB, as settings of a population have them.
std::array<double, 2> PricesOf(const Reader& read, const std::string& name) {
  Settings settings(Reader::Flag(name), "price");
  settings.Set("price", read.Text(name));
  return settings.Prices("price");
}

// Parses "csv:FILES:key=value,...", whose keys stand behind the last colon that one follows.
fabric::DrawnTrace ParseTraces(const std::string& text, const std::string& flag) {
  const size_t first = text.find(':');
  const std::string type = text.substr(0, first);
  if ((type != "csv" && type != "mahimahi") || first == std::string::npos) {
    throw Error(flag, text, "csv:FILES[:key=value,...] or mahimahi:FILES[:bin=TIME]");
  }
  const size_t last = text.rfind(':');
  const bool keys = last != first && text.find('=', last) != std::string::npos;
  Settings settings = Settings::FromText(keys ? type + text.substr(last) : type, flag);
  settings.Set("file", text.substr(first + 1, keys ? last - first - 1 : std::string::npos));
  return fabric::ReadDrawnTrace(settings);
}

int64_t ElementsOf(const Reader& read) {
  constexpr double kMost = 1e15;
  const double elements = read.Number("elements", 1, kMost);
  if (elements != std::floor(elements)) {
    throw Error("--elements", read.Text("elements"), "a whole number, as in 44426 or 10.2e9");
  }
  return static_cast<int64_t>(elements);
}

void ReadBytes(const Reader& read, const std::optional<ModelShape>& shape, PlanRequest& plan) {
  std::optional<int64_t> model;
  if (read.Has("bytes")) {
    read.Refuse("elements", "a plan without --bytes");
    model = read.Bytes("bytes");
  } else if (read.Has("elements") || shape) {
    const double bytes = read.Number("element-bytes", 0.01, 64);
    const int64_t elements = read.Has("elements") ? ElementsOf(read) : shape->Elements();
    model = std::llround(bytes * static_cast<double>(elements));
  }
  if (!model && (!read.Has("down-bytes") || !read.Has("up-bytes"))) {
    throw Error("--elements", "nothing",
                "the model's size: --elements, --bytes, --shape, or --down-bytes and --up-bytes");
  }
  plan.down_bytes = read.Has("down-bytes") ? read.Bytes("down-bytes") : *model;
  plan.up_bytes = read.Has("up-bytes") ? read.Bytes("up-bytes") : *model;
}

void ReadWork(const Reader& read, const std::optional<ModelShape>& shape, PlanRequest& plan) {
  ClientWork& work = plan.work;
  if (read.Has("client-seconds")) {
    work.seconds = read.Number("client-seconds", 0, kMostSeconds);
    return;
  }
  if (!shape) return;
  work.profile = read.Text("profile");
  work.batch = read.Integer("batch", 1, 1'000'000);
  work.local_steps = read.Has("local-steps") ? read.Integer("local-steps", 1, 1'000'000'000) : 0;
  std::vector<int64_t> elements;
  for (const Unit& layer : shape->layers) elements.push_back(layer.numel);
  const auto price = [&](const std::string& name) {
    if (name.empty() || work.step_seconds.contains(name)) return;
    work.step_seconds[name] =
        Clock(LoadProfile(name), shape->costs, elements).ComputeSeconds(work.batch);
  };
  price(work.profile);
  for (const fabric::Group& group : plan.population.Groups()) {
    for (const std::string& name : group.profile.Words()) price(name);
  }
}

fabric::SyncOptions SyncOf(const Reader& read, int64_t clients) {
  fabric::SyncOptions sync;
  const std::string per_round = read.Has("per-round")
                                    ? read.Text("per-round")
                                    : std::to_string(std::min<int64_t>(10, clients));
  if (per_round.ends_with('%')) {
    const double share = ParseFraction(per_round, "--per-round");
    sync.perRound = std::max<int64_t>(1, std::llround(share * static_cast<double>(clients)));
  } else {
    sync.perRound = ParseInteger(per_round, "--per-round", 1, INT32_MAX);
  }
  sync.versions = read.Integer("rounds", 1, 1'000'000'000);
  sync.overSelect = read.Number("over-select", 1, 100);
  sync.least = read.Integer("min", 1, INT32_MAX);
  sync.skip = ParseChoice(read.Text("short"), "--short", {"wait", "skip"}) == "skip";
  const std::string& deadline = read.Text("deadline");
  if (deadline.starts_with("factor:")) {
    sync.deadlineFactor = ParseNumber(deadline.substr(7), "--deadline: factor", 0.001, 1e6);
  } else if (deadline != "none") {
    sync.deadline = read.Time("deadline");
  }
  const bool due = deadline != "none";
  if (!due && (sync.least > 1 || sync.skip)) {
    throw Error(sync.skip ? "--short" : "--min", sync.skip ? "skip" : read.Text("min"),
                "its default: there is no --deadline");
  }
  read.Refuse("max-tasks", "--server=async");
  return sync;
}

// Refuses what a server alone reads.
void RefuseServerOptions(const Reader& read) {
  read.RefuseAll(kServerAlone, "--exchange=server");
  for (const auto& [name, value] : {std::pair("uplink-memory", "ef21"), {"diverged", "drop"}}) {
    if (read.Text(name) == value) read.Refuse(name, "--exchange=server");
  }
}

// Returns the collectives of --exchange: all-reduces, then all-gathers, without servers.
std::vector<fabric::CollectiveAlgorithm> Exchanges() {
  std::vector<fabric::CollectiveAlgorithm> algorithms;
  for (const fabric::Payload payload : {fabric::Payload::Sum, fabric::Payload::Concat}) {
    for (const fabric::CollectiveAlgorithm algorithm : fabric::AlgorithmsFor(payload)) {
      const bool server = algorithm == fabric::CollectiveAlgorithm::ParameterServer ||
                          algorithm == fabric::CollectiveAlgorithm::ShardedParameterServer;
      const bool nvls =
          algorithm == fabric::CollectiveAlgorithm::NvlsAllReduce;  // inside a machine
      if (!server && !nvls) algorithms.push_back(algorithm);
    }
  }
  return algorithms;
}

// Returns the clients that a word of --order names: one number, or all of a group or place.
std::vector<int> ClientsNamed(const std::string& word, const fabric::Population& population) {
  std::vector<int> clients;
  const auto count = static_cast<int>(population.Clients());
  if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos) {
    return {static_cast<int>(ParseInteger(word, "--order", 0, count - 1))};
  }
  for (int client = 0; client < count; ++client) {
    const fabric::Client drawn = population.At(client);
    if (population.Groups()[drawn.group].name == word || *drawn.region == word) {
      clients.push_back(client);
    }
  }
  if (clients.empty()) {
    throw Error("--order", word, "numbers of clients, from 0, or names of groups or places");
  }
  return clients;
}

std::vector<int> OrderOf(const Reader& read, const fabric::Population& population) {
  std::vector<int> order;
  const auto count = static_cast<size_t>(population.Clients());
  if (!read.Has("order")) {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  std::vector<bool> seen(count, false);
  std::stringstream words(read.Text("order"));
  for (std::string word; std::getline(words, word, ',');) {
    for (const int client : ClientsNamed(word, population)) {
      if (seen[client]) throw Error("--order", word, "each client once");
      seen[client] = true;
      order.push_back(client);
    }
  }
  if (order.size() < count) {
    throw Error("--order", read.Text("order"),
                "all " + std::to_string(count) +
                    " clients: " + std::to_string(count - order.size()) + " are missing");
  }
  return order;
}

// Returns how many of the first ranks are at one place.
int RanksOfFirstPlace(const ExchangeRequest& exchange, const PlanRequest& plan) {
  if (!plan.core) return 1;
  const auto place = [&](int rank) { return plan.population.At(exchange.order[rank]).region; };
  int ranks = 1;
  while (ranks < static_cast<int>(exchange.order.size()) && *place(ranks) == *place(0)) ++ranks;
  return ranks;
}

void CheckExchange(const Reader& read, const PlanRequest& plan) {
  const std::string& name = read.Text("exchange");
  const int64_t clients = plan.population.Clients();
  if (clients < 2) throw Error("--exchange", name + " of 1 client", "2 clients or more");
  if (!fabric::TakesWorkers(plan.exchange->algorithm, clients)) {
    throw Error("--exchange", name + " of " + std::to_string(clients) + " clients",
                "a power of two of them, or another collective");
  }
  fabric::CollectiveSpec spec;
  spec.algorithm = plan.exchange->algorithm;
  spec.group = plan.exchange->group;
  spec.bytes.assign(static_cast<size_t>(clients), 1);
  const bool in_network = spec.algorithm == fabric::CollectiveAlgorithm::InNetworkAllReduce;
  if (!in_network && fabric::EstimatedFlows(spec) > kMostExchangeFlows) {
    throw Error("--exchange", name + " of " + std::to_string(clients) + " clients",
                "fewer clients, or another collective: it is more than 10 million messages");
  }
  for (const fabric::Group& group : plan.population.Groups()) {
    if (group.availability.empty()) continue;
    throw Error("--population: availability of group " + group.name, group.availability,
                "none with --exchange=" + name + ": all clients take part in every round");
  }
  if (plan.fidelity == "formula") {
    throw Error("--fidelity", "formula", "packet, flow or analytic with --exchange=" + name);
  }
}

std::optional<ExchangeRequest> ExchangeOf(const Reader& read, const PlanRequest& plan) {
  const std::string& name = read.Text("exchange");
  if (name == "server") {
    read.Refuse("order", "--exchange=COLLECTIVE");
    read.Refuse("group", "--exchange=hierarchical-allreduce or hierarchical-allgather");
    return std::nullopt;
  }
  std::vector<std::string> names{"server"};
  for (const auto algorithm : Exchanges()) names.emplace_back(fabric::ToString(algorithm));
  ParseChoice(name, "--exchange", names);
  RefuseServerOptions(read);
  ExchangeRequest exchange;
  exchange.algorithm = fabric::ParseCollective(name);
  exchange.order = OrderOf(read, plan.population);
  const bool hierarchical =
      exchange.algorithm == fabric::CollectiveAlgorithm::HierarchicalAllReduce ||
      exchange.algorithm == fabric::CollectiveAlgorithm::HierarchicalAllGather;
  if (!hierarchical) {
    read.Refuse("group", "--exchange=hierarchical-allreduce or hierarchical-allgather");
  } else if (read.Has("group")) {
    exchange.group =
        static_cast<int>(read.Integer("group", 1, static_cast<int64_t>(exchange.order.size())));
  } else {
    exchange.group = RanksOfFirstPlace(exchange, plan);
  }
  return exchange;
}

fabric::AsyncOptions AsyncOf(const Reader& read, int64_t clients) {
  fabric::AsyncOptions async = ParseAsyncServer(read.Text("server"), "--server", clients);
  async.versions = read.Integer("rounds", 1, 1'000'000'000);
  if (read.Has("max-tasks")) async.tasks = read.Integer("max-tasks", 1, 1'000'000'000'000);
  read.RefuseAll(kRoundsAlone, "--server=sync");
  return async;
}

}  // namespace

int64_t PlanRequest::Versions() const {
  return std::visit([](const auto& options) { return options.versions; }, server);
}

double PlanRequest::WorkSeconds(int64_t client) const {
  const double slowdown = population.SlowdownOf(client);
  if (work.step_seconds.empty()) return slowdown * work.seconds;
  const std::string& own = population.ProfileOf(client);
  const int64_t epoch = (population.SamplesOf(client) + work.batch - 1) / work.batch;
  const auto steps = static_cast<double>(work.local_steps > 0 ? work.local_steps : epoch);
  return slowdown * (steps * work.step_seconds.at(own.empty() ? work.profile : own));
}

std::vector<std::string> PlanRequest::Assumptions() const {
  std::vector<std::string> texts;
  for (const auto& [name, seconds] : work.step_seconds) {
    if (LoadProfile(name).source.starts_with("assumption (")) {
      texts.push_back("assumed device: " + name);
    }
  }
  return texts;
}

fabric::Population ParsePopulation(const FederatedValues& values) {
  const Reader read(values);
  fabric::PopulationRequest request;
  request.text = read.Text("population");
  request.option = "--population";
  request.seed = static_cast<uint64_t>(read.Integer("seed", 0, INT64_MAX));
  if (read.Has("clients")) request.clients = read.Integer("clients", 1, INT32_MAX);
  if (read.Has("traces")) request.trace = ParseTraces(read.Text("traces"), "--traces");
  if (read.Has("price")) request.usdPerGb = PricesOf(read, "price");
  fabric::Population population = fabric::MakePopulation(request);
  fabric::ServerSite site = population.Server();
  if (read.Has("at")) site.at = read.Text("at");
  if (read.Has("server-rate")) {
    site.rateBps = ParseRate(read.Text("server-rate"), "--server-rate");
  }
  if (read.Has("server-price")) site.usdPerGb = PricesOf(read, "server-price");
  const double prices = read.Number("prices", 0, kMostFactor);
  for (double& price : site.usdPerGb) price *= prices;
  population.SetServer(site);
  population.SetPriceFactor(prices);
  population.SetRateFactors(read.Number("down-rates", kLeastFactor, kMostFactor),
                            read.Number("up-rates", kLeastFactor, kMostFactor));
  population.SetLoss(read.Number("packet-loss", 0, kMostLoss));
  return population;
}

std::optional<fabric::Topology> ParseCore(const FederatedValues& values) {
  const Reader read(values);
  const double rates = read.Number("core-rates", kLeastFactor, kMostFactor);
  const double delays = read.Number("core-delays", 0, kMostFactor);
  if (!read.Has("topology")) {
    for (const auto& [name, factor] : {std::pair("core-rates", rates), {"core-delays", delays}}) {
      if (factor == 1) continue;
      throw Error(Reader::Flag(name), read.Text(name),
                  "1: without --topology no link is between the access lines");
    }
    return std::nullopt;
  }
  fabric::TopologyRequest request;
  request.text = read.Text("topology");
  request.rateBps = 10'000'000'000;
  const fabric::ImportedTopology imported = fabric::ImportTopology(request);
  SayImported(request.text, imported.report);
  const fabric::Topology& core = imported.topology;
  const double prices = read.Number("prices", 0, kMostFactor);
  return core.WithLinks([&](int, fabric::Link& link) {
    link.delay = RoundedTime(static_cast<double>(link.delay) * delays);
    for (fabric::Port& port : link.ports) {
      ScaleRate(port, rates);
      port.usdPerGb *= prices;
    }
  });
}

PlanRequest ParsePlan(const FederatedValues& values, bool trains) {
  const Reader read(values);
  PlanRequest plan(ParsePopulation(values));
  plan.core = ParseCore(values);
  const int64_t clients = plan.population.Clients();
  CheckMemory(clients, read.Text("exchange") != "server");
  plan.seed = static_cast<uint64_t>(read.Integer("seed", 0, INT64_MAX));
  plan.availability = read.Text("availability");
  plan.dropout = fabric::Dropout::Parse(read.Text("dropout"), plan.seed, "--dropout");
  plan.detection = read.Time("detect");
  std::optional<ModelShape> shape;
  if (read.Has("shape")) shape = LoadModelShape(read.Text("shape"));
  if (!trains) {
    ReadBytes(read, shape, plan);
    ReadWork(read, shape, plan);
  }
  plan.fidelity = read.Text("fidelity");
  plan.exchange = ExchangeOf(read, plan);
  if (plan.exchange) CheckExchange(read, plan);
  fabric::CheckPlaces(plan.population, plan.core ? &*plan.core : nullptr, !plan.exchange);
  const std::string& server = read.Text("server");
  if (server == "sync") {
    plan.server = SyncOf(read, clients);
  } else if (server.starts_with("async")) {
    plan.server = AsyncOf(read, clients);
  } else {
    throw Error("--server", server, "sync, or async:concurrency=100[,buffer=10,max-staleness=0]");
  }
  plan.selection = read.Text("selection");
  const auto selection =
      fabric::MakeSelection(plan.selection, plan.seed, "--selection",
                            {plan.population.Clients(), [](int) { return TimeNs{0}; }});
  if (selection->ReadsLosses() && !trains) {
    throw Error("--selection", plan.selection,
                "uniform, weighted, round-robin, tiers: without training there are no losses");
  }
  if (plan.fidelity == "formula") {
    plan.engine = fabric::MakeFormulaEngine;
  } else {
    const Fidelity fidelity = ParseFidelity(
        ParseChoice(plan.fidelity, "--fidelity", {"packet", "flow", "analytic", "formula"}),
        "--fidelity");
    plan.engine = FactoryOf(fidelity, "--fidelity");
  }
  if (plan.fidelity == "packet" && clients > kMostPacketClients) {
    throw Error("--fidelity", "packet for " + std::to_string(clients) + " clients",
                "flow or analytic beyond " + std::to_string(kMostPacketClients) + " clients");
  }
  plan.transport = fabric::MakeTransport(read.Text("transport"), "--transport");
  if (plan.transport.roce) {
    throw Error("--transport", read.Text("transport"), "datacenter, wan: clients speak TCP");
  }
  plan.transport.connections =
      fabric::ParseConnectionKind(read.Text("connections"), "--connections");
  if (read.Has("congestion")) {
    plan.transport.congestionControl =
        fabric::ParseCongestionControl(read.Text("congestion"), "--congestion");
    if (plan.fidelity != "packet" && plan.fidelity != "flow") {
      throw Error("--congestion", read.Text("congestion"),
                  "nothing at fidelity " + plan.fidelity + ": packet and flow read it");
    }
  }
  plan.streams = static_cast<int>(read.Integer("streams", 1, 64));
  if (plan.fidelity == "formula" && plan.streams > 1) {
    throw Error("--streams", std::to_string(plan.streams), "1 at fidelity formula");
  }
  return plan;
}

}  // namespace legacy
