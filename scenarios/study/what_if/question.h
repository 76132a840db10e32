// A what-if question, as it comes: what to change of a study's networks, devices and prices.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace legacy {

// A WhatIfQuestion says what to change; the rest is as in the group that it is about. Texts are
// those of the options.
struct WhatIfQuestion {
  size_t group = 0;
  std::optional<std::string> fidelity;  // flow | analytic
  std::optional<double> device_speed;
  std::optional<double> codec_speed;
  std::vector<std::string> policies;  // empty: all
  std::vector<uint64_t> seeds;

  // Of groups of workers.
  std::optional<std::string> bandwidth;  // network.bandwidth
  std::optional<std::string> delay;
  // A type and its parameters, or one of WhatIfStudy::topologies.
  std::optional<std::string> topology;
  std::optional<double> slowdown;  // slow-down of the last `slow_workers` workers
  std::optional<int64_t> slow_workers;

  // Of groups of federated clients: the options federated.down_rates ..., network.streams and
  // network.connections.
  std::optional<double> down_rates;
  std::optional<double> up_rates;
  std::optional<double> packet_loss;
  std::optional<double> core_rates;
  std::optional<double> core_delays;
  std::optional<double> prices;
  std::optional<std::string> server_at;  // federated.at
  std::optional<std::string> server_rate;
  std::optional<int64_t> streams;
  std::optional<std::string> connections;

  bool operator==(const WhatIfQuestion&) const = default;
};

// Reads a question. Throws Error naming the key where the text is not a JSON object, and on unknown
// keys and values of the wrong type. WhatIf checks what the values mean.
WhatIfQuestion ParseQuestion(const std::string& text);

// Returns the keys that a question gives, without group, policies and seeds.
nlohmann::json ToJson(const WhatIfQuestion& question);

// Throws Error naming the key where a question about a group of clients, or of workers, has a key
// of the other kind.
void CheckKind(const WhatIfQuestion& question, bool clients);

}  // namespace legacy
