#include "trainer/clock/traffic_reader.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "trainer/clock/traffic_record.h"

namespace legacy {
namespace {

using nlohmann::json;

// Largest number of elements, bytes or launches; sums over all workers stay far below 2^63.
constexpr int64_t kMost = int64_t{1} << 44;

class TrafficReader {
 public:
  explicit TrafficReader(const std::filesystem::path& path) : path_(path.string()), file_(path) {
    if (!file_) throw Error(path_ + ": cannot be read");
  }

  RecordedTraffic Read() {
    json line;
    if (!Next(line)) Fail("empty; a record begins with its header");
    ReadHeader(line);
    while (Next(line)) {
      if (line.contains("policy")) {
        ReadStep(line);
      } else {
        ReadWork(line);
      }
    }
    return std::move(traffic_);
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(path_ + ":" + std::to_string(line_) + ": " + what);
  }
  void Require(bool ok, const std::string& what) const {
    if (!ok) Fail(what);
  }
  [[noreturn]] void Fail(const std::string& key, const json& value,
                         const std::string& allowed) const {
    throw Error(path_ + ":" + std::to_string(line_) + ": " + key, Shown(value), allowed);
  }

  bool Next(json& line) {
    std::string text;
    if (!std::getline(file_, text)) return false;
    ++line_;
    line = ParseJson(text, path_ + ":" + std::to_string(line_));
    Require(line.is_object(), "no JSON object");
    return true;
  }

  const json& At(const json& object, const char* key) const {
    Require(object.is_object() && object.contains(key), std::string("without '") + key + "'");
    return object.at(key);
  }
  const json& List(const json& object, const char* key) const {
    const json& list = At(object, key);
    if (!list.is_array()) Fail(key, list, "a list");
    return list;
  }
  int64_t Whole(const json& value, const char* key, int64_t least, int64_t most) const {
    return WholeNumber(value, path_ + ":" + std::to_string(line_) + ": " + key, least, most);
  }
  int64_t WholeAt(const json& object, const char* key, int64_t least, int64_t most) const {
    return Whole(At(object, key), key, least, most);
  }
  double AmountAt(const json& object, const char* key) const {
    const json& value = At(object, key);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
      Fail(key, value, "a number of at least 0");
    }
    return value.get<double>();
  }
  std::string TextAt(const json& object, const char* key) const {
    const json& value = At(object, key);
    if (!value.is_string()) Fail(key, value, "a text");
    return value.get<std::string>();
  }
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

  void ReadHeader(const json& line) {
    Require(WholeAt(line, "format", 1, kTrafficFormat) == kTrafficFormat,
            "format: got 1; allowed: 2; records of format 1 do not say which launches units share: "
            "record the training again");
    traffic_.hash = TextAt(line, "hash");
    traffic_.training = At(line, "training");
    Require(TrainingHash(traffic_.training) == traffic_.hash,
            "hash: got " + traffic_.hash + ", but 'training' has " +
                TrainingHash(traffic_.training) + ": it was changed afterwards");
    for (const json& reason : List(line, "replay_refused")) {
      if (!reason.is_string()) Fail("replay_refused", reason, "texts");
      traffic_.replay_refused.push_back(reason.get<std::string>());
    }
    int64_t offset = 0;
    for (const json& layer : List(line, "layers")) {
      Unit unit;
      unit.id = static_cast<uint32_t>(traffic_.layers.size());
      unit.name = TextAt(layer, "name");
      unit.numel = WholeAt(layer, "elements", 1, UINT32_MAX);
      unit.offset = std::exchange(offset, offset + unit.numel);
      unit.shape = {unit.numel};
      traffic_.layers.push_back(std::move(unit));
    }
    Require(!traffic_.layers.empty(), "layers: none");
    ReadOperations(List(line, "operations"));
  }

