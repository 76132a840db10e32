#include "trainer/clock/traffic_record.h"

#include <fstream>

#include "base/error.h"
#include "base/files/plain_file.h"
#include "trainer/clock/record_lines.h"

namespace legacy {
namespace {

using nlohmann::json;

json CallJson(const SentCall& call) {
  return {{"primitive", CollectiveText(call.collective)},
          {"reduction", ReductionText(call.reduction)},
          {"root", call.root},
          {"bytes", call.bytes},
          {"encode", WorkJson(call.encode)},
          {"decode", WorkJson(call.decode)}};
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
  if (!work.local_steps.empty()) step["local_steps"] = work.local_steps;
  return step;
}

TrafficRecorder::TrafficRecorder(const std::filesystem::path& path, const json& training,
                                 const std::vector<std::string>& replay_refused,
                                 std::span<const OperationCost> operations,
                                 std::span<const Unit> layers)
    : file_(path) {
  WriteLine(HeaderJson(kTrafficFormat, training, replay_refused, operations, layers));
}

TrafficRecorder::TrafficRecorder(const std::filesystem::path& path)
    : file_(path, OutputFile::Mode::kAppend) {
  std::ifstream in = OpenToRead(path.string());
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
