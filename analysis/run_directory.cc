#include "analysis/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>
#include <type_traits>
#include <utility>

#include "analysis/csv.h"
#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/files/json.h"
#include "base/files/plain_file.h"
#include "base/files/whole_file.h"

namespace legacy::analysis {
namespace {

namespace fs = std::filesystem;

std::string Text(const std::string& value) { return value; }
std::string Text(bool value) { return value ? "1" : "0"; }
std::string Text(uint64_t value) { return std::to_string(value); }
std::string Text(int64_t value) { return std::to_string(value); }
std::string Text(double value) { return CsvNumber(value); }
template <class Value>
std::string Text(const std::optional<Value>& value) {
  return value ? Text(*value) : "";
}

template <class Number>
bool ParseWhole(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

// Each Parse reads `text` into `value`. It returns an empty text, or the allowed values if `text`
// is none of them.
const char* Parse(std::string_view text, std::string& value) {
  value = text;
  return "";
}
const char* Parse(std::string_view text, bool& value) {
  value = text == "1";
  return text == "0" || text == "1" ? "" : "0, 1";
}
const char* Parse(std::string_view text, uint64_t& value) {
  return ParseWhole(text, value) ? "" : "a whole number from 0 to 2^64 - 1";
}
const char* Parse(std::string_view text, int64_t& value) {
  return ParseWhole(text, value) && value >= 0 ? "" : "a whole number from 0 to 2^63 - 1";
}
const char* Parse(std::string_view text, double& value) {
  return ParseWhole(text, value) ? "" : "a number, nan, inf, -inf";
}

template <class Value>
const char* Parse(std::string_view text, std::optional<Value>& value) {
  value.reset();
  return text.empty() ? "" : Parse(text, value.emplace());
}

// Returns the position of each column of Row in the file's header line; nothing for an added column
// that it lacks. Columns may come in any order, and unknown ones are skipped.
template <class Row>
std::vector<std::optional<size_t>> LocateColumns(const CsvRows& header,
                                                 std::span<const Metric> metrics) {
  std::vector<std::optional<size_t>> places;
  for (const std::string& name : ColumnNames<Row>(metrics)) {
    const auto found = std::ranges::find(header.Cells(), name);
    if (found != header.Cells().end()) {
      places.emplace_back(static_cast<size_t>(found - header.Cells().begin()));
    } else if (IsAddedColumn(name)) {
      places.emplace_back(std::nullopt);
    } else {
      throw Error(header.Name() + ":1: columns", fmt::format("{}", fmt::join(header.Cells(), ",")),
                  "a header line with '" + name + "'");
    }
  }
  return places;
}

template <class Row>
Row ParseRow(const CsvRows& rows, const std::vector<std::optional<size_t>>& places,
             std::span<const Metric> metrics) {
  Row row;
  auto place = places.begin();
  VisitColumns(row, metrics, [&](const auto& name, const char*, auto& member) {
    const std::optional<size_t> position = *place++;
    if (!position) return;
    const std::string_view text = rows.Cells()[*position];
    const std::string allowed = Parse(text, member);
    if (!allowed.empty()) {
      throw Error(fmt::format("{}: column '{}'", rows.Where(), name), std::string(text), allowed);
    }
  });
  return row;
}

// An OrderCheck checks that the rows of one policy and seed come in the order of their steps.
// network.csv has one row for each policy and seed.
template <class Row>
class OrderCheck {
 public:
  void operator()(const CsvRows& rows, const Row& row) {
    const std::pair<std::string, uint64_t> training = {row.policy, row.seed};
    if constexpr (requires { row.step; }) {
      const auto [entry, first] = last_.try_emplace(training, row.step);
      // A decision has a row for each layer.
      const bool repeats = std::is_same_v<Row, DecisionRow> && row.step == entry->second;
      if (!first && row.step <= entry->second && !repeats) {
        throw Error(
            rows.Where() + ": column 'step'", std::to_string(row.step),
            fmt::format("a step after {}, the one before of this method and seed", entry->second));
      }
      entry->second = row.step;
    }
    if constexpr (std::is_same_v<Row, ClientRow>) {
      const int64_t next = last_.try_emplace(training, -1).first->second + 1;
      if (row.client != next) {
        throw Error(rows.Where() + ": column 'client'", std::to_string(row.client),
                    fmt::format("{}, the next client of this method and seed", next));
      }
      last_[training] = row.client;
    }
    if constexpr (std::is_same_v<Row, NetworkRow>) {
      if (!last_.try_emplace(training, rows.Line()).second) {
        throw Error(rows.Where() + ": policy and seed", fmt::format("{},{}", row.policy, row.seed),
                    fmt::format("once; line {} has them", last_[training]));
      }
    }
  }

 private:
  std::map<std::pair<std::string, uint64_t>, int64_t> last_;  // last step, or the row's line
};

void CheckKnown(const Manifest& manifest, const CsvRows& rows, const std::string& policy,
                uint64_t seed) {
  if (std::ranges::find(manifest.policies, policy) == manifest.policies.end()) {
    throw Error(rows.Where() + ": column 'policy'", policy,
                fmt::format("{} (manifest.json)", fmt::join(manifest.policies, ", ")));
  }
  if (std::ranges::find(manifest.seeds, seed) == manifest.seeds.end()) {
    throw Error(rows.Where() + ": column 'seed'", std::to_string(seed),
                fmt::format("{} (manifest.json)", fmt::join(manifest.seeds, ", ")));
  }
}

template <class Row>
std::vector<Row> ReadRows(RunDirectory& run) {
  const fs::path path = run.path / Row::kFile;
  if (!fs::exists(path)) {
    run.notes.push_back(fmt::format("{} is missing", Row::kFile));
    return {};
  }
  CsvRows csv(path.string(), ReadWholeFile(path), CsvKind::kGrowing);
  std::vector<Row> rows;
  if (csv.Next()) {
    const auto places = LocateColumns<Row>(csv, run.manifest.metrics);
    const size_t width = csv.Cells().size();
    OrderCheck<Row> check_order;
    while (csv.Next()) {
      if (csv.Cells().size() != width) {
        throw Error(csv.Where() + ": fields", std::to_string(csv.Cells().size()),
                    fmt::format("{}, as many as the header line has", width));
      }
      rows.push_back(ParseRow<Row>(csv, places, run.manifest.metrics));
      CheckKnown(run.manifest, csv, rows.back().policy, rows.back().seed);
      check_order(csv, rows.back());
    }
  }
  if (csv.UnfinishedLine() > 0) {
    run.notes.push_back(
        fmt::format("{}: line {} is unfinished and ignored", Row::kFile, csv.UnfinishedLine()));
  }
  return rows;
}

template <class Row>
void AddUnits(nlohmann::json& units, std::span<const Metric> metrics) {
  Row row;
  VisitColumns(row, metrics, [&](const std::string& name, const char* unit, auto&) {
    if (*unit != '\0') units[name] = unit;
  });
}

}  // namespace

template <class Row>
std::vector<std::string> ColumnNames(std::span<const Metric> metrics) {
  std::vector<std::string> names;
  Row row;
  VisitColumns(row, metrics,
               [&](const std::string& name, const char*, auto&) { names.push_back(name); });
  return names;
}

template <class Row>
TableWriter<Row>::TableWriter(const fs::path& directory, std::span<const Metric> metrics,
                              bool goes_on)
    : file_(directory / Row::kFile,
            goes_on ? OutputFile::Mode::kAppend : OutputFile::Mode::kReplace),
      metrics_(metrics.begin(), metrics.end()) {
  if (!goes_on) file_.Write(HeaderLine<Row>(metrics_));
}

template <class Row>
std::string HeaderLine(std::span<const Metric> metrics) {
  return CsvLine(ColumnNames<Row>(metrics));
}

template <class Row>
std::string RowLine(const Row& row, std::span<const Metric> metrics) {
  std::vector<std::string> fields;
  VisitColumns(row, metrics, [&](const auto&, const char*, const auto& member) {
    fields.push_back(Text(member));
  });
  return CsvLine(fields);
}

template <class Row>
void TableWriter<Row>::Write(const Row& row) {
  file_.Write(RowLine(row, metrics_));
}

template class TableWriter<StepRow>;
template class TableWriter<EvaluationRow>;
template class TableWriter<LayerRow>;
template class TableWriter<DecisionRow>;
template class TableWriter<LinkRow>;
template class TableWriter<NetworkRow>;
template class TableWriter<DoctorRow>;
template class TableWriter<FidelityRow>;
template class TableWriter<MemoryRow>;
template class TableWriter<RoundRow>;
template class TableWriter<TaskRow>;
template class TableWriter<ClientRow>;
template std::string HeaderLine<RoundRow>(std::span<const Metric>);
template std::string HeaderLine<TaskRow>(std::span<const Metric>);
template std::string HeaderLine<ClientRow>(std::span<const Metric>);
template std::string HeaderLine<LinkRow>(std::span<const Metric>);
template std::string RowLine(const LinkRow&, std::span<const Metric>);
template std::string RowLine(const RoundRow&, std::span<const Metric>);
template std::string RowLine(const TaskRow&, std::span<const Metric>);
template std::string RowLine(const ClientRow&, std::span<const Metric>);
template std::vector<std::string> ColumnNames<StepRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<EvaluationRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<LayerRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<DecisionRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<LinkRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<NetworkRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<DoctorRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<FidelityRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<MemoryRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<RoundRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<TaskRow>(std::span<const Metric>);
template std::vector<std::string> ColumnNames<ClientRow>(std::span<const Metric>);

Manifest WriteManifest(const fs::path& directory, nlohmann::json document) {
  const fs::path path = directory / "manifest.json";
  document["format"] = kFormatVersion;
  Manifest manifest = ParseManifest(document, path.string());
  const std::vector<Metric>& metrics = manifest.metrics;
  nlohmann::json& units = document["units"];
  AddUnits<StepRow>(units, metrics);
  AddUnits<EvaluationRow>(units, metrics);
  AddUnits<LayerRow>(units, metrics);
  AddUnits<DecisionRow>(units, metrics);
  AddUnits<LinkRow>(units, metrics);
  AddUnits<NetworkRow>(units, metrics);
  AddUnits<DoctorRow>(units, metrics);
  AddUnits<MemoryRow>(units, metrics);
  AddUnits<FidelityRow>(units, metrics);
  ReplaceFile(path, document.dump(2) + "\n");
  manifest.document = std::move(document);
  return manifest;
}

nlohmann::json ReadDiagnoses(const fs::path& directory) {
  const fs::path path = directory / "doctor.json";
  if (!fs::exists(path)) return nlohmann::json::array();
  return ParseJson(ReadWholeFile(path), path.string());
}

namespace {

// Returns the notes of a manifest: remarks of the program that ran about its figures.
std::vector<std::string> NotesOf(const nlohmann::json& manifest, const std::string& where) {
  std::vector<std::string> notes;
  if (!manifest.contains("notes")) return notes;
  const nlohmann::json& list = manifest.at("notes");
  for (const nlohmann::json& note : list) {
    if (!list.is_array() || !note.is_string()) {
      throw Error(where + ": notes", list.dump(), "a list of texts");
    }
    notes.push_back(note.get<std::string>());
  }
  return notes;
}

}  // namespace

RunDirectory ReadRunDirectory(const fs::path& directory) {
  RunDirectory run;
  run.path = directory;
  const fs::path manifest = directory / "manifest.json";
  if (!fs::exists(manifest)) {
    throw Error("run directory", directory.string(),
                "a directory with a manifest.json" + NoteOfMissing(directory));
  }
  run.manifest =
      ParseManifest(ParseJson(ReadWholeFile(manifest), manifest.string()), manifest.string());
  run.notes = NotesOf(run.manifest.document, manifest.string());
  run.steps = ReadRows<StepRow>(run);
  run.evaluations = ReadRows<EvaluationRow>(run);
  run.layers = ReadRows<LayerRow>(run);
  // Older runs have no decisions.csv.
  if (fs::exists(directory / DecisionRow::kFile)) run.decisions = ReadRows<DecisionRow>(run);
  run.links = ReadRows<LinkRow>(run);
  run.network = ReadRows<NetworkRow>(run);
  if (fs::exists(directory / RoundRow::kFile)) run.rounds = ReadRows<RoundRow>(run);
  if (fs::exists(directory / TaskRow::kFile)) run.tasks = ReadRows<TaskRow>(run);
  if (fs::exists(directory / ClientRow::kFile)) run.clients = ReadRows<ClientRow>(run);
  return run;
}

}  // namespace legacy::analysis
