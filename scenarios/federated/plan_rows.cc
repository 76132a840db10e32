#include "scenarios/federated/plan_rows.h"

namespace legacy {
namespace {
using fabric::TaskFate;

// Returns nothing for a stage that the task did not reach.
std::optional<double> TimeCell(TimeNs time) {
  if (time == kNever) return std::nullopt;
  return InSeconds(time);
}

}  // namespace

int64_t LocalSteps(const ClientWork& work, int64_t samples) {
  if (work.step_seconds.empty()) return 0;
  return work.local_steps > 0 ? work.local_steps : (samples + work.batch - 1) / work.batch;
}

analysis::RoundRow RowOf(const PlannedRound& round) {
  const fabric::RoundRow& from = round.row;
  const auto fate = [&](TaskFate which) { return from.fates[static_cast<size_t>(which)]; };
  analysis::RoundRow row;
  row.version = from.version;
  row.start = InSeconds(from.start);
  row.end = InSeconds(from.end);
  row.wanted = from.wanted;
  row.started = from.started;
  row.counted = fate(TaskFate::Counted);
  row.late = fate(TaskFate::Late);
  row.lost = fate(TaskFate::Lost);
  row.interrupted = fate(TaskFate::Interrupted);
  row.cancelled = fate(TaskFate::Cancelled);
  row.stale = fate(TaskFate::Stale);
  row.unavailable = from.unavailable;
  row.down_bytes = round.wire_down;
  row.up_bytes = round.wire_up;
  row.staleness_mean = from.stalenessMean;
  row.staleness_max = from.stalenessMax;
  row.usd = round.cost.usd_down + round.cost.usd_up;
  row.usd_hours = round.cost.usd_hours;
  row.extended = from.extended;
  row.client_seconds = round.client_seconds;
  if (from.critical) {
    row.critical_client = from.critical->client;
    row.critical_dispatched = InSeconds(from.critical->times.dispatched);
    row.critical_downloaded = InSeconds(from.critical->times.downloaded);
    row.critical_worked = InSeconds(from.critical->times.worked);
    row.critical_uploaded = InSeconds(from.critical->times.ended);
  }
  return row;
}

analysis::TaskRow RowOf(const fabric::TaskRow& task, const TaskFigures& figures) {
  analysis::TaskRow row;
  row.id = task.id;
  row.client = task.client;
  row.base_version = task.baseVersion;
  row.dispatched = InSeconds(task.times.dispatched);
  row.downloaded = TimeCell(task.times.downloaded);
  row.worked = TimeCell(task.times.worked);
  const bool uploaded = task.fate == TaskFate::Counted || task.fate == TaskFate::Stale;
  if (uploaded) {
    row.uploaded = TimeCell(task.times.ended);
    row.staleness = task.staleness;
  }
  row.ended = InSeconds(task.times.ended);
  row.end = fabric::NameOf(task.fate);
  row.local_steps = figures.local_steps;
  row.samples = figures.samples;
  row.message_bytes = std::max<int64_t>(0, task.work.upBytes);
  return row;
}

analysis::ClientRow RowOf(const PlanRequest& request, const Plan& plan, int64_t number) {
  const auto rate = [](const fabric::Port& port) {
    return port.schedule ? port.schedule->MeanRate() : port.rateBps;
  };
  const ClientTotals& totals = plan.clients.at(static_cast<size_t>(number));
  const fabric::Client client = request.population.At(number);
  analysis::ClientRow row;
  row.client = client.number;
  row.group = request.population.Groups()[client.group].name;
  row.region = *client.region;
  row.samples = client.samples;
  row.slowdown = client.slowdown;
  row.down = rate(client.down);
  row.up = rate(client.up);
  row.tasks = totals.tasks;
  row.counted = totals.counted;
  row.busy_seconds = totals.busy_seconds;
  row.up_bytes = totals.wire_up;
  row.down_bytes = totals.wire_down;
  row.usd = totals.usd;
  if (totals.last_staleness >= 0) row.last_staleness = totals.last_staleness;
  row.expected_steps = LocalSteps(request.work, client.samples);
  if (!plan.predicted.empty()) {
    row.predicted_seconds = plan.predicted[static_cast<size_t>(number)];
    row.opening_seconds = plan.opening[static_cast<size_t>(number)];
  }
  return row;
}

}  // namespace legacy
