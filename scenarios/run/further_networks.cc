#include "scenarios/run/further_networks.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/parse.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/step/synchronisation.h"
#include "scenarios/run/diagnostics.h"
#include "scenarios/run/scenario_network.h"

namespace legacy {
namespace {

constexpr const char* kKey = "network.further";
constexpr const char* kNetworkForm =
    "none, auto, or networks such as 10Gbps:bandwidth=10Gbps;wan:topology=star,delay=20ms";
constexpr const char* kAuto =
    "10Gbps:bandwidth=10Gbps;100Gbps:bandwidth=100Gbps;"
    "wan:topology=star,bandwidth=100Mbps,delay=20ms,transport=wan";

// Returns the key, given without its section, that a further network may change; empty: none.
std::string KeyOf(const std::string& name) {
  for (const char* section : {"network.", "clock."}) {
    const ScenarioOption* const option =
        FindOption(ScenarioOptions(), section + name, OptionNames::kKeys);
    if (option != nullptr && option->Has(kMayFurther)) return section + name;
  }
  return "";
}

// Returns true if the user chose the rate or the transport: then the run is about that network.
bool IsChosen(const Scenario& s) {
  const Scenario defaults;
  return s.bandwidth != defaults.bandwidth || s.delay != defaults.delay ||
         s.transport != defaults.transport || s.network_schedule != defaults.network_schedule ||
         !s.ns3.empty() || s.topology.find('/') != std::string::npos ||
         s.topology.ends_with(".yaml");
}

std::string TextOf(const Scenario& scenario) {
  if (scenario.further != "auto") return scenario.further;
  const bool dropped = scenario.sync->MayDrop();
  return IsChosen(scenario) || dropped ? "none" : kAuto;
}

// Splits "topology=star:hosts=4,delay=20ms" into {"topology=star:hosts=4", "delay=20ms"}: a piece
// that is not a setting of a network belongs to the value before it.
std::vector<std::string> SplitSettings(const std::string& text) {
  std::vector<std::string> settings;
  for (const std::string& piece : SplitList(text)) {
    if (settings.empty() || !KeyOf(piece.substr(0, piece.find('='))).empty()) {
      settings.push_back(piece);
    } else {
      settings.back() += "," + piece;
    }
  }
  return settings;
}

void Set(Scenario& scenario, const std::string& network, const std::string& setting) {
  const size_t equals = setting.find('=');
  const std::string name = setting.substr(0, equals);
  const std::string key = KeyOf(name);
  if (equals == std::string::npos || key.empty()) {
    throw Error(kKey, network + ": " + setting,
                "KEY=VALUE with a key of the section network, or with sharding, rules, units, "
                "reshard, prefetch or collectives");
  }
  try {
    SetOption(scenario, key, setting.substr(equals + 1));
  } catch (const Error& error) {
    throw error.Within(std::string(kKey) + ": " + network + ": ");
  }
}

bool IsName(const std::string& name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
}

Scenario Alone(Scenario scenario) {
  scenario.further = "none";
  scenario.record = false;
  return WithoutDiagnostics(std::move(scenario));
}

}  // namespace

std::vector<FurtherNetwork> FurtherNetworks(const Scenario& scenario) {
  const std::string text = TextOf(scenario);
  if (text == "none" || text.empty()) return {};
  if (scenario.sync->MayDrop()) {
    throw Error("network.sync", scenario.sync.text(),
                "barrier, where network.further asks for other networks: whose gradients count "
                "would depend on the network");
  }
  std::set<std::string> names = {OwnNetworkName(scenario)};
  std::vector<FurtherNetwork> networks;
  for (const std::string& part : SplitList(text, ';')) {
    const size_t colon = part.find(':');
    if (colon == std::string::npos) throw Error(kKey, part, kNetworkForm);
    FurtherNetwork network{part.substr(0, colon), Alone(scenario)};
    if (!IsName(network.name)) {
      throw Error(kKey, network.name, "a name of letters, digits, '-', '_' and '.'");
    }
    if (!names.insert(network.name).second) {
      throw Error(kKey, network.name, "each name once, and not that of the run's own network");
    }
    for (const std::string& setting : SplitSettings(part.substr(colon + 1))) {
      Set(network.scenario, network.name, setting);
    }
    networks.push_back(std::move(network));
  }
  return networks;
}

std::string OwnNetworkName(const Scenario& scenario) {
  if (!scenario.network_schedule->empty()) return "phases";
  if (!HasOwnRates(scenario)) return scenario.bandwidth.text();
  const std::string& topology = scenario.topology;
  const bool file = fabric::NamesTopologyFile(topology);
  const std::string name = file ? std::filesystem::path(topology).stem().string()
                                : topology.substr(0, topology.find(':'));
  return IsName(name) ? name : scenario.bandwidth.text();
}

}  // namespace legacy
