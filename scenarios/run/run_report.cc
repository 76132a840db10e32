#include "scenarios/run/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "analysis/report/report.h"
#include "analysis/run_directory.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "scenarios/run/open_run.h"
#include "trainer/clock/record.h"

namespace legacy {
namespace {

std::string Heading(const nlohmann::json& diagnosis) {
  return fmt::format("\nDoctor, {} fidelity\n", diagnosis.at("fidelity").get<std::string>());
}

// Returns the doctor's verdicts, one line each; empty without the doctor.
std::string Verdicts(const std::filesystem::path& directory) {
  std::string text;
  const nlohmann::json diagnoses = analysis::ReadDiagnoses(directory);
  for (const nlohmann::json& diagnosis : diagnoses) {
    text +=
        fmt::format("{}  {}, step {}: {}\n", text.empty() ? Heading(diagnosis) : "",
                    diagnosis.at("policy").get<std::string>(), diagnosis.at("step").get<int64_t>(),
                    diagnosis.at("verdict").get<std::string>());
  }
  return text;
}

// Returns the picture to look at first: the metric over time, or the parts of a step.
std::string PictureLine(const analysis::Report& report) {
  for (const char* name : {"metric-time.svg", "step-split.svg"}) {
    const auto found = std::ranges::find(report.files, name, &std::filesystem::path::filename);
    if (found != report.files.end()) return "picture: " + found->string() + "\n";
  }
  return "";
}

// Returns the command to run next.
std::string NextCommand(const std::filesystem::path& directory, const analysis::Report& report) {
  if (report.summary.federated) {
    return CommandOf("legacy-federated") + " doctor " + directory.string();
  }
  if (std::filesystem::exists(directory / kRecordFile)) {
    return CommandOf("legacy-replay") + " " + directory.string() + " --networks=auto";
  }
  return CommandOf("legacy-report") + " " + directory.string() + " --format=markdown";
}

}  // namespace

RunText WriteRunReport(const RunResult& result, const RunReportOptions& options) {
  analysis::ReportOptions written;
  written.pictures = options.pictures;
  const analysis::Report report = analysis::WriteReport(result.directory, written);
  FinishRun(result);
  std::string text = analysis::ReportText(report, options.verbose) + Verdicts(result.directory);
  if (!result.note.empty()) text += "\n" + result.note + "\n";
  text += "\n" + PictureLine(report) + "run directory: " + result.directory.string() + "\n";
  if (!result.interrupted) text += "next: " + NextCommand(result.directory, report) + "\n";
  return {text, report.warnings};
}

int ReportRun(const RunResult& result, const RunReportOptions& options) {
  const RunText report = WriteRunReport(result, options);
  for (const std::string& warning : report.warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  std::fputs(report.text.c_str(), stdout);
  if (result.interrupted) return kInterrupted;
  if (result.stopped.empty()) return 0;
  std::fprintf(stderr, "stopped: %s\n", result.stopped.c_str());
  return kStoppedEarly;
}

}  // namespace legacy
