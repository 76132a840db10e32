// Records of trainings are text lines of JSON. What those of workers (traffic_record.h) and of
// federated clients (scenarios/federated/task_record.h) have in common is here: the header, which
// says what was trained, and device work. Files are not trusted: every number is checked before
// anything is sized or indexed by it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/files/json.h"
#include "compress/unit.h"
#include "compress/work.h"
#include "trainer/clock/operation_cost.h"

namespace legacy {

// Largest number of elements, bytes or launches in a record; sums stay far below 2^63.
inline constexpr int64_t kMostRecorded = int64_t{1} << 44;

// A RecordHeader is the first line of a record.
struct RecordHeader {
  std::string hash;         // hash of `training`, checked
  nlohmann::json training;  // every option that shaped the training
  std::vector<std::string> replay_refused;
  std::vector<OperationCost> operations;
  std::vector<Unit> layers;  // names and elements

  // Returns the elements of each layer.
  std::vector<int64_t> LayerNumels() const;
};

// Returns the hash of everything that shaped a training (its JSON text), as 16 hexadecimal digits:
// FNV-1a, 64 bit.
std::string TrainingHash(const nlohmann::json& training);

// Return the line of a header, and the list of device work.
nlohmann::json HeaderJson(int64_t format, const nlohmann::json& training,
                          const std::vector<std::string>& replay_refused,
                          std::span<const OperationCost> operations, std::span<const Unit> layers);
nlohmann::json WorkJson(const WorkList& works);

// RecordLines reads the lines of a record. Functions throw Error "file:line: ..." on text that is
// no JSON, missing keys and values out of range.
class RecordLines {
 public:
  explicit RecordLines(const std::filesystem::path& path);

  // Reads the next line, an object. Returns false at the end.
  bool Next(nlohmann::json& line);

  [[noreturn]] void Fail(const std::string& what) const;
  [[noreturn]] void Fail(const std::string& key, const nlohmann::json& value,
                         const std::string& allowed) const;
  void Require(bool ok, const std::string& what) const {
    if (!ok) Fail(what);
  }

  const nlohmann::json& At(const nlohmann::json& object, const char* key) const;
  const nlohmann::json& List(const nlohmann::json& object, const char* key) const;
  int64_t Whole(const nlohmann::json& value, const char* key, int64_t least, int64_t most) const;
  int64_t WholeAt(const nlohmann::json& object, const char* key, int64_t least, int64_t most) const;
  double AmountAt(const nlohmann::json& object, const char* key) const;
  std::string TextAt(const nlohmann::json& object, const char* key) const;

  // Reads the header of that format. `outdated` says what to do with an older one.
  RecordHeader ReadHeader(const nlohmann::json& line, int64_t format,
                          const std::string& outdated) const;
  WorkList ReadWork(const nlohmann::json& list) const;
  // Reads positions of layers, below `count`.
  std::vector<int> ReadLayers(const nlohmann::json& object, const char* key, size_t count) const;

 private:
  std::string path_;
  std::ifstream file_;
  int64_t line_ = 0;
};

}  // namespace legacy
