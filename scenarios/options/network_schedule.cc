#include "scenarios/options/network_schedule.h"

#include <cmath>

#include "base/error.h"
#include "base/parse.h"

namespace legacy {
namespace {

constexpr const char* kScheduleForm =
    "none, c1, c2, or entries such as 0%:bandwidth=25Gbps,delay=1ms;50%:delay=50ms";

std::string TextOfPreset(const std::string& text) {
  if (text == "c1") {
    return "0%:bandwidth=25Gbps,delay=500us;24%:bandwidth=1Gbps;48%:delay=25ms;"
           "72%:bandwidth=25Gbps";
  }
  if (text == "c2") {
    return "0%:bandwidth=25Gbps,delay=500us;20%:bandwidth=5Gbps,delay=5ms;"
           "40%:bandwidth=1Gbps,delay=25ms;60%:bandwidth=5Gbps,delay=5ms;"
           "80%:bandwidth=25Gbps,delay=500us";
  }
  return text;
}

void Set(NetworkScheduleEntry& entry, const std::string& setting, const std::string& key) {
  const size_t equals = setting.find('=');
  const std::string name = setting.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : setting.substr(equals + 1);
  if (name == "bandwidth") {
    entry.bandwidth = Rate(value, key + ": bandwidth");
  } else if (name == "delay") {
    entry.delay = Time(value, key + ": delay");
  } else {
    throw Error(key, setting, "bandwidth=RATE or delay=TIME");
  }
}

}  // namespace

std::vector<NetworkScheduleEntry> ParseNetworkSchedule(const std::string& text,
                                                       const std::string& key) {
  if (text == "none") return {};
  NetworkScheduleEntry entry;
  std::vector<NetworkScheduleEntry> schedule;
  for (const std::string& part : Split(TextOfPreset(text), ';')) {
    const size_t colon = part.find(':');
    if (colon == std::string::npos) throw Error(key, part, kScheduleForm);
    entry.begin = part.substr(0, colon) == "0" || part.substr(0, colon) == "0%"
                      ? 0
                      : ParseFraction(part.substr(0, colon), key);
    if (schedule.empty() ? entry.begin != 0 : entry.begin <= schedule.back().begin) {
      throw Error(key, part, "entries that begin at 0% and ascend");
    }
    for (const std::string& setting : Split(part.substr(colon + 1), ',')) Set(entry, setting, key);
    schedule.push_back(entry);
  }
  return schedule;
}

size_t EntryOf(const std::vector<NetworkScheduleEntry>& schedule, int64_t step, int64_t steps) {
  const double done = static_cast<double>(step) / static_cast<double>(steps);
  size_t entry = 0;
  while (entry + 1 < schedule.size() && schedule[entry + 1].begin <= done) ++entry;
  return entry;
}

}  // namespace legacy
