#include "scenarios/options/federated_checks.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/parse.h"
#include "base/settings.h"
#include "ns3-module/fabric/population/availability.h"
#include "ns3-module/fabric/population/dropout.h"
#include "ns3-module/fabric/tasks/selection.h"
#include "trainer/federated/aggregator.h"
#include "trainer/federated/downlink.h"
#include "trainer/federated/local_work.h"
#include "trainer/federated/partition.h"

namespace legacy {
namespace {

using Check = void (*)(const std::string& text, const std::string& key);

// Calls what names an option of its own in its messages, which then begin with the key.
template <class Call>
void Named(const std::string& key, Call call) {
  try {
    call();
  } catch (const Error& error) {
    throw Error(key + ": " + error.what());
  }
}

void CheckAlgorithms(const std::string& text, const std::string& key) {
  for (const std::string& algorithm : SplitAlgorithms(text)) CheckAlgorithm(algorithm, key);
}

void CheckServer(const std::string& text, const std::string& key) {
  if (text == "sync") return;
  if (!text.starts_with("async")) {
    throw Error(key, text, "sync, or async:concurrency=100[,buffer=10,max-staleness=0]");
  }
  ParseAsyncServer(text, key, INT32_MAX);
}

// The number of tiers depends on that of the clients.
void CheckSelection(const std::string& text, const std::string& key) {
  if (!text.starts_with("tiers")) fabric::MakeSelection(text, 0, key);
}

const std::map<std::string, Check>& Checks() {
  static const std::map<std::string, Check> checks = {
      {"algorithms", CheckAlgorithms},
      {"availability", [](const std::string& text,
                          const std::string& key) { fabric::MakeAvailability(text, 0, key); }},
      {"downlink", CheckDownlink},
      {"dropout", [](const std::string& text,
                     const std::string& key) { fabric::Dropout::Parse(text, 0, key); }},
      {"local", [](const std::string& text, const std::string& key) { ParseLocalWork(text, key); }},
      {"partition", [](const std::string& text,
                       const std::string& key) { Named(key, [&] { CheckPartition(text); }); }},
      {"residual-age", [](const std::string& text,
                          const std::string& key) { ParseInteger(text, key, 0, INT32_MAX); }},
      {"residual-decay",
       [](const std::string& text, const std::string& key) { ParseNumber(text, key, 0, 1); }},
      {"selection", CheckSelection},
      {"server", CheckServer},
      {"state-memory",
       [](const std::string& text, const std::string& key) { ParseBytes(text, key); }},
  };
  return checks;
}

// Returns the words of "reset|keep"; nothing where a text of the option may be another one.
std::vector<std::string> WordsOf(const std::string& metavar) {
  const bool plain = std::ranges::all_of(
      metavar, [](char c) { return c == '|' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  return plain ? SplitList(metavar, '|') : std::vector<std::string>();
}

}  // namespace

void CheckFederatedText(const FederatedOption& option, const std::string& text,
                        const std::string& key) {
  const std::vector<std::string> words = WordsOf(option.metavar);
  const auto check = Checks().find(option.name);
  if (option.metavar == "on|off") {
    ParseSwitch(text, key);
  } else if (!words.empty()) {
    ParseChoice(text, key, words);
  }
  if (check != Checks().end()) check->second(text, key);
}

void CheckAlgorithm(const std::string& text, const std::string& key) {
  Named(key, [&] { MakeAggregator(text, {.numel = 1}); });
}

void CheckDownlink(const std::string& text, const std::string& key) {
  std::array<Unit, 1> layer;
  layer[0].numel = 1;
  Named(key, [&] { Downlink(text, layer, 0); });
}

std::vector<std::string> SplitAlgorithms(const std::string& text) {
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
  return algorithms;
}

fabric::AsyncOptions ParseAsyncServer(const std::string& text, const std::string& key,
                                      int64_t clients) {
  Settings settings = Settings::FromText(text, key);
  fabric::AsyncOptions async;
  const int most = static_cast<int>(clients);
  async.concurrency = settings.Int("concurrency", std::min(100, most), 1, most);
  async.buffer = settings.Int("buffer", 10, 1, 1'000'000);
  async.maxStaleness = settings.Int("max-staleness", 0, 0, 1'000'000'000);
  settings.RejectUnread();
  return async;
}

}  // namespace legacy
