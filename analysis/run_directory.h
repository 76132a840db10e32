// The run directory has the results of a comparison of policies. It is written and read here alone.
// docs/results-format.md describes it; rows.h has the columns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/federated/federated_rows.h"
#include "analysis/rows.h"
#include "base/files/output_file.h"
#include "base/metric.h"

namespace legacy::analysis {

// Version 1, which is still read, had one metric: accuracy.
inline constexpr int kFormatVersion = 2;

// A TableWriter writes one file of the directory: a header line, then one line for each row. Every
// line is flushed, so that at most the last line of a killed run is not whole. It is defined for
// the row types of rows.h. Throws Error naming the file where writing fails.
template <class Row>
class TableWriter {
 public:
  // The file replaces an older one, or continues after its last line. `metrics` are those of the
  // run, for rows that have their values.
  explicit TableWriter(const std::filesystem::path& directory, std::span<const Metric> metrics = {},
                       bool goes_on = false);
  void Write(const Row& row);

 private:
  OutputFile file_;
  std::vector<Metric> metrics_;
};

using StepWriter = TableWriter<StepRow>;
using EvaluationWriter = TableWriter<EvaluationRow>;
using LayerWriter = TableWriter<LayerRow>;
using DecisionWriter = TableWriter<DecisionRow>;
using LinkWriter = TableWriter<LinkRow>;
using NetworkWriter = TableWriter<NetworkRow>;
using DoctorWriter = TableWriter<DoctorRow>;
using FidelityWriter = TableWriter<FidelityRow>;
using MemoryWriter = TableWriter<MemoryRow>;
using RoundWriter = TableWriter<RoundRow>;
using TaskWriter = TableWriter<TaskRow>;
using ClientWriter = TableWriter<ClientRow>;

// Return a file's header line, and the line of a row.
template <class Row>
std::string HeaderLine(std::span<const Metric> metrics = {});
template <class Row>
std::string RowLine(const Row& row, std::span<const Metric> metrics = {});

// Returns the names of a file's columns, in the order of its header line, for a run of these
// metrics.
template <class Row>
std::vector<std::string> ColumnNames(std::span<const Metric> metrics = {});

// A Manifest has the fields of manifest.json that analysis needs. `document` has all fields.
struct Manifest {
  std::string program;
  std::vector<std::string> policies;  // policies in order, each once
  std::vector<uint64_t> seeds;
  int workers = 0;
  int64_t parameters = 0;        // d, number of elements of the model's gradient
  std::vector<Metric> metrics;   // metrics of the evaluations; empty: nothing was trained
  std::optional<Target> target;  // of one of the metrics, which it names
  std::string fidelity;
  // Number of decisions that a training was expected to have, by policy that decides; old runs have
  // none.
  std::map<std::string, int64_t> decisions;
  // Requested message bytes of one worker in a step, by policy, where policies were to send equal
  // volumes.
  std::map<std::string, double> requested_bytes;
  // Reasons why a policy may send other bytes, by policy, and remarks about methods for people.
  std::map<std::string, std::string> volume_reasons;
  std::vector<std::string> remarks;
  nlohmann::json document;
};

// Reads a manifest. Throws Error naming `where`, the key, the value and what is allowed.
Manifest ParseManifest(const nlohmann::json& document, const std::string& where);

// Sets `metrics` and `target` of a manifest's document.
void SetMetrics(nlohmann::json& document, std::span<const Metric> metrics,
                const std::optional<Target>& target);

// Checks `document` as ParseManifest does, adds "format" and the columns' "units", writes
// manifest.json whole or not at all, and returns it.
Manifest WriteManifest(const std::filesystem::path& directory, nlohmann::json document);

struct RunDirectory {
  std::filesystem::path path;
  Manifest manifest;
  std::vector<StepRow> steps;
  std::vector<EvaluationRow> evaluations;
  std::vector<LayerRow> layers;
  std::vector<DecisionRow> decisions;
  std::vector<LinkRow> links;
  std::vector<NetworkRow> network;
  std::vector<RoundRow> rounds;    // of federated runs
  std::vector<TaskRow> tasks;      // of federated runs that write them
  std::vector<ClientRow> clients;  // of federated runs
  std::vector<std::string> notes;  // missing files and unfinished last lines of an interrupted run
};

// Reads a whole directory. Missing files and an unfinished last line, as an interruption leaves
// them, are allowed. Throws Error on any other mistake, with file, line, column, value and what is
// allowed.
RunDirectory ReadRunDirectory(const std::filesystem::path& directory);

// Returns doctor.json, an array; empty where the run has none. Throws Error on text that is not
// JSON.
nlohmann::json ReadDiagnoses(const std::filesystem::path& directory);

}  // namespace legacy::analysis
