#include "scenarios/network/validation/validation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/files/shipped.h"
#include "base/files/whole_file.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// The tolerance for the times of the sample: the C libraries of other machines, and small changes
// to an engine, change times by less.
constexpr double kSampleTolerance = 0.01;

using Section = std::pair<const char*, SectionResult (*)(const SectionRun&)>;

std::vector<Section>& AddedSections() {
  static std::vector<Section> added;
  return added;
}

std::vector<Section> NetworkSections() {
  return {{"astra-sim", ValidateAstraSim},      {"nccl", ValidateNccl},
          {"analytic", ValidateAnalytic},       {"bus-bandwidth", ValidateBusBandwidth},
          {"collectives", ValidateCollectives}, {"fidelity", ValidateFidelity},
          {"schedules", ValidateSchedules},     {"linux", ValidateLinux},
          {"sockets", ValidateSockets}};
}

std::vector<Section> Sections() {
  std::vector<Section> sections = NetworkSections();
  std::ranges::copy(AddedSections(), std::back_inserter(sections));
  return sections;
}

std::vector<Section> Chosen(const std::vector<std::string>& names) {
  if (names.empty()) return Sections();
  std::vector<Section> chosen;
  for (const std::string& name : names) {
    const std::vector<Section> all = Sections();
    const auto same = [&](const Section& section) { return name == section.first; };
    const auto found = std::ranges::find_if(all, same);
    if (found == all.end()) throw NotAmong("--sections", name, ValidationSections());
    chosen.push_back(*found);
  }
  return chosen;
}

// Returns the folder of the CSV files that came with the toolkit.
fs::path RecordedFolder() {
  return ShippedFolders(nullptr, "validation", LEGACY_VALIDATION_SOURCE_DIR).back();
}

fs::path CsvFolder(const ValidationOptions& options) {
  if (!options.out_directory.empty()) return options.out_directory;
  return options.sample ? RecordedFolder() : fs::path("docs/results/validation");
}

std::string CsvPath(const ValidationOptions& options, const std::string& name) {
  return (CsvFolder(options) / (name + ".csv")).string();
}

void Print(const ValidationTable& table, std::ostream& text) {
  text << "\n" << table.name << "\n\n" << ToMarkdown(table) << std::flush;
}

void Check(const ValidationOptions& options) {
  if (options.processes < 1) {
    throw Error("--processes", std::to_string(options.processes), "1 or more");
  }
  if (options.sample) return;
  std::error_code error;
  fs::create_directories(CsvFolder(options), error);
  if (error) throw Error("--out", CsvFolder(options).string(), "a folder that can be made");
  if (!options.document.empty()) ReadWholeFile(options.document);
}

// Prints a section's result and stores it. In a sample, rows that are recorded are limits, too.
void Keep(SectionResult& result, const ValidationOptions& options, std::ostream& text) {
  if (options.sample) {
    Print(result.csv, text);
    const ValidationTable recorded = ReadTable(result.csv.name, CsvPath(options, result.csv.name));
    result.limits += static_cast<int>(result.csv.rows.size());
    for (std::string& line : Differences(result.csv, recorded, kSampleTolerance)) {
      result.misses.push_back(std::move(line));
    }
    return;
  }
  WriteWholeFile(CsvPath(options, result.csv.name), ToCsv(result.csv));
  for (const ValidationTable& table : result.document) Print(table, text);
  if (options.document.empty()) return;
  std::string document = ReadWholeFile(options.document);  // read now, as sections take minutes
  for (const ValidationTable& table : result.document) {
    document = WithTable(document, table, options.document);
  }
  WriteWholeFile(options.document, document);
}

}  // namespace

void AddValidationSection(const char* name, SectionResult (*validate)(const SectionRun&)) {
  AddedSections().emplace_back(name, validate);
}

std::vector<std::string> ValidationSections() {
  std::vector<std::string> names;
  for (const Section& section : Sections()) names.emplace_back(section.first);
  return names;
}

bool RunValidation(const ValidationOptions& options, std::ostream& text, std::ostream& progress) {
  const std::vector<Section> sections = Chosen(options.sections);
  Check(options);
  int limits = 0;
  std::vector<std::string> misses;
  for (const auto& [name, run] : sections) {
    SectionRun how{options.sample, options.processes, options.traces, {}};
    how.progress = [&, label = std::string(name)](const std::string& line) {
      progress << label << " " << line << std::endl;
    };
    SectionResult result = run(how);
    Keep(result, options, text);
    limits += result.limits;
    std::ranges::move(result.misses, std::back_inserter(misses));
  }
  text << "\n";
  for (const std::string& miss : misses) text << "does not hold: " << miss << "\n";
  const std::string count = std::to_string(limits) + " of " + std::to_string(limits);
  if (misses.empty()) text << "all that has a limit holds: " << count << "\n";
  return misses.empty();
}

}  // namespace legacy
