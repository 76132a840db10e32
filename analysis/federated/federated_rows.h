// Rows of federated runs and plans, with their columns as in rows.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace legacy::analysis {

// One version of the model, or a round that made none. Its tasks are those that ended in it.
struct RoundRow {
  static constexpr const char* kFile = "rounds.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t version = 0;  // number of the version that it made, or should have made, from 1
  double start = 0;     // simulated seconds, as all times here
  double end = 0;
  int64_t wanted = 0;   // updates that make a version
  int64_t started = 0;  // tasks dispatched
  int64_t counted = 0;  // updates in the version
  int64_t late = 0;     // cut off by the deadline
  int64_t lost = 0;
  int64_t interrupted = 0;  // the client became unavailable
  int64_t cancelled = 0;    // enough others had arrived
  int64_t stale = 0;        // older than the server accepts
  int64_t unavailable = 0;  // idle clients that were not available when clients were chosen
  int64_t down_bytes = 0;   // on the wire, ACKs left out
  int64_t up_bytes = 0;
  double staleness_mean = 0;
  int64_t staleness_max = 0;
  double usd = 0;         // of transfers and their ACKs
  double usd_hours = 0;   // of hours of clients
  bool extended = false;  // true where it continued after its deadline
  // Mean loss of the counted tasks; nothing where nothing is trained.
  std::optional<double> selected_loss = {};
  double client_seconds = 0;  // of all its tasks, each from dispatch to end
  // Client and times of the critical task, whose arrival made the version; nothing where no update
  // was counted.
  std::optional<int64_t> critical_client = {};
  std::optional<double> critical_dispatched = {};
  std::optional<double> critical_downloaded = {};
  std::optional<double> critical_worked = {};
  std::optional<double> critical_uploaded = {};
  // Clients that hold residuals at the version, and means over them: versions since the one that
  // the update started from whose rest they hold, and L2 norms. Nothing where no client holds any.
  std::optional<int64_t> residuals = {};
  std::optional<double> residual_age = {};
  std::optional<double> residual_norm = {};

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("version", "", row.version);
    visit("start", "s", row.start);
    visit("end", "s", row.end);
    visit("wanted", "", row.wanted);
    visit("started", "", row.started);
    visit("counted", "", row.counted);
    visit("late", "", row.late);
    visit("lost", "", row.lost);
    visit("interrupted", "", row.interrupted);
    visit("cancelled", "", row.cancelled);
    visit("stale", "", row.stale);
    visit("unavailable", "", row.unavailable);
    visit("down_bytes", "B", row.down_bytes);
    visit("up_bytes", "B", row.up_bytes);
    visit("staleness_mean", "", row.staleness_mean);
    visit("staleness_max", "", row.staleness_max);
    visit("usd", "USD", row.usd);
    visit("usd_hours", "USD", row.usd_hours);
    visit("extended", "", row.extended);
    visit("selected_loss", "", row.selected_loss);
    visit("client_seconds", "s", row.client_seconds);
    visit("critical_client", "", row.critical_client);
    visit("critical_dispatched", "s", row.critical_dispatched);
    visit("critical_downloaded", "s", row.critical_downloaded);
    visit("critical_worked", "s", row.critical_worked);
    visit("critical_uploaded", "s", row.critical_uploaded);
    visit("residuals", "", row.residuals);
    visit("residual_age", "", row.residual_age);
    visit("residual_norm", "", row.residual_norm);
  }
};

// One task of one client. Cells of times that it did not come to are empty.
struct TaskRow {
  static constexpr const char* kFile = "tasks.csv";
  std::string policy;
  uint64_t seed = 0;
  uint64_t id = 0;
  int64_t client = 0;
  int64_t base_version = 0;
  double dispatched = 0;
  std::optional<double> downloaded = {};
  std::optional<double> worked = {};
  std::optional<double> uploaded = {};
  double ended = 0;
  std::string end;  // counted, late, lost, interrupted, cancelled, stale
  int64_t local_steps = 0;
  int64_t samples = 0;
  int64_t message_bytes = 0;
  std::optional<int64_t> staleness = {};  // of an update that arrived: versions since its base

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("id", "", row.id);
    visit("client", "", row.client);
    visit("base_version", "", row.base_version);
    visit("dispatched", "s", row.dispatched);
    visit("downloaded", "s", row.downloaded);
    visit("worked", "s", row.worked);
    visit("uploaded", "s", row.uploaded);
    visit("ended", "s", row.ended);
    visit("end", "", row.end);
    visit("local_steps", "", row.local_steps);
    visit("samples", "", row.samples);
    visit("message_bytes", "B", row.message_bytes);
    visit("staleness", "", row.staleness);
  }
};

// One client.
struct ClientRow {
  static constexpr const char* kFile = "clients.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t client = 0;
  std::string group;
  std::string region;
  int64_t samples = 0;
  int64_t labels = 0;  // present in its data; 0 where nothing is trained
  double slowdown = 1;
  int64_t down = 0;  // rates of the access line; with a schedule, their means
  int64_t up = 0;
  int64_t tasks = 0;
  int64_t counted = 0;
  double busy_seconds = 0;  // from dispatch to end
  int64_t up_bytes = 0;     // on the wire, ACKs left out
  int64_t down_bytes = 0;
  double usd = 0;
  std::optional<int64_t> last_staleness = {};  // nothing: no update was counted
  int64_t expected_steps = 0;    // local steps of a first task; 0 where work is a number of seconds
  double predicted_seconds = 0;  // duration of that task at mean rates, were no line shared
  // Part of it that handshakes and slow start take. Nothing where it leaves them out, as in files
  // of earlier versions.
  std::optional<double> opening_seconds = {};

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("client", "", row.client);
    visit("group", "", row.group);
    visit("region", "", row.region);
    visit("samples", "", row.samples);
    visit("labels", "", row.labels);
    visit("slowdown", "", row.slowdown);
    visit("down", "bit/s", row.down);
    visit("up", "bit/s", row.up);
    visit("tasks", "", row.tasks);
    visit("counted", "", row.counted);
    visit("busy_seconds", "s", row.busy_seconds);
    visit("up_bytes", "B", row.up_bytes);
    visit("down_bytes", "B", row.down_bytes);
    visit("usd", "USD", row.usd);
    visit("last_staleness", "", row.last_staleness);
    visit("expected_steps", "", row.expected_steps);
    visit("predicted_seconds", "s", row.predicted_seconds);
    visit("opening_seconds", "s", row.opening_seconds);
  }
};

}  // namespace legacy::analysis
