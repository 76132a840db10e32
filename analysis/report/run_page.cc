#include "analysis/report/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/pictures/pictures.h"
#include "analysis/study/report/html.h"
#include "analysis/study/run_points.h"
#include "analysis/tables.h"

namespace legacy::analysis {
namespace {

using nlohmann::json;

// Pictures that the page's own figures replace.
constexpr std::array<std::string_view, 3> kDrawnByThePage = {"metric-time", "metric-bytes",
                                                             "step-split"};

// Returns the text at a path of the manifest, such as "/configuration/run/seed"; "" if there is
// none.
std::string TextAt(const json& document, const std::string& path) {
  const json::json_pointer pointer(path);
  if (!document.contains(pointer)) return "";
  const json& value = document.at(pointer);
  return value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "";
}

std::string Option(const json& document, const std::string& path) {
  return TextAt(document, "/configuration/" + path);
}

// Returns what was trained: a model's name, or the title of a shape.
std::string ModelOf(const json& document) {
  const std::string shape = TextAt(document, "/shape/title");
  return shape.empty() ? Option(document, "training/model") : shape;
}

std::string TitleOf(const RunDirectory& run, const Report& report) {
  const json& document = run.manifest.document;
  std::vector<std::string> parts;
  for (const std::string& part :
       {ModelOf(document),
        fmt::format("{} {}", run.manifest.workers,
                    report.summary.federated ? "clients" : "workers"),
        Option(document, "network/topology"), Option(document, "network/bandwidth")}) {
    if (!part.empty()) parts.push_back(part);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Returns the settings that shape the answer, as label and value.
std::vector<std::pair<std::string, std::string>> HeaderOf(const RunDirectory& run) {
  static constexpr std::array<std::pair<const char*, const char*>, 19> kOptions = {{
      {"batch", "training/batch"},
      {"steps", "training/steps"},
      {"rounds", "federated/rounds"},
      {"clients of a round", "federated/per_round"},
      {"population", "federated/population"},
      {"partition of the data", "federated/partition"},
      {"server", "federated/server"},
      {"density", "compression/density"},
      {"volume by", "compression/volume"},
      {"topology", "network/topology"},
      {"bandwidth", "network/bandwidth"},
      {"delay", "network/delay"},
      {"transport", "network/transport"},
      {"congestion control", "network/congestion"},
      {"stragglers", "network/stragglers"},
      {"synchronisation", "network/sync"},
      {"all-reduce", "network/allreduce"},
      {"device", "clock/device_profile"},
      {"kernel launches", "clock/launches"},
  }};
  const json& document = run.manifest.document;
  const bool trained = !run.manifest.metrics.empty();
  std::vector<std::pair<std::string, std::string>> rows = {
      {"program", run.manifest.program + " " + TextAt(document, "/version")},
      {"model", ModelOf(document)},
      {"parameters", std::to_string(run.manifest.parameters)},
      {"data", trained ? Option(document, "training/dataset") : ""},
      {"optimizer", trained ? Option(document, "training/optimizer") : ""},
      {"learning rate", trained ? Option(document, "training/learning_rate") : ""},
      {"trained on", TextAt(document, "/device/name")},
      {"workers", std::to_string(run.manifest.workers)},
      {"seeds", fmt::format("{}", fmt::join(run.manifest.seeds, ", "))},
      {"fidelity", run.manifest.fidelity}};
  for (const auto& [label, path] : kOptions) rows.emplace_back(label, Option(document, path));
  std::erase_if(rows, [](const auto& row) { return row.second.empty(); });
  return rows;
}

Table DoctorTable(const RunDirectory& run) {
  Table table{"What bounds a step, by the doctor", {"method", "step", "verdict"}, {}};
  for (const json& diagnosis : ReadDiagnoses(run.path)) {
    table.rows.push_back({diagnosis.at("policy").get<std::string>(),
                          std::to_string(diagnosis.at("step").get<int64_t>()),
                          diagnosis.at("verdict").get<std::string>()});
  }
  return table;
}

RunParts PartsOf(const RunDirectory& run, const Report& report) {
  RunParts parts;
  parts.verdict = report.verdict;
  parts.shown = ShownPolicies(report.summary);
  parts.header = HeaderOf(run);
  parts.notes = report.summary.notes;
  parts.tables = SummaryTables(report.summary, true);
  std::ranges::copy(report.federated, std::back_inserter(parts.tables));
  if (!report.networks.empty()) parts.tables.push_back(NetworksTable(report.networks));
  if (Table doctor = DoctorTable(run); !doctor.rows.empty()) {
    parts.tables.push_back(std::move(doctor));
  }
  for (const std::filesystem::path& file : report.files) {
    const bool drawn =
        std::ranges::find(kDrawnByThePage, file.stem().string()) != kDrawnByThePage.end();
    if (file.extension() == ".svg" && !drawn) parts.pictures.push_back(file.filename().string());
    if (file.extension() == ".pdf") parts.files.push_back(file.filename().string());
  }
  for (const char* name :
       {"manifest.json", "summary.json", "networks.csv", StepRow::kFile, EvaluationRow::kFile,
        LayerRow::kFile, DecisionRow::kFile, LinkRow::kFile, NetworkRow::kFile, RoundRow::kFile,
        TaskRow::kFile, ClientRow::kFile, DoctorRow::kFile, FidelityRow::kFile, MemoryRow::kFile}) {
    if (std::filesystem::exists(run.path / name)) parts.files.emplace_back(name);
  }
  std::ranges::sort(parts.files);
  return parts;
}

// Adds the points of one network. Those of a training that did not finish are shown if its policy
// has no finished one, as in the summary.
void AddPoints(Study& study, const RunDirectory& run, const Summary& summary,
               const std::vector<std::string>& values) {
  for (const PolicySummary& policy : summary.policies) {
    for (size_t s = 0; s < policy.seeds.size(); ++s) {
      const SeedSummary& seed = policy.seeds[s];
      StudyPoint point;
      point.id = static_cast<int64_t>(study.points.size());
      point.policy = policy.name;
      point.seed = seed.seed;
      point.values = values;
      if (seed.finished || (policy.finished == 0 && seed.steps > 0)) {
        point.state = StudyState::kDone;
        FillPoint(point, run, policy, s, study.metrics);
      }
      study.points.push_back(std::move(point));
    }
  }
}

Study StudyOf(const RunDirectory& run, const Report& report) {
  Study study;
  study.name = run.manifest.program;
  study.title = TitleOf(run, report);
  study.baseline = report.summary.baseline;
  study.metrics = run.manifest.metrics;
  if (report.summary.target) {
    study.target = Target{report.summary.metric.name, *report.summary.target};
  }
  study.policies = run.manifest.policies;
  study.seeds = run.manifest.seeds;
  if (report.networks.empty()) {
    AddPoints(study, run, report.summary, {});
    return study;
  }
  study.axes = {{"network", "", {}, {}}};
  for (const NetworkResult& network : report.networks) {
    const bool own = study.axes[0].values.empty();
    study.axes[0].values.push_back(network.name);
    AddPoints(study, own ? run : network.rows, network.summary, {network.name});
  }
  return study;
}

}  // namespace

std::string PartsHtml(const std::string& title, const RunParts& parts) {
  Study study;
  study.title = title;
  HtmlOptions options;
  options.run = parts;
  return StudyHtml(study, options);
}

std::string RunHtml(const RunDirectory& run, const Report& report) {
  HtmlOptions options;
  options.run = PartsOf(run, report);
  return StudyHtml(StudyOf(run, report), options);
}

}  // namespace legacy::analysis
