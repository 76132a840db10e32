// Options of federated learning: who the clients are, how the server works, and what clients learn.
// The section `federated` of a scenario, the command lines of legacy-federated and its help use one
// table of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/parsed.h"
#include "ns3-module/fabric/engine/transport.h"
#include "scenarios/network/engines/network.h"
#include "scenarios/options/federated_values.h"
#include "trainer/federated/local_work.h"

namespace legacy {

// A FederatedSection has the values. What plans alone read, runs have in other sections: bytes and
// work from the model, the network from network.
struct FederatedSection {
  // clients
  std::string population = "broadband";
  std::optional<int64_t> clients;  // nothing: 100, or those of a file
  std::string traces;              // "": the population's own
  double down_rates = 1;           // factors on the rates of all access lines
  double up_rates = 1;
  double packet_loss = 0;
  std::string availability = "always";
  std::string dropout = "0";
  Time detect = "0s";

  // work, of plans
  Parsed<ParseElements> elements = "";
  double element_bytes = 4;
  GivenSize bytes = "";
  GivenSize down_bytes = "";  // nothing: those of the model
  GivenSize up_bytes = "";
  std::string codec;                     // codec of updates, as in topk@1%; "": up_bytes says
  std::optional<double> client_seconds;  // nothing: 0, or those of the shape
  std::string shape;
  std::string profile = "phone-assumed";
  int64_t batch = 20;
  std::optional<int64_t> local_steps;  // nothing: one epoch of the client's samples

  // exchange without a server
  Parsed<ParseExchange> exchange = "server";
  std::string order;         // "": that of the population
  std::optional<int> group;  // nothing: those at the first client's place
  bool HasServer() const { return !*exchange; }

  // server
  Parsed<ParseServer> server = "sync";
  int64_t rounds = 100;
  std::optional<int64_t> max_tasks;
  Parsed<ParsePerRound> per_round = "";  // nothing: 10, or all clients where fewer
  double over_select = 1;
  Parsed<ParseDeadline> deadline = "none";
  int64_t least = 1;
  Parsed<ParseShort> skip_short = "wait";
  std::string selection = "uniform";

  // learning
  Parsed<ParseFederatedAlgorithms> algorithms = "fedavg";
  Parsed<ParseWeighting> weighting = "auto";
  Parsed<ParseLocalWork> local = "epochs:1";
  Parsed<ParseRateOver> rate_over_steps = "versions";
  std::string partition = "dirichlet:alpha=0.5";
  Parsed<ParseClientState> client_state = "auto";
  std::string downlink = "dense";
  Parsed<ParseUplinkMemory> uplink_memory = "client";
  double residual_decay = 1;
  int64_t residual_age = 0;
  Parsed<ParseBatchNorm> batch_norm = "average";
  Parsed<ParseDiverged> drop_diverged = "fail";
  bool secure_aggregation = false;
  Size state_memory = "1GiB";
  bool tasks = true;

  // lines and prices
  std::string at;  // "": the population's
  GivenRate server_rate = "";
  Parsed<ParsePrices> server_price = "";
  Parsed<ParsePrices> price = "";
  double prices = 1;  // factors on all prices, and on rates and delays of the topology's own links
  double core_rates = 1;
  double core_delays = 1;
};

using FederatedOption = Option<FederatedSection>;

// Returns the table.
const OptionTable<FederatedSection>& FederatedOptionRows();

// Returns the row with that flag, as in "--per-round", which there is.
const FederatedOption& FederatedRow(const std::string& flag);

}  // namespace legacy
