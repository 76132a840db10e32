#include "scenarios/network/jobs/jobs_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "analysis/table_text.h"
#include "base/units.h"
#include "scenarios/network/fidelity.h"

namespace legacy {
namespace {

using analysis::Table;

constexpr const char* kDeviceStream = "compute";  // the stream in which devices run

// Returns the times of the steps.
std::vector<TimeNs> TimesOfSteps(const JobTiming& timing) {
  std::vector<TimeNs> times;
  TimeNs before = timing.start;
  for (const TimeNs end : timing.ends) {
    times.push_back(end - before);
    before = end;
  }
  return times;
}

std::string MeanText(const JobTiming& timing) { return FormatTime(RoundedTime(timing.Mean())); }

// Returns the bytes of a worker's messages in a step.
int64_t BytesOf(const PlacedJob& job, size_t method) {
  return std::llround(job.steps[method].bytes);
}

// Returns "host0 host1 ...".
std::string HostsText(const PlacedJob& job) {
  const Network& network = *job.network;
  std::string text;
  for (const int host : network.placement.hosts) {
    text += (text.empty() ? "" : " ") + network.topology.NodeName(host);
  }
  return text;
}

bool AnyMethods(const PreparedJobs& prepared) {
  return std::ranges::any_of(prepared.jobs,
                             [](const PlacedJob& job) { return !job.methods.front().empty(); });
}

// Returns "a: topk@1%, b: dense", of the jobs that have several methods; "" where none has.
std::string CaseText(const PreparedJobs& prepared, const std::vector<size_t>& methods) {
  std::string text;
  for (size_t j = 0; j < methods.size(); ++j) {
    const PlacedJob& job = prepared.jobs[j];
    if (job.methods.size() < 2) continue;
    text += (text.empty() ? "" : ", ") + job.request.name + ": " + job.methods[methods[j]];
  }
  return text;
}

// Returns the streams of all jobs in which something travels, each once.
std::vector<std::string> StreamsOf(const PreparedJobs& prepared) {
  std::vector<std::string> streams;
  for (const PlacedJob& job : prepared.jobs) {
    for (const std::string& stream : job.streams) {
      if (stream != kDeviceStream && std::ranges::count(streams, stream) == 0)
        streams.push_back(stream);
    }
  }
  return streams;
}

// Returns the mean exposed time of a job's steps in a stream, in nanoseconds; null where it has no
// such stream.
Row ExposedSeconds(const PlacedJob& job, const JobTiming& timing, const std::string& stream) {
  const auto found = std::ranges::find(job.streams, stream);
  if (found == job.streams.end()) return nullptr;
  return 1e-9 * timing.MeanExposed()[static_cast<size_t>(found - job.streams.begin())];
}

Row RowOf(const PreparedJobs& prepared, const JobsMeasurement& m, size_t j,
          const std::vector<std::string>& streams) {
  const PlacedJob& job = prepared.jobs[j];
  const JobTiming& together = m.together[j];
  const std::vector<TimeNs> times = TimesOfSteps(together);
  const auto [least, most] = std::ranges::minmax(times);
  Row row;
  row["fidelity"] = NameOf(m.fidelity);
  row["job"] = job.request.name;
  row["work"] = job.request.work->Name();
  row["method"] = job.methods[m.methods[j]];
  if (m.offset) row["offset"] = *m.offset;
  row["workers"] = job.network->placement.Workers();
  row["bytes"] = BytesOf(job, m.methods[j]);
  row["hosts"] = HostsText(job);
  row["repetitions"] = std::ssize(together.ends);
  row["start_seconds"] = InSeconds(together.start);
  row["end_seconds"] = InSeconds(together.ends.back());
  row["alone_seconds"] = InSeconds(m.alone[j].Time());
  row["together_seconds"] = InSeconds(together.Time());
  row["slowdown"] = m.Slowdown(j);
  row["repetition_alone_seconds"] = 1e-9 * m.alone[j].Mean();
  row["repetition_min_seconds"] = InSeconds(least);
  row["repetition_mean_seconds"] =
      InSeconds(together.Time()) / static_cast<double>(together.ends.size());
  row["repetition_max_seconds"] = InSeconds(most);
  row["repetition_last_seconds"] = InSeconds(together.Last());
  for (const std::string& stream : streams) {
    row["exposed_" + stream + "_alone_seconds"] = ExposedSeconds(job, m.alone[j], stream);
    row["exposed_" + stream + "_together_seconds"] = ExposedSeconds(job, together, stream);
  }
  for (size_t other = 0; other < m.without.size(); ++other) {
    const std::string key = "slowdown_by_" + prepared.jobs[other].request.name;
    row[key] = other == j ? Row(nullptr) : Row(m.SlowdownBy(j, other));
  }
  row["jain_fairness"] = m.Fairness();
  row["recurs_every_seconds"] =
      m.recurrence ? Row(InSeconds(m.recurrence->recurrence.period)) : Row(nullptr);
  return row;
}

// Returns the table of the jobs' times.
Table TimesTable(const PreparedJobs& prepared, const JobsMeasurement& m) {
  const bool methods = AnyMethods(prepared);
  Table table;
  table.title =
      fmt::format("{} fidelity, {:.2f} s of wall time", NameOf(m.fidelity), m.wall_seconds);
  table.header = {"job", "work"};
  if (methods) table.header.emplace_back("method");
  for (const char* column : {"workers", "bytes", "steps", "start", "alone", "together", "slow-down",
                             "one alone", "one mean", "one last"}) {
    table.header.emplace_back(column);
  }
  for (size_t j = 0; j < prepared.jobs.size(); ++j) {
    const PlacedJob& job = prepared.jobs[j];
    const JobTiming& together = m.together[j];
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {job.request.name, job.request.work->Name()};
    if (methods) row.push_back(job.methods[m.methods[j]]);
    row.insert(row.end(),
               {std::to_string(job.network->placement.Workers()),
                FormatBytes(BytesOf(job, m.methods[j])), std::to_string(together.ends.size()),
                FormatTime(together.start), FormatTime(m.alone[j].Time()),
                FormatTime(together.Time()), fmt::format("{:.3f}", m.Slowdown(j)),
                MeanText(m.alone[j]), MeanText(together), FormatTime(together.Last())});
  }
  return table;
}

// Returns the table of exposed times.
Table ExposedTable(const PreparedJobs& prepared, const JobsMeasurement& m) {
  Table table;
  table.title = "Exposed in a step: the device waits for what travels, mean of the workers";
  table.header = {"job", "stream", "alone", "together"};
  for (size_t j = 0; j < prepared.jobs.size(); ++j) {
    const PlacedJob& job = prepared.jobs[j];
    const std::vector<double> alone = m.alone[j].MeanExposed();
    const std::vector<double> together = m.together[j].MeanExposed();
    for (size_t s = 0; s < job.streams.size(); ++s) {
      if (job.streams[s] == kDeviceStream || (alone[s] == 0 && together[s] == 0)) continue;
      table.rows.push_back({job.request.name, job.streams[s], FormatTime(RoundedTime(alone[s])),
                            FormatTime(RoundedTime(together[s]))});
    }
  }
  return table;
}

// Returns the table of which job slows which.
Table PairsTable(const PreparedJobs& prepared, const JobsMeasurement& m) {
  Table table;
  table.title = "Slow-down by another job: the time together over that without the other";
  table.header = {"job"};
  for (const PlacedJob& job : prepared.jobs) table.header.push_back("by " + job.request.name);
  for (size_t j = 0; j < prepared.jobs.size(); ++j) {
    table.rows.push_back({prepared.jobs[j].request.name});
    for (size_t other = 0; other < prepared.jobs.size(); ++other) {
      table.rows.back().push_back(other == j ? "-" : fmt::format("{:.3f}", m.SlowdownBy(j, other)));
    }
  }
  return table;
}

// Returns what is said of a run besides its tables.
std::string Remarks(const PreparedJobs& prepared, const JobsMeasurement& m) {
  if (prepared.jobs.size() < 2) return "";
  std::string text = fmt::format(
      "fairness {:.4f}: Jain's index of the jobs' speeds, each over that alone\n", m.Fairness());
  if (!m.recurrence) return text;
  const Recurrence& recurrence = m.recurrence->recurrence;
  std::string steps;
  for (size_t j = 0; j < prepared.jobs.size(); ++j) {
    if (recurrence.steps[j] == 0) continue;
    steps += fmt::format("{}{} of {}", steps.empty() ? "" : ", ", recurrence.steps[j],
                         prepared.jobs[j].request.name);
  }
  text += fmt::format(
      "all recurs every {} (steps: {}), as was seen after {}; {} later steps are copies\n",
      FormatTime(recurrence.period), steps, FormatTime(m.recurrence->at), m.recurrence->skipped);
  return text;
}

// Returns the table of a line for each of several runs, which `label` names by a text, with the
// steps of each job; `gains` adds how many times faster they are than in the first line.
template <class Label>
Table LinesTable(const PreparedJobs& prepared, const std::vector<const JobsMeasurement*>& runs,
                 const std::string& title, const std::string& first, bool gains, Label label) {
  Table table;
  table.title = title;
  table.header = {first};
  for (const PlacedJob& job : prepared.jobs) {
    table.header.push_back(job.request.name + " step");
    table.header.push_back(gains ? "faster" : "slow-down");
  }
  table.header.emplace_back("fairness");
  for (const JobsMeasurement* m : runs) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(label(*m));
    for (size_t j = 0; j < prepared.jobs.size(); ++j) {
      const double step = m->together[j].Mean();
      row.push_back(MeanText(m->together[j]));
      row.push_back(gains ? fmt::format("{:.3g}x", runs.front()->together[j].Mean() / step)
                          : fmt::format("{:.3f}", m->Slowdown(j)));
    }
    row.push_back(fmt::format("{:.4f}", m->Fairness()));
  }
  return table;
}

// Returns the tables of one fidelity.
std::string TextOf(const PreparedJobs& prepared, const std::vector<const JobsMeasurement*>& runs,
                   size_t columns) {
  std::string text;
  const auto add = [&](Table table) {
    if (!table.rows.empty()) text += "\n" + analysis::RenderText(std::move(table), columns);
  };
  std::vector<const JobsMeasurement*> firsts;  // of each combination of methods
  for (auto run = runs.begin(); run != runs.end();) {
    const auto end = std::find_if(
        run, runs.end(), [&](const auto* other) { return other->methods != (*run)->methods; });
    firsts.push_back(*run);
    const std::string methods = CaseText(prepared, (*run)->methods);
    if (!methods.empty()) text += "\n" + methods + "\n";
    if ((*run)->offset) {
      add(LinesTable(prepared, {run, end},
                     fmt::format("{} fidelity: starts apart by parts of {}'s step alone, {}",
                                 NameOf((*run)->fidelity), prepared.jobs.front().request.name,
                                 MeanText((*run)->alone.front())),
                     "offset", false,
                     [](const JobsMeasurement& m) { return fmt::format("{:.4g}", *m.offset); }));
    } else {
      add(TimesTable(prepared, **run));
      add(ExposedTable(prepared, **run));
      if (!(*run)->without.empty()) add(PairsTable(prepared, **run));
      text += Remarks(prepared, **run);
    }
    run = end;
  }
  if (firsts.size() > 1) {
    add(LinesTable(prepared, firsts,
                   fmt::format("{} fidelity: steps together by methods, and how many times faster "
                               "than in the first line",
                               NameOf(firsts.front()->fidelity)),
                   "methods", true,
                   [&](const JobsMeasurement& m) { return CaseText(prepared, m.methods); }));
  }
  return text;
}

}  // namespace

std::vector<Row> JobsRows(const PreparedJobs& prepared,
                          const std::vector<JobsMeasurement>& measurements) {
  const std::vector<std::string> streams = StreamsOf(prepared);
  std::vector<Row> rows;
  for (const JobsMeasurement& m : measurements) {
    for (size_t j = 0; j < prepared.jobs.size(); ++j)
      rows.push_back(RowOf(prepared, m, j, streams));
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
  for (const Fidelity fidelity : prepared.fidelities) {
    std::vector<const JobsMeasurement*> runs;
    for (const JobsMeasurement& m : measurements) {
      if (m.fidelity == fidelity) runs.push_back(&m);
    }
    text += TextOf(prepared, runs, columns);
  }
  if (!prepared.fidelity_reason.empty()) text += prepared.fidelity_reason + "\n";
  return Wrapped(text, columns, 2);
}

}  // namespace legacy
