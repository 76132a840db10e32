#include "scenarios/options/federated_values.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse.h"
#include "base/settings.h"
#include "compress/unit.h"
#include "ns3-module/fabric/population/availability.h"
#include "ns3-module/fabric/population/dropout.h"
#include "ns3-module/fabric/tasks/selection.h"
#include "trainer/federated/downlink.h"
#include "trainer/federated/partition.h"

namespace legacy {
namespace {

// Calls a function whose messages name an option of its own, and lets them begin with the key.
template <class Call>
void Named(const std::string& key, Call call) {
  try {
    call();
  } catch (const Error& error) {
    throw error.Within(key + ": ");
  }
}

// Returns the collectives among clients without a server: all-reduces, then all-gathers.
std::vector<fabric::CollectiveAlgorithm> Exchanges() {
  std::vector<fabric::CollectiveAlgorithm> algorithms;
  for (const fabric::Payload payload : {fabric::Payload::Sum, fabric::Payload::Concat}) {
    for (const fabric::CollectiveAlgorithm algorithm : fabric::AlgorithmsFor(payload)) {
      const bool server = algorithm == fabric::CollectiveAlgorithm::ParameterServer ||
                          algorithm == fabric::CollectiveAlgorithm::ShardedParameterServer;
      const bool nvls =
          algorithm == fabric::CollectiveAlgorithm::NvlsAllReduce;  // works inside a machine only
      if (!server && !nvls) algorithms.push_back(algorithm);
    }
  }
  return algorithms;
}

bool IsSecond(const std::string& text, const std::string& key,
              const std::array<const char*, 2>& words) {
  enum class Word : uint8_t { kFirst, kSecond };
  return ParseChoice<Word>(text, key, words) == Word::kSecond;
}

}  // namespace

std::optional<int64_t> ParseElements(const std::string& text, const std::string& key) {
  if (text.empty()) return std::nullopt;
  constexpr double kMost = 1e15;
  const double elements = ParseNumber(text, key, 1, kMost);
  if (elements != std::floor(elements)) {
    throw Error(key, text, "a whole number, as in 44426 or 10.2e9");
  }
  return static_cast<int64_t>(elements);
}

std::optional<std::array<double, 2>> ParsePrices(const std::string& text, const std::string& key) {
  if (text.empty()) return std::nullopt;
  Settings settings(key, "price");
  settings.Set("price", text);
  return settings.Prices("price");
}

std::optional<fabric::CollectiveAlgorithm> ParseExchange(const std::string& text,
                                                         const std::string& key) {
  std::vector<std::string> names{"server"};
  for (const auto algorithm : Exchanges()) names.emplace_back(fabric::ToString(algorithm));
  ParseChoice(text, key, names);
  if (text == "server") return std::nullopt;
  return fabric::ParseCollective(text);
}

int64_t AsyncServer::ConcurrencyAmong(int64_t clients, const std::string& key) const {
  if (!concurrency) return std::min<int64_t>(100, clients);
  if (*concurrency <= clients) return *concurrency;
  throw Error(key + ": concurrency", std::to_string(*concurrency),
              "an integer from 1 to " + std::to_string(clients));
}

std::optional<AsyncServer> ParseServer(const std::string& text, const std::string& key) {
  if (text == "sync") return std::nullopt;
  if (!text.starts_with("async")) {
    throw Error(key, text, "sync, or async:concurrency=100[,buffer=10,max-staleness=0]");
  }
  Settings settings = Settings::FromText(text, key);
  AsyncServer server;
  const int concurrency = settings.Int("concurrency", 0, 1, INT32_MAX);
  if (settings.Has("concurrency")) server.concurrency = concurrency;
  server.buffer = settings.Int("buffer", 10, 1, 1'000'000);
  server.max_staleness = settings.Int("max-staleness", 0, 0, 1'000'000'000);
  settings.RejectUnread();
  return server;
}

std::optional<PerRound> ParsePerRound(const std::string& text, const std::string& key) {
  if (text.empty()) return std::nullopt;
  if (text.ends_with('%')) return PerRound{.share = ParseFraction(text, key)};
  return PerRound{.updates = ParseInteger(text, key, 1, INT32_MAX)};
}

std::optional<RoundDeadline> ParseDeadline(const std::string& text, const std::string& key) {
  if (text == "none") return std::nullopt;
  if (!text.starts_with("factor:")) return RoundDeadline{.time = ParseTime(text, key)};
  return RoundDeadline{.factor = ParseNumber(text.substr(7), key + ": factor", 0.001, 1e6)};
}

bool ParseShort(const std::string& text, const std::string& key) {
  return IsSecond(text, key, {"wait", "skip"});
}

bool ParseRateOver(const std::string& text, const std::string& key) {
  return IsSecond(text, key, {"versions", "steps"});
}

bool ParseDiverged(const std::string& text, const std::string& key) {
  return IsSecond(text, key, {"fail", "drop"});
}

std::optional<Weighting> ParseWeighting(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"auto", "samples", "uniform"});
  if (text == "auto") return std::nullopt;
  return text == "samples" ? Weighting::kSamples : Weighting::kUniform;
}

std::optional<bool> ParseClientState(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"auto", "reset", "keep"});
  if (text == "auto") return std::nullopt;
  return text == "keep";
}

UplinkMemory ParseUplinkMemory(const std::string& text, const std::string& key) {
  return ParseChoice<UplinkMemory>(text, key, kUplinkMemoryTexts);
}

BatchNormRule ParseBatchNorm(const std::string& text, const std::string& key) {
  return ParseChoice<BatchNormRule>(text, key, kBatchNormTexts);
}

std::vector<std::string> ParseFederatedAlgorithms(const std::string& text, const std::string& key) {
  std::vector<std::string> algorithms;
  for (const std::string& part : SplitList(text)) {
    const size_t equals = part.find('='), colon = part.find(':');
    const bool option =
        equals != std::string::npos && (colon == std::string::npos || colon > equals);
    if (option && !algorithms.empty()) {
      algorithms.back() += "," + part;
    } else {
      algorithms.push_back(part);
    }
  }
  for (const std::string& algorithm : algorithms) CheckAlgorithm(algorithm, key);
  return algorithms;
}

void CheckAlgorithm(const std::string& text, const std::string& key) {
  Named(key, [&] { MakeAggregator(text, {.numel = 1}); });
}

void CheckDownlink(const std::string& text, const std::string& key) {
  std::array<Unit, 1> layer;
  layer[0].numel = 1;
  Named(key, [&] { Downlink(text, layer, 0); });
}

void CheckPartitionText(const std::string& text, const std::string& key) {
  Named(key, [&] { CheckPartition(text); });
}

void CheckAvailability(const std::string& text, const std::string& key) {
  fabric::MakeAvailability(text, 0, key);
}

void CheckDropout(const std::string& text, const std::string& key) {
  fabric::Dropout::Parse(text, 0, key);
}

void CheckSelection(const std::string& text, const std::string& key) {
  if (!fabric::FindSelection(text, key).needsClients) fabric::MakeSelection(text, 0, key);
}

std::string ParsePlanFidelity(const std::string& text, const std::string& key) {
  return ParseChoice(text, key, {"packet", "flow", "analytic", "formula"});
}

}  // namespace legacy
