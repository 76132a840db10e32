#include "trainer/clock/traffic_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "trainer/clock/traffic_record.h"

namespace legacy {
namespace {

using nlohmann::json;

class TrafficReader : RecordLines {
 public:
  explicit TrafficReader(const std::filesystem::path& path) : RecordLines(path) {}

  RecordedTraffic Read() {
    json line;
    if (!Next(line)) Fail("empty; a record begins with its header");
    static_cast<RecordHeader&>(traffic_) =
        ReadHeader(line, kTrafficFormat,
                   "records of format 1 do not say which launches units share: record the training "
                   "again");
    while (Next(line)) {
      if (line.contains("policy")) {
        ReadStep(line);
      } else {
        ReadStepWork(line);
      }
    }
    return std::move(traffic_);
  }

 private:
  // Returns the enumerator that the text at `key` names.
  template <typename Enum, typename Text>
  Enum ChoiceAt(const json& object, const char* key, Enum last, Text text) const {
    const std::string value = TextAt(object, key);
    std::string allowed;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      const std::string name = text(static_cast<Enum>(i));
      if (name == value) return static_cast<Enum>(i);
      allowed += (i ? ", " : "") + name;
    }
    Fail(key, value, allowed);
  }

  void ReadStepWork(const json& line) {
    WholeAt(line, "work", static_cast<int64_t>(traffic_.works.size()),
            static_cast<int64_t>(traffic_.works.size()));
    StepWork work;
    work.workers = static_cast<int>(WholeAt(line, "workers", 1, kMostRecordedWorkers));
    work.batch_size = WholeAt(line, "batch", 1, 1 << 20);
    if (line.contains("passes")) work.passes = WholeAt(line, "passes", 2, kMostPasses);
    if (line.contains("update")) work.update = RecordLines::ReadWork(List(line, "update"));
    for (const json& bucket : List(line, "buckets")) {
      work.buckets.push_back(ReadBucket(bucket, work.workers));
    }
    if (line.contains("whole_gradient")) {
      work.whole_gradient = RecordLines::ReadWork(List(line, "whole_gradient"));
    }
    if (line.contains("participants")) {
      for (const json& worker : List(line, "participants")) {
        const int64_t least = work.active_workers.empty() ? 0 : work.active_workers.back() + 1;
        work.active_workers.push_back(
            static_cast<int>(Whole(worker, "participants", least, work.workers - 1)));
      }
    }
    if (line.contains("local_steps")) {
      for (const json& steps : List(line, "local_steps")) {
        work.local_steps.push_back(Whole(steps, "local_steps", 0, kMostRecorded));
      }
      Require(work.local_steps.size() == static_cast<size_t>(work.workers),
              "local_steps: one number of each worker is wanted");
    }
    traffic_.works.push_back(std::move(work));
  }

  BucketWork ReadBucket(const json& entry, int workers) const {
    BucketWork bucket;
    bucket.layers = ReadLayers(entry, "layers", traffic_.layers.size());
    bucket.elements = WholeAt(entry, "elements", 0, kMostRecorded);
    for (const json& call : List(entry, "rounds")) {
      bucket.calls.push_back(ReadCall(call, workers));
    }
    return bucket;
  }

  SentCall ReadCall(const json& entry, int workers) const {
    SentCall call;
    call.collective = ChoiceAt(entry, "primitive", Collective::kBroadcast, CollectiveText);
    call.reduction = ChoiceAt(entry, "reduction", Reduction::kRequantisedSum, ReductionText);
    call.root = static_cast<int>(WholeAt(entry, "root", 0, workers - 1));
    for (const json& bytes : List(entry, "bytes")) {
      call.bytes.push_back(Whole(bytes, "bytes", 0, kMostRecorded));
    }
    Require(call.bytes.size() == static_cast<size_t>(workers),
            "bytes: got " + std::to_string(call.bytes.size()) + " messages; allowed: one of each" +
                " of the " + std::to_string(workers) + " workers");
    call.encode = RecordLines::ReadWork(List(entry, "encode"));
    call.decode = RecordLines::ReadWork(List(entry, "decode"));
    return call;
  }

  void ReadStep(const json& line) {
    const std::string policy = TextAt(line, "policy");
    const auto seed = static_cast<uint64_t>(WholeAt(line, "seed", 0, INT64_MAX));
    const auto [entry, first] = training_of_.try_emplace({policy, seed}, traffic_.trainings.size());
    if (first) traffic_.trainings.push_back({policy, seed, {}});
    std::vector<size_t>& works = traffic_.trainings[entry->second].works;
    const auto next = static_cast<int64_t>(works.size());
    WholeAt(line, "step", next, next);
    Require(!traffic_.works.empty(), "a step before any work");
    works.push_back(static_cast<size_t>(
        WholeAt(line, "work", 0, static_cast<int64_t>(traffic_.works.size()) - 1)));
  }

  RecordedTraffic traffic_;
  std::map<std::pair<std::string, uint64_t>, size_t> training_of_;
};

}  // namespace

RecordedTraffic ReadTraffic(const std::filesystem::path& path) {
  return TrafficReader(path).Read();
}

}  // namespace legacy
