// A line is {"point": {...}} or {"training": {...}}, with the fields by their names, and the
// figures and the columns of the curve by the columns' names. Numbers read back to the last bit. A
// number that is not finite is a text, as in the CSV files.
#include "analysis/study/journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "analysis/csv.h"
#include "analysis/rows.h"
#include "analysis/study/columns.h"
#include "base/error.h"
#include "base/files/json.h"
#include "base/files/output_file.h"

namespace legacy::analysis {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

template <class T>
json ToJson(const T& value) {
  return value;
}
json ToJson(double value) { return std::isfinite(value) ? json(value) : json(CsvNumber(value)); }
template <class T>
json ToJson(const std::optional<T>& value) {
  return value ? ToJson(*value) : json();
}

[[noreturn]] void Refuse(const std::string& what, const json& value, const std::string& allowed) {
  throw Error(what, Shown(value), allowed);
}

// FromJson(value, what, member) sets the member. Throws Error naming `what` where `value` is of
// another type.
void FromJson(const json& value, const std::string& what, std::string& text) {
  if (!value.is_string()) Refuse(what, value, "a text");
  text = value.get<std::string>();
}
void FromJson(const json& value, const std::string& what, uint64_t& number) {
  if (!value.is_number_unsigned()) Refuse(what, value, "a whole number from 0 on");
  number = value.get<uint64_t>();
}
void FromJson(const json& value, const std::string& what, int64_t& number) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const bool large = value.is_number_unsigned() && value.get<uint64_t>() > kMax;
  if (!value.is_number_integer() || large) Refuse(what, value, "a whole number of 64 bits");
  number = value.get<int64_t>();
}
void FromJson(const json& value, const std::string& what, double& number) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static const std::map<std::string, double> not_finite = {
      {"nan", std::numeric_limits<double>::quiet_NaN()}, {"inf", kInfinity}, {"-inf", -kInfinity}};
  if (value.is_number()) {
    number = value.get<double>();
    return;
  }
  const auto found =
      value.is_string() ? not_finite.find(value.get<std::string>()) : not_finite.end();
  if (found == not_finite.end()) Refuse(what, value, "a number, \"nan\", \"inf\", \"-inf\"");
  number = found->second;
}
template <class T>
void FromJson(const json& value, const std::string& what, std::optional<T>& member) {
  member.reset();
  if (!value.is_null()) FromJson(value, what, member.emplace());
}

const json& Need(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) throw Error(key, "nothing", "a value");
  return object[key];
}

template <class T>
void Read(const json& object, const char* key, T& member) {
  FromJson(Need(object, key), key, member);
}

void ReadState(const json& object, StudyState& state) {
  std::string text;
  Read(object, "state", text);
  state = StateOf(text);
  if (state == StudyState::kPending) throw Error("state", text, "done, failed");
}

json CurveJson(const std::vector<CurveRow>& curve, std::span<const Metric> metrics) {
  json columns = json::object();
  CurveRow names;
  VisitColumns(names, metrics,
               [&](const std::string& name, const char*, auto&) { columns[name] = json::array(); });
  for (const CurveRow& row : curve) {
    VisitColumns(row, metrics, [&](const std::string& name, const char*, const auto& member) {
      columns[name].push_back(ToJson(member));
    });
  }
  return columns;
}

std::vector<CurveRow> CurveOf(const json& columns, std::span<const Metric> metrics) {
  std::vector<CurveRow> curve(Need(columns, "step").size());
  CurveRow names;
  VisitColumns(names, metrics, [&](const std::string& name, const char*, auto&) {
    const json& column = Need(columns, name.c_str());
    if (!column.is_array() || column.size() != curve.size()) {
      Refuse(name, column, fmt::format("a list of {}, as many as steps", curve.size()));
    }
  });
  for (size_t i = 0; i < curve.size(); ++i) {
    VisitColumns(curve[i], metrics, [&](const std::string& name, const char*, auto& member) {
      FromJson(columns[name][i], name, member);
    });
  }
  return curve;
}

json PointJson(const StudyPoint& point, std::span<const Metric> metrics) {
  json entry = {
      {"id", point.id},          {"policy", point.policy},     {"seed", point.seed},
      {"values", point.values},  {"training", point.training}, {"state", StateText(point.state)},
      {"message", point.message}};
  if (point.state != StudyState::kDone) return entry;
  json& figures = entry["figures"];
  PointFigures::Columns(point.figures, [&](const char* name, const char*, const auto& member) {
    figures[name] = ToJson(member);
  });
  entry["curve"] = CurveJson(point.curve, metrics);
  return entry;
}

StudyPoint PointFromJson(const json& entry, std::span<const Metric> metrics) {
  StudyPoint point;
  Read(entry, "id", point.id);
  if (point.id < 0) Refuse("id", entry["id"], "0 or more");
  Read(entry, "policy", point.policy);
  Read(entry, "seed", point.seed);
  const json& values = Need(entry, "values");
  if (!values.is_array()) Refuse("values", values, "a list of texts");
  for (const json& value : values) FromJson(value, "values", point.values.emplace_back());
  Read(entry, "training", point.training);
  ReadState(entry, point.state);
  Read(entry, "message", point.message);
  if (point.state != StudyState::kDone) return point;
  const json& figures = Need(entry, "figures");
  PointFigures::Columns(point.figures, [&](const char* name, const char*, auto& member) {
    if (!IsAddedColumn(name) || figures.contains(name)) Read(figures, name, member);
  });
  point.curve = CurveOf(Need(entry, "curve"), metrics);
  return point;
}

