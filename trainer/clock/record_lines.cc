#include "trainer/clock/record_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/files/plain_file.h"

namespace legacy {
namespace {

using nlohmann::json;

json OperationJson(const OperationCost& cost) {
  return {{"kind", cost.kind},
          {"forward_flops", cost.forward_flops},
          {"forward_bytes", cost.forward_bytes},
          {"weight_bytes", cost.weight_bytes},
          {"parameters", cost.parameters}};
}

}  // namespace

std::vector<int64_t> RecordHeader::LayerNumels() const {
  std::vector<int64_t> numels;
  for (const Unit& layer : layers) numels.push_back(layer.numel);
  return numels;
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

json HeaderJson(int64_t format, const json& training,
                const std::vector<std::string>& replay_refused,
                std::span<const OperationCost> operations, std::span<const Unit> layers) {
  json header = {{"format", format},
                 {"hash", TrainingHash(training)},
                 {"training", training},
                 {"replay_refused", replay_refused}};
  for (const OperationCost& cost : operations) header["operations"].push_back(OperationJson(cost));
  for (const Unit& layer : layers) {
    header["layers"].push_back({{"name", layer.name}, {"elements", layer.numel}});
  }
  return header;
}

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

RecordLines::RecordLines(const std::filesystem::path& path)
    : path_(path.string()), file_(OpenToRead(path_)) {
  if (!file_) throw Error(path_ + ": cannot be read, or is no plain file");
}

void RecordLines::Fail(const std::string& what) const {
  throw Error(path_ + ":" + std::to_string(line_) + ": " + what);
}

void RecordLines::Fail(const std::string& key, const json& value,
                       const std::string& allowed) const {
  throw Error(path_ + ":" + std::to_string(line_) + ": " + key, Shown(value), allowed);
}

bool RecordLines::Next(json& line) {
  std::string text;
  if (!std::getline(file_, text)) return false;
  ++line_;
  line = ParseJson(text, path_ + ":" + std::to_string(line_));
  Require(line.is_object(), "no JSON object");
  return true;
}

const json& RecordLines::At(const json& object, const char* key) const {
  Require(object.is_object() && object.contains(key), std::string("without '") + key + "'");
  return object.at(key);
}

const json& RecordLines::List(const json& object, const char* key) const {
  const json& list = At(object, key);
  if (!list.is_array()) Fail(key, list, "a list");
  return list;
}

int64_t RecordLines::Whole(const json& value, const char* key, int64_t least, int64_t most) const {
  return WholeNumber(value, path_ + ":" + std::to_string(line_) + ": " + key, least, most);
}

int64_t RecordLines::WholeAt(const json& object, const char* key, int64_t least,
                             int64_t most) const {
  return Whole(At(object, key), key, least, most);
}

double RecordLines::AmountAt(const json& object, const char* key) const {
  const json& value = At(object, key);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
    Fail(key, value, "a number of at least 0");
  }
  return value.get<double>();
}

std::string RecordLines::TextAt(const json& object, const char* key) const {
  const json& value = At(object, key);
  if (!value.is_string()) Fail(key, value, "a text");
  return value.get<std::string>();
}

RecordHeader RecordLines::ReadHeader(const json& line, int64_t format,
                                     const std::string& outdated) const {
  RecordHeader header;
  const int64_t found = WholeAt(line, "format", 1, format);
  Require(found == format, "format: got " + std::to_string(found) +
                               "; allowed: " + std::to_string(format) + "; " + outdated);
  header.hash = TextAt(line, "hash");
  header.training = At(line, "training");
  Require(TrainingHash(header.training) == header.hash,
          "hash: got " + header.hash + ", but 'training' has " + TrainingHash(header.training) +
              ": it was changed afterwards");
  for (const json& reason : List(line, "replay_refused")) {
    if (!reason.is_string()) Fail("replay_refused", reason, "texts");
    header.replay_refused.push_back(reason.get<std::string>());
  }
  int64_t offset = 0;
  for (const json& layer : List(line, "layers")) {
    Unit unit;
    unit.id = static_cast<uint32_t>(header.layers.size());
    unit.name = TextAt(layer, "name");
    unit.numel = WholeAt(layer, "elements", 1, UINT32_MAX);
    unit.offset = std::exchange(offset, offset + unit.numel);
    unit.shape = {unit.numel};
    header.layers.push_back(std::move(unit));
  }
  Require(!header.layers.empty(), "layers: none");
  // Every layer belongs to one operation, so that its gradient has a time.
  std::vector<bool> computed(header.layers.size());
  for (const json& entry : List(line, "operations")) {
    OperationCost cost;
    cost.kind = TextAt(entry, "kind");
    cost.forward_flops = AmountAt(entry, "forward_flops");
    cost.forward_bytes = AmountAt(entry, "forward_bytes");
    cost.weight_bytes = AmountAt(entry, "weight_bytes");
    cost.parameters = ReadLayers(entry, "parameters", header.layers.size());
    for (const int layer : cost.parameters) {
      Require(!computed[layer], "parameters: layer " + std::to_string(layer) + " is given twice");
      computed[layer] = true;
    }
    header.operations.push_back(std::move(cost));
  }
  const auto missing = std::ranges::find(computed, false);
  Require(missing == computed.end(),
          "operations: none has layer " + std::to_string(missing - computed.begin()));
  return header;
}

WorkList RecordLines::ReadWork(const json& list) const {
  WorkList works;
  for (const json& entry : list) {
    works.push_back({TextAt(entry, "kernel"), WholeAt(entry, "elements", 0, kMostRecorded),
                     WholeAt(entry, "launches", 0, kMostRecorded),
                     WholeAt(entry, "sets", 0, kMostRecorded),
                     entry.contains("alike") ? WholeAt(entry, "alike", 0, INT64_MAX) : 0});
  }
  return works;
}

std::vector<int> RecordLines::ReadLayers(const json& object, const char* key, size_t count) const {
  std::vector<int> layers;
  for (const json& layer : List(object, key)) {
    layers.push_back(static_cast<int>(Whole(layer, key, 0, static_cast<int64_t>(count) - 1)));
  }
  return layers;
}

}  // namespace legacy
