#include "scenarios/network/jobs/jobs_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/table_text.h"
#include "base/units.h"
#include "scenarios/network/measure.h"

namespace legacy {
namespace {

// Returns the times of the repetitions.
std::vector<TimeNs> Repetitions(const JobTiming& timing) {
  std::vector<TimeNs> times;
  TimeNs before = timing.start;
  for (const TimeNs end : timing.ends) {
    times.push_back(end - before);
    before = end;
  }
  return times;
}

int64_t LargestMessage(const Experiment& e) {
  return *std::max_element(e.bytes.begin(), e.bytes.end());
}

// Returns "host0" to "host3, ...".
std::string HostsText(const PlacedJob& job) {
  const Network& network = *job.network;
  std::string text;
  for (const int host : network.placement.hosts) {
    text += (text.empty() ? "" : " ") + network.topology.NodeName(host);
  }
  return text;
}

}  // namespace

std::vector<Row> JobsRows(const PreparedJobs& prepared,
                          const std::vector<JobsMeasurement>& measurements) {
  std::vector<Row> rows;
  for (const JobsMeasurement& m : measurements) {
    for (size_t j = 0; j < prepared.jobs.size(); ++j) {
      const PlacedJob& job = prepared.jobs[j];
      const Experiment& e = job.request.experiment;
      const std::vector<TimeNs> repetitions = Repetitions(m.together[j]);
      const auto [least, most] = std::minmax_element(repetitions.begin(), repetitions.end());
      Row row;
      row["fidelity"] = NameOf(m.fidelity);
      row["job"] = job.request.name;
      row["collective"] = fabric::ToString(*e.algorithm);
      row["workers"] = e.Workers();
      row["bytes"] = LargestMessage(e);
      row["hosts"] = HostsText(job);
      row["repetitions"] = e.options.repeat;
      row["start_seconds"] = InSeconds(m.together[j].start);
      row["end_seconds"] = InSeconds(m.together[j].ends.back());
      row["alone_seconds"] = InSeconds(m.alone[j].Time());
      row["together_seconds"] = InSeconds(m.together[j].Time());
      row["slowdown"] = m.Slowdown(j);
      row["repetition_min_seconds"] = InSeconds(*least);
      row["repetition_mean_seconds"] =
          InSeconds(m.together[j].Time()) / static_cast<double>(repetitions.size());
      row["repetition_max_seconds"] = InSeconds(*most);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string JobsTable(const PreparedJobs& prepared,
                      const std::vector<JobsMeasurement>& measurements, size_t columns) {
  const Network& network = *prepared.network;
  const fabric::Transport& transport = network.request.transport;
  std::string text = fmt::format("{} jobs\n{} ({} hosts); {} transport, {}\n", prepared.jobs.size(),
                                 network.topology.Name(), network.topology.Hosts().size(),
                                 transport.preset, fabric::ToString(transport.connections));
  for (const JobsMeasurement& m : measurements) {
    analysis::Table table;
    table.title =
        fmt::format("{} fidelity, {:.2f} s of wall time", NameOf(m.fidelity), m.wall_seconds);
    table.header = {"job",   "collective", "workers",  "bytes",     "times",
                    "start", "alone",      "together", "slow-down", "one mean"};
    for (size_t j = 0; j < prepared.jobs.size(); ++j) {
      const Experiment& e = prepared.jobs[j].request.experiment;
      const JobTiming& together = m.together[j];
      table.rows.push_back(
          {prepared.jobs[j].request.name, fabric::ToString(*e.algorithm),
           std::to_string(e.Workers()), FormatBytes(LargestMessage(e)),
           std::to_string(e.options.repeat), FormatTime(together.start),
           FormatTime(m.alone[j].Time()), FormatTime(together.Time()),
           fmt::format("{:.3f}", m.Slowdown(j)),
           FormatTime(together.Time() / static_cast<TimeNs>(together.ends.size()))});
    }
    text += "\n" + analysis::RenderText(std::move(table), columns);
  }
  if (!prepared.fidelity_reason.empty()) text += prepared.fidelity_reason + "\n";
  return Wrapped(text, columns, 2);
}

}  // namespace legacy