json TrainingJson(const StudyTraining& training) {
  return {{"id", training.id},
          {"policy", training.policy},
          {"seed", training.seed},
          {"replay_refused", training.replay_refused},
          {"state", StateText(training.state)},
          {"message", training.message},
          {"configuration", training.configuration}};
}

StudyTraining TrainingFromJson(const json& entry) {
  StudyTraining training;
  Read(entry, "id", training.id);
  Read(entry, "policy", training.policy);
  Read(entry, "seed", training.seed);
  Read(entry, "replay_refused", training.replay_refused);
  ReadState(entry, training.state);
  Read(entry, "message", training.message);
  Read(entry, "configuration", training.configuration);
  return training;
}

// Results of all files so far, by id.
struct Collected {
  std::map<int64_t, StudyPoint> points;
  std::map<std::string, StudyTraining> trainings;
  int64_t skipped = 0;
  std::string first_skipped;
};

// Keeps the last entry of each id. A failure never replaces a result.
template <class Id, class Entry>
void Keep(std::map<Id, Entry>& entries, Entry entry) {
  const auto [place, added] = entries.try_emplace(entry.id);
  const bool hides = place->second.state == StudyState::kDone && entry.state != StudyState::kDone;
  if (added || !hides) place->second = std::move(entry);
}

void ReadLine(const std::string& line, std::span<const Metric> metrics, Collected& collected) {
  const json entry = ParseJson(line, "line");
  if (entry.is_object() && entry.contains("point")) {
    Keep(collected.points, PointFromJson(entry["point"], metrics));
  } else if (entry.is_object() && entry.contains("training")) {
    Keep(collected.trainings, TrainingFromJson(entry["training"]));
  } else {
    Refuse("line", entry, "{\"point\": ...}, {\"training\": ...}");
  }
}

void ReadFile(const fs::path& path, std::span<const Metric> metrics, Collected& collected) {
  std::error_code none;
  const bool plain = fs::is_regular_file(path, none);  // a FIFO would wait
  std::ifstream file;
  if (plain) file.open(path, std::ios::binary);
  if (!plain || !file) throw Error(path.string() + ": cannot be read, or is no plain file");
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    // A line without a line feed is unfinished: its process was killed, or is still writing.
    if (file.eof()) break;
    try {
      ReadLine(line, metrics, collected);
    } catch (const Error& error) {
      if (collected.skipped++ > 0) continue;
      collected.first_skipped = fmt::format("{}:{}: {}", path.string(), number, error.what());
    }
  }
  if (file.bad()) throw Error(path.string() + ": cannot be read");
}

template <class Id, class Entry>
std::vector<Entry> Values(std::map<Id, Entry>& entries) {
  std::vector<Entry> values;
  for (auto& [id, entry] : entries) values.push_back(std::move(entry));
  return values;
}

// Creates a new file for this writer. Its name has a number, because processes of containers may
// share host and process id.
OutputFile CreateFile(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(folder.string() + ": cannot be made: " + error.message());
  std::array<char, 256> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {"host"};
  for (int writer = 1;; ++writer) {
    const fs::path path = folder / fmt::format("{}-{}{}.jsonl", host.data(), getpid(),
                                               writer == 1 ? "" : fmt::format("-{}", writer));
    if (!fs::exists(fs::symlink_status(path, error))) {
      try {
        return OutputFile(path, OutputFile::Mode::kCreate);
      } catch (const Error&) {
        // The error stands, unless another process made the file meanwhile.
        if (!fs::exists(fs::symlink_status(path, error))) throw;
      }
    }
  }
}

void WriteLine(OutputFile& file, const json& entry) {
  file.Write(entry.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
}

}  // namespace

JournalWriter::JournalWriter(const fs::path& folder, std::span<const Metric> metrics)
    : file_(CreateFile(folder)), metrics_(metrics.begin(), metrics.end()) {}

void JournalWriter::Write(const StudyPoint& point) {
  WriteLine(file_, {{"point", PointJson(point, metrics_)}});
}

void JournalWriter::Write(const StudyTraining& training) {
  WriteLine(file_, {{"training", TrainingJson(training)}});
}

JournalEntries ReadJournals(const fs::path& folder, std::span<const Metric> metrics) {
  std::error_code error;
  std::vector<fs::path> paths;
  if (!fs::is_directory(folder, error)) return {};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".jsonl") paths.push_back(entry.path());
  }
  if (error) throw Error(folder.string() + ": cannot be read: " + error.message());
  std::ranges::sort(paths);
  Collected collected;
  for (const fs::path& path : paths) ReadFile(path, metrics, collected);
  return {Values(collected.points), Values(collected.trainings), collected.skipped,
          collected.first_skipped};
}

}  // namespace legacy::analysis
