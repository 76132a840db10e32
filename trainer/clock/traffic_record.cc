#include "trainer/clock/traffic_record.h"

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "trainer/clock/operation_cost.h"

namespace legacy {
namespace {

using nlohmann::json;

json WorkJson(const WorkList& works) {
  json list = json::array();
  for (const Work& work : works) {
    json& entry = list.emplace_back(json{{"kernel", work.kernel},
                                         {"elements", work.elements},
                                         {"launches", work.launches},
                                         {"sets", work.sets}});
    if (work.alike != 0) entry["alike"] = work.alike;
  }
  return list;
}

json CallJson(const SentCall& call) {
  return {{"primitive", CollectiveText(call.collective)},
          {"reduction", ReductionText(call.reduction)},
          {"root", call.root},
          {"bytes", call.bytes},
          {"encode", WorkJson(call.encode)},
          {"decode", WorkJson(call.decode)}};
}

json OperationJson(const OperationCost& cost) {
  return {{"kind", cost.kind},
          {"forward_flops", cost.forward_flops},
          {"forward_bytes", cost.forward_bytes},
          {"weight_bytes", cost.weight_bytes},
          {"parameters", cost.parameters}};
}

}  // namespace

const char* CollectiveText(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kAllGather:
      return "all-gather";
    case Collective::kBroadcast:
      return "broadcast";
  }
  return "";
}

const char* ReductionText(Reduction reduction) {
  switch (reduction) {
    case Reduction::kConcat:
      return "concat";
    case Reduction::kSum:
      return "sum";
    case Reduction::kMax:
      return "max";
    case Reduction::kVote:
      return "vote";
    case Reduction::kRequantisedSum:
      return "requantised-sum";
  }
  return "";
}

json ToJson(const StepWork& work) {
  json buckets = json::array();
  for (const BucketWork& bucket : work.buckets) {
    json calls = json::array();
    for (const SentCall& call : bucket.calls) calls.push_back(CallJson(call));
    buckets.push_back(
        {{"layers", bucket.layers}, {"elements", bucket.elements}, {"rounds", calls}});
  }
  json step = {{"workers", work.workers}, {"batch", work.batch_size}, {"buckets", buckets}};
  if (work.passes != 1) step["passes"] = work.passes;
  if (work.update) step["update"] = WorkJson(*work.update);
  if (!work.whole_gradient.empty()) step["whole_gradient"] = WorkJson(work.whole_gradient);
  if (!work.active_workers.empty()) step["participants"] = work.active_workers;
  return step;
}

std::string TrainingHash(const json& training) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : training.dump()) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

TrafficRecorder::TrafficRecorder(const std::filesystem::path& path, const json& training,
                                 const std::vector<std::string>& replay_refused,
                                 std::span<const OperationCost> operations,
                                 std::span<const Unit> layers)
    : file_(path) {
  json header = {{"format", kTrafficFormat},
                 {"hash", TrainingHash(training)},
                 {"training", training},
                 {"replay_refused", replay_refused}};
  for (const OperationCost& cost : operations) header["operations"].push_back(OperationJson(cost));
  for (const Unit& layer : layers) {
    header["layers"].push_back({{"name", layer.name}, {"elements", layer.numel}});
  }
  WriteLine(header);
}

TrafficRecorder::TrafficRecorder(const std::filesystem::path& path)
    : file_(path, OutputFile::Mode::kAppend) {
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    if (line.find("\"buckets\"") == std::string::npos) continue;  // it is no work
    json content = json::parse(line, nullptr, false);
    if (content.is_discarded()) throw Error(path.string() + ": has a line that is no JSON");
    if (content.erase("work") == 0 || !content.contains("buckets")) continue;
    known_.emplace(content.dump(), static_cast<int64_t>(known_.size()));
  }
}

void TrafficRecorder::Write(const std::string& policy, uint64_t seed, const StepWork& work) {
  json content = ToJson(work);
  const auto [entry, fresh] = known_.emplace(content.dump(), static_cast<int64_t>(known_.size()));
  if (fresh) {
    content["work"] = entry->second;
    WriteLine(content);
  }
  WriteLine({{"policy", policy}, {"seed", seed}, {"step", work.step}, {"work", entry->second}});
}

void TrafficRecorder::WriteLine(const json& line) { file_.Write(line.dump() + '\n'); }

}  // namespace legacy
