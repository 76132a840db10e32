#include "scenarios/federated/plan_request.h"

#include <cmath>

#include "base/error.h"
#include "base/parse.h"
#include "compress/schemes/codec_scheme.h"
#include "ns3-module/fabric/engine/formula.h"
#include "ns3-module/fabric/import/make.h"
#include "scenarios/codec/codec_run.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/engines/network.h"
#include "scenarios/options/model_shape.h"
#include "trainer/clock/clock.h"
#include "trainer/clock/profile.h"

namespace legacy {
namespace {

// Parses "csv:FILES:key=value,...", whose keys follow the last colon that has one after it.
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

// Returns the bytes of an update with the given codec, for layers or for a vector of elements.
int64_t CodedBytes(const FederatedSection& options, const std::optional<ModelShape>& shape) {
  const std::string& text = options.codec;
  const CodecChoice choice = ParseCodec(text);
  const std::unique_ptr<Scheme> scheme = MakeScheme(choice.scheme);
  const auto* codec = dynamic_cast<const CodecScheme*>(scheme.get());
  if (!codec || codec->options().summing != Summing::kPlain) {
    throw Error("--codec", text, "a codec whose messages stand alone, as in topk@1%");
  }
  std::vector<Unit> layers;
  if (shape) {
    layers = shape->layers;
  } else if (const auto elements = *options.elements) {
    layers.push_back(
        {.id = 0, .name = "model", .shape = {*elements}, .offset = 0, .numel = *elements});
  } else {
    throw Error("--codec", text, "with --shape or --elements alone, which say what it compresses");
  }
  int64_t sum = 0;
  for (const Unit& layer : layers) {
    const std::optional<int64_t> bytes = scheme->MessageBytes(layer, choice.parameter);
    if (!bytes) throw Error("--codec", text, "a codec whose bytes do not depend on the values");
    sum += *bytes;
  }
  return sum;
}

void ReadBytes(const FederatedSection& options, const std::optional<ModelShape>& shape,
               PlanRequest& plan) {
  std::optional<int64_t> model = *options.bytes;
  if (model) {
    Refuse(options, "--elements", "a plan without --bytes");
  } else if (*options.elements || shape) {
    const int64_t elements = *options.elements ? **options.elements : shape->Elements();
    model = std::llround(options.element_bytes * static_cast<double>(elements));
  }
  if (!model && (!*options.down_bytes || !*options.up_bytes)) {
    throw Error("--elements", "nothing",
                "the model's size: --elements, --bytes, --shape, or --down-bytes and --up-bytes");
  }
  plan.down_bytes = *options.down_bytes ? **options.down_bytes : *model;
  if (options.codec.empty()) {
    plan.up_bytes = *options.up_bytes ? **options.up_bytes : *model;
  } else {
    Refuse(options, "--up-bytes", "a plan without --codec");
    plan.up_bytes = CodedBytes(options, shape);
  }
}

void ReadWork(const FederatedSection& options, const std::optional<ModelShape>& shape,
              PlanRequest& plan) {
  ClientWork& work = plan.work;
  if (options.client_seconds) {
    work.seconds = *options.client_seconds;
    return;
  }
  if (!shape) return;
  work.profile = options.profile;
  work.batch = options.batch;
  work.local_steps = options.local_steps.value_or(0);
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

fabric::SyncOptions SyncOf(const FederatedSection& options, int64_t clients) {
  fabric::SyncOptions sync;
  const auto& per_round = *options.per_round;
  if (!per_round) {
    sync.perRound = std::min<int64_t>(10, clients);
  } else if (per_round->updates > 0) {
    sync.perRound = per_round->updates;
  } else {
    const double updates = per_round->share * static_cast<double>(clients);
    sync.perRound = std::max<int64_t>(1, std::llround(updates));
  }
  sync.versions = options.rounds;
  sync.overSelect = options.over_select;
  sync.least = options.least;
  sync.skip = *options.skip_short;
  if (const auto& deadline = *options.deadline; !deadline) {
    if (sync.least > 1 || sync.skip) {
      throw Error(sync.skip ? "--short" : "--min", sync.skip ? "skip" : std::to_string(sync.least),
                  "its default: there is no --deadline");
    }
  } else if (deadline->factor > 0) {
    sync.deadlineFactor = deadline->factor;
  } else {
    sync.deadline = deadline->time;
  }
  Refuse(options, "--max-tasks", "--server=async");
  return sync;
}

fabric::AsyncOptions AsyncOf(const FederatedSection& options, int64_t clients) {
  const AsyncServer& server = **options.server;
  fabric::AsyncOptions async;
  async.concurrency = server.ConcurrencyAmong(clients, "--server");
  async.buffer = server.buffer;
  async.maxStaleness = server.max_staleness;
  async.versions = options.rounds;
  async.tasks = options.max_tasks.value_or(0);
  RefuseAll(options, kRoundsAlone, "--server=sync");
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

fabric::Population ParsePopulation(const PlanOptions& plan) {
  const FederatedSection& options = plan.federated;
  fabric::PopulationRequest request;
  request.text = options.population;
  request.option = "--population";
  request.seed = plan.seed;
  if (options.clients) request.clients = *options.clients;
  if (!options.traces.empty()) request.trace = ParseTraces(options.traces, "--traces");
  if (*options.price) request.usdPerGb = **options.price;
  fabric::Population population = fabric::MakePopulation(request);
  fabric::ServerSite site = population.Server();
  if (!options.at.empty()) site.at = options.at;
  if (*options.server_rate) site.rateBps = **options.server_rate;
  if (*options.server_price) site.usdPerGb = **options.server_price;
  for (double& price : site.usdPerGb) price *= options.prices;
  population.SetServer(site);
  population.SetPriceFactor(options.prices);
  population.SetRateFactors(options.down_rates, options.up_rates);
  population.SetLoss(options.packet_loss);
  return population;
}

std::optional<fabric::Topology> ParseCore(const PlanOptions& plan) {
  const FederatedSection& options = plan.federated;
  if (plan.fabric.topology.empty()) {
    for (const auto& [flag, factor] :
         {std::pair("--core-rates", options.core_rates), {"--core-delays", options.core_delays}}) {
      if (factor == 1) continue;
      throw Error(flag, FormatNumber(factor),
                  "1: without --topology no link is between the access lines");
    }
    return std::nullopt;
  }
  fabric::TopologyRequest request;
  request.text = plan.fabric.topology;
  request.rateBps = 10'000'000'000;
  const fabric::ImportedTopology imported = fabric::ImportTopology(request);
  SayImported(request.text, imported.report);
  const fabric::Topology& core = imported.topology;
  return core.WithLinks([&](int, fabric::Link& link) {
    link.delay = RoundedTime(static_cast<double>(link.delay) * options.core_delays);
    for (fabric::Port& port : link.ports) {
      ScaleRate(port, options.core_rates);
      port.usdPerGb *= options.prices;
    }
  });
}

namespace {

// Reads how tasks are carried: fidelity, transport, connections.
void ReadNetwork(const PlanOptions& options, PlanRequest& plan) {
  const FabricOptions& fabric = options.fabric;
  const std::string& fidelity = *options.fidelity;
  const int64_t clients = plan.population.Clients();
  plan.fidelity = fidelity;
  plan.engine = fidelity == "formula"
                    ? fabric::EngineFactory(fabric::MakeFormulaEngine)
                    : FactoryOf(ParseFidelity(fidelity, "--fidelity"), "--fidelity");
  if (fidelity == "packet" && clients > kMostPacketClients) {
    throw Error("--fidelity", "packet for " + std::to_string(clients) + " clients",
                "flow or analytic beyond " + std::to_string(kMostPacketClients) + " clients");
  }
  plan.transport = *fabric.transport;
  if (plan.transport.roce) {
    throw Error("--transport", fabric.transport.text(), "datacenter, wan: clients speak TCP");
  }
  plan.transport.connections = *fabric.connections;
  if (const std::string& congestion = *fabric.congestion; !congestion.empty()) {
    plan.transport.congestionControl = congestion;
    if (fidelity != "packet" && fidelity != "flow") {
      throw Error("--congestion", fabric.congestion.text(),
                  "nothing at fidelity " + fidelity + ": packet and flow read it");
    }
  }
  plan.streams = fabric.streams;
  if (fidelity == "formula" && plan.streams > 1) {
    throw Error("--streams", std::to_string(plan.streams), "1 at fidelity formula");
  }
}

void ReadSelection(const FederatedSection& options, bool trains, PlanRequest& plan) {
  plan.selection = options.selection;
  const auto selection =
      fabric::MakeSelection(plan.selection, plan.seed, "--selection",
                            {plan.population.Clients(), [](int) { return TimeNs{0}; }});
  if (selection->ReadsLosses() && !trains) {
    throw Error("--selection", plan.selection,
                "uniform, weighted, round-robin, tiers: without training there are no losses");
  }
}

}  // namespace

PlanRequest ParsePlan(const PlanOptions& all, bool trains) {
  const FederatedSection& options = all.federated;
  PlanRequest plan(ParsePopulation(all));
  plan.core = ParseCore(all);
  const int64_t clients = plan.population.Clients();
  CheckMemory(clients, !options.HasServer());
  plan.seed = all.seed;
  plan.availability = options.availability;
  plan.dropout = fabric::Dropout::Parse(options.dropout, plan.seed, "--dropout");
  plan.detection = *options.detect;
  std::optional<ModelShape> shape;
  if (!options.shape.empty()) shape = LoadModelShape(options.shape);
  if (!trains) {
    ReadBytes(options, shape, plan);
    ReadWork(options, shape, plan);
  }
  plan.fidelity = *all.fidelity;
  ReadExchange(options, plan);
  fabric::CheckPlaces(plan.population, plan.core ? &*plan.core : nullptr, !plan.exchange);
  if (*options.server) {
    plan.server = AsyncOf(options, clients);
  } else {
    plan.server = SyncOf(options, clients);
  }
  ReadSelection(options, trains, plan);
  ReadNetwork(all, plan);
  return plan;
}

}  // namespace legacy
