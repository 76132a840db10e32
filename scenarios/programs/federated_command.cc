#include "scenarios/programs/federated_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "analysis/report/report.h"
#include "analysis/result_rows.h"
#include "analysis/table_text.h"
#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/parse.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "base/programs/progress_line.h"
#include "scenarios/federated/plan_doctor.h"
#include "scenarios/federated/plan_files.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/federated/plan_report.h"
#include "scenarios/federated/population_report.h"
#include "scenarios/run/manifest.h"

namespace legacy {
namespace {

void Print(const std::string& text) { std::fputs(text.c_str(), stdout); }

void PrintTables(const std::vector<analysis::Table>& tables, bool markdown) {
  for (const analysis::Table& table : tables) {
    Print((markdown ? analysis::RenderMarkdown(table) : analysis::RenderText(table)) + "\n");
  }
}

// Makes the folder of results now, so that a mistake is found before the simulation.
void PrepareFolder(const std::string& folder) {
  if (folder.empty()) return;
  CheckHoldsNo(Held::kRun, folder, "--out");
  CheckHoldsNo(Held::kStudy, folder, "--out");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    throw Error("--out", folder, "a folder that exists or can be made");
  }
  CheckOutput(folder + "/rounds.csv", "--out");
}

bool DrawsGantt(const PlanCommand& command, const Plan& plan) {
  return !command.out.empty() && !plan.rounds.empty() && !plan.exchange;
}

// Returns the command that asks for advice on what these clients should compress.
std::string AdviceOn(const FederatedSection& options) {
  auto words = WordsOfOptions(FederatedOptionRows(), options, FederatedSection(),
                              [](const FederatedOption& row) { return row.Has(kAdvised); });
  words.insert(words.begin(), CommandOf("legacy-federated") + " advise");
  return Join(words, " ");
}

void WriteFiles(const PlanCommand& command, const PlanRequest& request, const Plan& plan) {
  const std::string folder = command.out + "/";
  ReplaceFile(folder + "rounds.csv", RoundsCsv(request, plan));
  ReplaceFile(folder + "clients.csv", ClientsCsv(request, plan));
  ReplaceFile(folder + "links.csv", LinksCsv(plan));
  if (command.tasks) ReplaceFile(folder + "tasks.csv", TasksCsv(request, plan));
  if (DrawsGantt(command, plan)) {
    ReplaceFile(folder + "gantt.svg",
                analysis::GanttSvg(TasksOf(plan, GanttRound(plan, command.gantt.value_or(0)))));
  }
}

// Returns what the page of a plan shows besides its tables.
analysis::RunParts PartsOf(const PlanCommand& command, const PlanRequest& request,
                           const Plan& plan) {
  analysis::RunParts parts;
  parts.header = {{"program", "legacy-federated plan " + VersionText()},
                  {"clients", std::to_string(request.population.Clients())},
                  {"versions", std::to_string(request.Versions())},
                  {"fidelity", std::string(request.fidelity)}};
  const PlanOptions defaults;
  for (const Option<PlanOptions>& row : PlanRows()) {
    const std::string text = row.get(command.options);
    if (!row.Has(kReadByPlans) || text == row.get(defaults)) continue;
    const bool there = std::ranges::any_of(
        parts.header, [&](const auto& known) { return known.first == row.Name(); });
    if (!there) parts.header.emplace_back(row.Name(), text);
  }
  parts.notes = request.Assumptions();
  if (DrawsGantt(command, plan)) parts.pictures = {"gantt.svg"};
  parts.files = {"clients.csv", "links.csv", "rounds.csv"};
  if (command.tasks) parts.files.emplace_back("tasks.csv");
  return parts;
}

std::string Summary(const PlanRequest& request, const Plan& plan) {
  int64_t started = 0;
  double usd = 0, hours = 0;
  for (const PlannedRound& round : plan.rounds) {
    started += round.row.started;
    usd += round.cost.usd_down + round.cost.usd_up;
    hours += round.cost.usd_hours;
  }
  const TimeNs end = plan.rounds.empty() ? 0 : plan.rounds.back().row.end;
  std::string text = fmt::format(
      "{} of {} versions in {} ({:.2f} h), {} tasks of {} clients, {:.4g} USD of traffic",
      plan.versions, request.Versions(), FormatTime(end), static_cast<double>(end) / 3600e9,
      started, request.population.Clients(), usd);
  if (hours > 0) text += fmt::format(", {:.4g} USD of client hours", hours);
  return text +
         fmt::format("; {} fidelity, {:.1f} s of computing\n", request.fidelity, plan.wall_seconds);
}

std::string TitleOf(const PlanRequest& request, const Plan& plan) {
  return fmt::format("Plan of {} clients, {} versions", request.population.Clients(),
                     plan.versions);
}

// Throws Error on options that this plan does not allow.
void CheckPlanCommand(const PlanCommand& command, const PlanRequest& request) {
  if (command.tasks && command.out.empty()) {
    throw Error("--tasks", "on", "off without --out, the folder that tasks.csv is written to");
  }
  if (request.exchange && (command.tasks || command.gantt)) {
    throw Error(command.tasks ? "--tasks" : "--gantt",
                command.tasks ? "on" : std::to_string(*command.gantt),
                "nothing here: --exchange=server reads it");
  }
}

Plan RunWithProgress(PlanNetworks& networks, bool show, const StopFlag& stop) {
  const StopScope scope(kSecondsToStop);
  const int64_t versions = networks.Request().Versions();
  ProgressLine progress(versions, "rounds", show);
  Plan plan = RunPlan(
      networks, {},
      [&](int64_t version) { progress.Advance(fmt::format("round {} of {}", version, versions)); },
      &stop);
  progress.Clear();
  return plan;
}

// Prints the plan's tables and what its rounds wait for, and adds both to the page.
void ReportRounds(const PlanCommand& command, const PlanRequest& request, const Plan& plan,
                  analysis::RunParts& page) {
  page.tables = PlanTables(request, plan);
  PrintTables(page.tables, command.markdown);
  if (command.chart && !plan.tasks.empty()) {
    Print(analysis::GanttText(TasksOf(plan, GanttRound(plan, command.gantt.value_or(0)))) + "\n");
  }
  page.verdict = plan.exchange ? ExchangeWaitsFor(plan) : WaitsFor(request, plan);
  Print(page.verdict + "\n\n");
}

// Simulates remedies, prints what they save, and adds the results to the page.
void ReportRemedies(const PlanCommand& command, PlanNetworks& networks, const Plan& plan, bool show,
                    const StopFlag& stop, analysis::RunParts& page) {
  const PlanRemedies remedies = RemediesFor(networks.Request());
  const Plan shorter = plan.versions > kRemedyRounds
                           ? RunPlan(networks, {.versions = kRemedyRounds}, {}, &stop)
                           : Plan();
  const StopScope scope(kSecondsToStop);
  ProgressLine progress(static_cast<int64_t>(remedies.size()), "remedies", show);
  const Diagnosis diagnosis = DiagnoseRounds(
      plan.versions > kRemedyRounds ? shorter : plan, remedies,
      [&](const Remedy& remedy, const PlanRemedy& change) {
        Plan changed = RunPlan(networks, change, {}, &stop);
        progress.Advance(remedy.change);
        return changed;
      },
      stop);
  progress.Clear();
  if (stop != 0) return;
  page.tables.push_back(RemedyTable(diagnosis));
  PrintTables({page.tables.back()}, command.markdown);
  const std::string verdict = RoundsVerdict(diagnosis);
  Print(verdict + "\n\n");
  page.verdict += "\n" + verdict;
}

}  // namespace

