// A study is one grid of points, each a policy with a seed on a network, with their results. These
// are the tables of the study's database; docs/studies.md describes them. Columns() names the
// columns once, as in rows.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "base/metric.h"

namespace legacy::analysis {

// Format 2 had accuracy alone.
inline constexpr int kStudyFormat = 3;

// Placeholder in Columns() for the unit of the metric that is shown (ShownMetric).
inline constexpr const char* kMetricUnit = "metric";

// A StudyAxis is one dimension of the grid, besides policy and seed.
struct StudyAxis {
  std::string name;  // name of its column in the database: [a-z][a-z0-9_]*, "bandwidth"
  std::string unit;  // unit of the numbers: "bit/s", "s", "B", "fraction" or ""
  std::vector<std::string> values;  // values as texts, in the grid's order, each once
  std::vector<double> numbers;      // numbers of the values; empty: the values are names
};

enum class StudyState { kPending, kDone, kFailed };
const char* StateText(StudyState state);  // "pending", "done" or "failed"

// A StudyTraining is one training of the study: a policy, a seed and all options that affect the
// model.
struct StudyTraining {
  std::string id;  // hash of its options; the folder trainings/<id> has its run directory
  std::string policy;
  uint64_t seed = 0;
  // Reason why it serves one point alone; "": it is replayed on the networks of all its points.
  std::string replay_refused;
  StudyState state = StudyState::kPending;
  std::string message;        // message of a failed training
  std::string configuration;  // scenario that was trained, JSON
};

// Results of a point. Seconds are simulated. Bytes and the parts of a step are means over the
// workers.
struct PointFigures {
  int64_t workers = 0;
  int64_t steps = 0;
  // Nothing: not reached within simulated_seconds (censored).
  std::optional<double> time_to_target;
  std::optional<int64_t> steps_to_target;  // number of steps done at that time
  double simulated_seconds = 0;            // duration of the whole training
  double final_metric = 0;  // value of the metric at the last evaluation, and the best one
  double best_metric = 0;
  double message_bytes = 0;  // payload that one worker encodes, over the training
  double nic_bytes = 0;      // payload that leaves one worker's NIC, over the training
  double element_ratio = 0;  // log element, payload and traffic ratio against dense fp32
  double payload_ratio = 0;
  double traffic_ratio = 0;
  double step_seconds = 0;  // mean of a step; its parts follow
  double compute_seconds = 0;
  double encode_seconds = 0;
  double communication_seconds = 0;
  double decode_seconds = 0;
  double wait_seconds = 0;
  // Mean of a step by the textbook: compute, encode and decode, then each collective's alpha-beta
  // time, without overlap.
  double alpha_beta_step_seconds = 0;
  std::optional<double> egress_usd;  // price of the whole training, where the topology has prices
  std::optional<int64_t> decisions;  // number of decisions, where the policy decides
  std::string fidelity;
  int64_t events = 0;
  int64_t packets = 0;
  int64_t fresh_steps = 0;
  int64_t memoised_steps = 0;
  int64_t retransmit_timeouts = 0;
  std::string busiest_link;  // "from>to", the link with the highest mean utilisation
  double busiest_utilisation = 0;
  RoceFigures roce = {};

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("workers_trained", "", row.workers);
    visit("steps", "", row.steps);
    visit("time_to_target", "s", row.time_to_target);
    visit("steps_to_target", "", row.steps_to_target);
    visit("simulated_seconds", "s", row.simulated_seconds);
    visit("final_metric", kMetricUnit, row.final_metric);
    visit("best_metric", kMetricUnit, row.best_metric);
    visit("message_bytes", "B", row.message_bytes);
    visit("nic_bytes", "B", row.nic_bytes);
    visit("element_ratio", "", row.element_ratio);
    visit("payload_ratio", "", row.payload_ratio);
    visit("traffic_ratio", "", row.traffic_ratio);
    visit("step_seconds", "s", row.step_seconds);
    visit("compute_seconds", "s", row.compute_seconds);
    visit("encode_seconds", "s", row.encode_seconds);
    visit("communication_seconds", "s", row.communication_seconds);
    visit("decode_seconds", "s", row.decode_seconds);
    visit("wait_seconds", "s", row.wait_seconds);
    visit("alpha_beta_step_seconds", "s", row.alpha_beta_step_seconds);
    visit("egress_usd", "USD", row.egress_usd);
    visit("decisions", "", row.decisions);
    visit("fidelity_used", "", row.fidelity);
    visit("events", "", row.events);
    visit("packets", "", row.packets);
    visit("fresh_steps", "", row.fresh_steps);
    visit("memoised_steps", "", row.memoised_steps);
    visit("retransmit_timeouts", "", row.retransmit_timeouts);
    visit("busiest_link", "", row.busiest_link);
    visit("busiest_utilisation", "fraction", row.busiest_utilisation);
    RoceFigures::Columns(row.roce, visit);
  }
};

// A CurveRow is one evaluation of a point. Counts are cumulative from the start of the training.
struct CurveRow {
  int64_t step = 0;
  double simulated_seconds = 0;
  double message_bytes = 0;
  double nic_bytes = 0;
  double test_loss = 0;
  std::vector<double> metrics = {};  // values of the study's metrics; nan: not known

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("step", "", row.step);
    visit("simulated_seconds", "s", row.simulated_seconds);
    visit("message_bytes", "B", row.message_bytes);
    visit("nic_bytes", "B", row.nic_bytes);
    visit("test_loss", "", row.test_loss);
    visit("test_", "", row.metrics);
  }
};

struct StudyPoint {
  int64_t id = 0;  // number from 0, in the grid's order
  std::string policy;
  uint64_t seed = 0;
  std::vector<std::string> values;  // one for each axis
  std::string training;             // StudyTraining::id
  StudyState state = StudyState::kPending;
  std::string message;          // message of a failed point
  PointFigures figures;         // figures of a done point
  std::vector<CurveRow> curve;  // curve of a done point
};

struct Study {
  std::string name;
  std::string title;
  std::string definition;             // text of the YAML file
  std::string baseline;               // policy that the others are compared with
  std::vector<Metric> metrics;        // metrics of the curves; empty: nothing is trained
  std::optional<Target> target;       // target of one of them, which it names
  std::vector<std::string> policies;  // policies in order
  std::vector<uint64_t> seeds;
  std::vector<StudyAxis> axes;
  std::vector<StudyTraining> trainings;
  std::vector<StudyPoint> points;  // ascending, points[i].id == i
  // Lines of its journals that could not be used. They are not in the database.
  std::vector<std::string> notes;
};

// Returns the position among the metrics of the one that figures are of: the target's, else the
// first.
size_t ShownPosition(const Study& study);
// Returns that metric. Its name is "" where nothing is trained.
Metric ShownMetric(const Study& study);

}  // namespace legacy::analysis