  // Reads the operations. Every layer belongs to one of them, so that its gradient has a time.
  void ReadOperations(const json& operations) {
    std::vector<bool> computed(traffic_.layers.size());
    for (const json& entry : operations) {
      OperationCost cost;
      cost.kind = TextAt(entry, "kind");
      cost.forward_flops = AmountAt(entry, "forward_flops");
      cost.forward_bytes = AmountAt(entry, "forward_bytes");
      cost.weight_bytes = AmountAt(entry, "weight_bytes");
      cost.parameters = LayersAt(entry, "parameters");
      for (const int layer : cost.parameters) {
        Require(!computed[layer], "parameters: layer " + std::to_string(layer) + " is given twice");
        computed[layer] = true;
      }
      traffic_.operations.push_back(std::move(cost));
    }
    const auto missing = std::find(computed.begin(), computed.end(), false);
    Require(missing == computed.end(),
            "operations: none has layer " + std::to_string(missing - computed.begin()));
  }

  std::vector<int> LayersAt(const json& object, const char* key) const {
    std::vector<int> layers;
    for (const json& layer : List(object, key)) {
      layers.push_back(
          static_cast<int>(Whole(layer, key, 0, static_cast<int64_t>(traffic_.layers.size()) - 1)));
    }
    return layers;
  }

  void ReadWork(const json& line) {
    WholeAt(line, "work", static_cast<int64_t>(traffic_.works.size()),
            static_cast<int64_t>(traffic_.works.size()));
    StepWork work;
    work.workers = static_cast<int>(WholeAt(line, "workers", 1, kMostRecordedWorkers));
    work.batch_size = WholeAt(line, "batch", 1, 1 << 20);
    if (line.contains("passes")) work.passes = WholeAt(line, "passes", 2, kMostPasses);
    if (line.contains("update")) work.update = ReadDeviceWork(List(line, "update"));
    for (const json& bucket : List(line, "buckets")) {
      work.buckets.push_back(ReadBucket(bucket, work.workers));
    }
    if (line.contains("whole_gradient")) {
      work.whole_gradient = ReadDeviceWork(List(line, "whole_gradient"));
    }
    if (line.contains("participants")) {
      for (const json& worker : List(line, "participants")) {
        const int64_t least = work.active_workers.empty() ? 0 : work.active_workers.back() + 1;
        work.active_workers.push_back(
            static_cast<int>(Whole(worker, "participants", least, work.workers - 1)));
      }
    }
    traffic_.works.push_back(std::move(work));
  }

  BucketWork ReadBucket(const json& entry, int workers) const {
    BucketWork bucket;
    bucket.layers = LayersAt(entry, "layers");
    bucket.elements = WholeAt(entry, "elements", 0, kMost);
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
      call.bytes.push_back(Whole(bytes, "bytes", 0, kMost));
    }
    Require(call.bytes.size() == static_cast<size_t>(workers),
            "bytes: got " + std::to_string(call.bytes.size()) + " messages; allowed: one of each" +
                " of the " + std::to_string(workers) + " workers");
    call.encode = ReadDeviceWork(List(entry, "encode"));
    call.decode = ReadDeviceWork(List(entry, "decode"));
    return call;
  }

  std::vector<Work> ReadDeviceWork(const json& list) const {
    std::vector<Work> works;
    for (const json& entry : list) {
      works.push_back({TextAt(entry, "kernel"), WholeAt(entry, "elements", 0, kMost),
                       WholeAt(entry, "launches", 0, kMost), WholeAt(entry, "sets", 0, kMost),
                       entry.contains("alike") ? WholeAt(entry, "alike", 0, INT64_MAX) : 0});
    }
    return works;
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

  std::string path_;
  std::ifstream file_;
  int64_t line_ = 0;
  RecordedTraffic traffic_;
  std::map<std::pair<std::string, uint64_t>, size_t> training_of_;
};

}  // namespace

std::vector<int64_t> RecordedTraffic::LayerNumels() const {
  std::vector<int64_t> numels;
  for (const Unit& layer : layers) numels.push_back(layer.numel);
  return numels;
}

RecordedTraffic ReadTraffic(const std::filesystem::path& path) {
  return TrafficReader(path).Read();
}

}  // namespace legacy