int RunPlanCommand(const PlanCommand& command, const StopFlag& stop) {
  const PlanRequest request = ParsePlan(command.options);
  CheckPlanCommand(command, request);
  PrepareFolder(command.out);
  const bool show = !command.quiet && isatty(STDERR_FILENO) != 0;
  PlanNetworks networks(request);
  const Plan plan = RunWithProgress(networks, show, stop);
  Print(Summary(request, plan));
  for (const std::string& assumption : request.Assumptions()) Print(assumption + "\n");
  Print("\n");
  analysis::RunParts page = PartsOf(command, request, plan);
  if (!plan.rounds.empty()) ReportRounds(command, request, plan, page);
  if (!command.out.empty()) WriteFiles(command, request, plan);
  if (command.remedies && plan.versions > 0 && !plan.interrupted) {
    ReportRemedies(command, networks, plan, show, stop, page);
  }
  const bool has_page =
      !command.out.empty() && analysis::WritePartsPage(command.out, TitleOf(request, plan), page);
  if (plan.interrupted || stop != 0) return kInterrupted;
  if (!plan.stop.empty()) {
    std::fprintf(stderr, "legacy-federated: stopped: %s\n", plan.stop.c_str());
    return kStoppedEarly;
  }
  if (DrawsGantt(command, plan)) Print("picture: " + command.out + "/gantt.svg\n");
  if (has_page) Print("page: " + command.out + "/index.html\n");
  Print("next: " + AdviceOn(command.options.federated) + "\n");
  return 0;
}

int RunPopulationCommand(const PopulationCommand& command) {
  CheckOutput(command.csv, "--csv");
  CheckOutput(command.svg, "--svg");
  const fabric::Population population = ParsePopulation(command.options);
  const PopulationView view =
      ViewPopulation(population, command.options.federated.availability, command.options.seed);
  if (command.csv != "-") {
    Print(fmt::format("{} clients in {} groups", view.clients, view.groups.size()));
    Print(view.looked_at < view.clients
              ? fmt::format("; figures are of {} of them, evenly chosen\n\n", view.looked_at)
              : "\n\n");
    PrintTables(PopulationTables(view), command.markdown);
  }
  if (!command.csv.empty()) WriteOutput(command.csv, PopulationCsv(population));
  if (!command.svg.empty()) WriteOutput(command.svg, AvailabilitySvg(view));
  return 0;
}

}  // namespace legacy
