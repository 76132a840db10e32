// The run directory: what a comparison of policies leaves behind, written and read here alone.
// docs/results-format.md describes it; the columns are in rows.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "base/output_file.h"

namespace legacy::analysis {

inline constexpr int kFormatVersion = 1;

// Writes one file of the directory: a header line, then a line a row, flushed, so that a killed run
// leaves whole lines but for the last. Defined for the row types of rows.h. Throws Error naming the
// file when the disk refuses.
template <class Row>
class TableWriter {
 public:
  explicit TableWriter(const std::filesystem::path& directory);  // replaces an older file
  void Write(const Row& row);

 private:
  OutputFile file_;
};

using StepWriter = TableWriter<StepRow>;
using EvaluationWriter = TableWriter<EvaluationRow>;
using LayerWriter = TableWriter<LayerRow>;
using DecisionWriter = TableWriter<DecisionRow>;
using LinkWriter = TableWriter<LinkRow>;
using NetworkWriter = TableWriter<NetworkRow>;
using DoctorWriter = TableWriter<DoctorRow>;
using FidelityWriter = TableWriter<FidelityRow>;

// The columns of a file as its header line has them.
template <class Row>
std::vector<std::string> ColumnNames();

// The fields of manifest.json that analysis needs; the rest is for the reader and in `document`.
struct Manifest {
  std::string program;
  std::vector<std::string> policies;  // in order, each once
  std::vector<uint64_t> seeds;
  int workers = 0;
  int64_t parameters = 0;                 // d, elements of the model's gradient
  std::optional<double> target_accuracy;  // fraction; null in the file: none
  std::string fidelity;
  // Of policies that decide, decisions that were to be expected in a training; old runs have none.
  std::map<std::string, int64_t> decisions;
  // Where policies were to send equally much: message bytes of one worker in a step that were asked
  // for.
  std::map<std::string, double> requested_bytes;
  nlohmann::json document;
};

// Throws Error naming `where`, the key, the value and what is allowed.
Manifest ParseManifest(const nlohmann::json& document, const std::string& where);

// Checks `document` as ParseManifest does, adds "format" and the columns' "units", and writes
// manifest.json whole or not at all.
void WriteManifest(const std::filesystem::path& directory, nlohmann::json document);

struct RunDirectory {
  std::filesystem::path path;
  Manifest manifest;
  std::vector<StepRow> steps;
  std::vector<EvaluationRow> evaluations;
  std::vector<LayerRow> layers;
  std::vector<DecisionRow> decisions;
  std::vector<LinkRow> links;
  std::vector<NetworkRow> network;
  std::vector<std::string>
      notes;  // what an interrupted run lacks: missing files, unfinished last lines
};

// Reads a whole directory. Tolerates what an interruption leaves; anything else that is wrong
// throws Error with file, line, column, value and what is allowed.
RunDirectory ReadRunDirectory(const std::filesystem::path& directory);

// doctor.json, an array; empty where the run has none. Throws Error on what is not JSON.
nlohmann::json ReadDiagnoses(const std::filesystem::path& directory);

}  // namespace legacy::analysis
