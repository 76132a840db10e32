#include "scenarios/programs/network_output.h"

#include <algorithm>

#include "base/programs/arguments.h"
#include "base/programs/progress_line.h"
#include "base/programs/terminal.h"
#include "scenarios/network/outputs.h"

namespace legacy {
namespace {

constexpr double kAnnounceSeconds = 5;  // wall time above which packet simulations are announced

}  // namespace

std::vector<std::pair<std::string, std::string>> FilesOf(const NetworkCommand& command,
                                                         OptionProperties properties) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const Option<NetworkCommand>& row : NetworkRows()) {
    const std::string path = row.get(command);
    const bool file = row.metavar == "FILE" && (row.properties & properties) == properties;
    if (file && !path.empty()) files.emplace_back(row.flag, path);
  }
  return files;
}

std::FILE* TableStream(const NetworkCommand& command) {
  const auto files = FilesOf(command);
  const bool to_stdout =
      std::ranges::any_of(files, [](const auto& file) { return file.second == "-"; });
  return to_stdout ? stderr : stdout;
}

size_t TableColumns(const NetworkCommand& command) {
  return TableStream(command) == stderr ? ErrorColumns() : OutputColumns();
}

void Say(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    std::fprintf(stderr, "%s\n", ErrorMessage("warning", warning).c_str());
  }
}

void Announce(double seconds, const NetworkCommand& command) {
  if (seconds < kAnnounceSeconds) return;
  std::fprintf(stderr, "packet simulation: %s %s of wall time\n",
               *command.options.skip == fabric::Skip::None ? "about" : "at most",
               WallTimeInWords(seconds).c_str());
}

double AllFlows(const PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  return FlowCount(prepared) * static_cast<double>(e.fidelities.size()) *
         static_cast<double>(e.HasFlows() ? 1 : e.options.repeat);
}

void AnnounceFlows(double flows) {
  if (flows < kAnnouncedFlows) return;
  std::fprintf(stderr, "about %.3g flows: %s\n", flows, FlowWallTime(flows).c_str());
}

void WriteRows(const NetworkOutputs& outputs, const std::vector<Row>& rows) {
  if (!outputs.csv.empty()) WriteOutput(outputs.csv, CsvText(rows));
  if (!outputs.json.empty()) WriteOutput(outputs.json, JsonText(rows));
}

}  // namespace legacy
