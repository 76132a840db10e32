// A study: one grid of points, each a policy with a seed on a network, and what came out of each.
// These are the tables of the study's database; docs/studies.md describes them. Columns() names the
// columns once, as in rows.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace legacy::analysis {

inline constexpr int kStudyFormat = 2;

// One dimension of the grid, besides policy and seed.
struct StudyAxis {
  std::string name;                 // column of the database: [a-z][a-z0-9_]*, "bandwidth"
  std::string unit;                 // of the numbers: "bit/s", "s", "B", "fraction" or ""
  std::vector<std::string> values;  // as texts, in the grid's order, each once
  std::vector<double> numbers;      // of the values; empty: the values are names
};

enum class StudyState { kPending, kDone, kFailed };
const char* StateText(StudyState state);  // pending | done | failed

// One training of the study: a policy, a seed and everything that shapes the model's course.
struct StudyTraining {
  std::string id;  // hash of its options; the folder trainings/<id> has its run directory
  std::string policy;
  uint64_t seed = 0;
  // why it serves one point alone; "": it is replayed on all its points' networks
  std::string replay_refused;
  StudyState state = StudyState::kPending;
  std::string message;        // of a failed one
  std::string configuration;  // the scenario that was trained, JSON
};

// What came out of a point. Seconds are simulated; bytes and the parts of a step are means over the
// workers.
struct PointFigures {
  int64_t workers = 0;
  int64_t steps = 0;
  std::optional<double> time_to_accuracy;    // nothing: not reached in simulated_seconds (censored)
  std::optional<int64_t> steps_to_accuracy;  // steps done at that time
  double simulated_seconds = 0;              // of the whole training
  double final_accuracy = 0;                 // fraction
  double best_accuracy = 0;
  double message_bytes = 0;  // payload that one worker encodes, over the training
  double nic_bytes = 0;      // payload that leaves one worker's network card, over the training
  double element_ratio = 0;  // log element, payload and traffic ratio against dense fp32
  double payload_ratio = 0;
  double traffic_ratio = 0;
  double step_seconds = 0;  // mean of a step, and its parts
  double compute_seconds = 0;
  double encode_seconds = 0;
  double communication_seconds = 0;
  double decode_seconds = 0;
  double wait_seconds = 0;
  // mean of a step by the textbook: compute, encode and decode, then each collective's alpha-beta
  // time, nothing overlapped
  double alpha_beta_step_seconds = 0;
  std::optional<double> egress_usd;  // of the whole training, where the topology has prices
  std::optional<int64_t> decisions;  // that the policy made, where it is one that decides
  std::string fidelity;
  int64_t events = 0;
  int64_t packets = 0;
  int64_t fresh_steps = 0;
  int64_t memoised_steps = 0;
  int64_t retransmit_timeouts = 0;
  std::string busiest_link;  // "from>to", by mean utilisation
  double busiest_utilisation = 0;

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("workers_trained", "", row.workers);
    visit("steps", "", row.steps);
    visit("time_to_accuracy", "s", row.time_to_accuracy);
    visit("steps_to_accuracy", "", row.steps_to_accuracy);
    visit("simulated_seconds", "s", row.simulated_seconds);
    visit("final_accuracy", "fraction", row.final_accuracy);
    visit("best_accuracy", "fraction", row.best_accuracy);
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
  }
};

// One evaluation of a point; counts are cumulative from the start of the training.
struct CurveRow {
  int64_t step = 0;
  double simulated_seconds = 0;
  double message_bytes = 0;
  double nic_bytes = 0;
  double test_loss = 0;
  double test_accuracy = 0;  // fraction

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("step", "", row.step);
    visit("simulated_seconds", "s", row.simulated_seconds);
    visit("message_bytes", "B", row.message_bytes);
    visit("nic_bytes", "B", row.nic_bytes);
    visit("test_loss", "", row.test_loss);
    visit("test_accuracy", "fraction", row.test_accuracy);
  }
};

struct StudyPoint {
  int64_t id = 0;  // from 0, in the grid's order
  std::string policy;
  uint64_t seed = 0;
  std::vector<std::string> values;  // one for each axis
  std::string training;             // StudyTraining::id
  StudyState state = StudyState::kPending;
  std::string message;          // of a failed one
  PointFigures figures;         // of a done one
  std::vector<CurveRow> curve;  // of a done one
};

struct Study {
  std::string name;
  std::string title;
  std::string definition;             // the YAML text
  std::string baseline;               // policy that the others are compared with
  std::optional<double> target;       // accuracy, fraction
  std::vector<std::string> policies;  // in order
  std::vector<uint64_t> seeds;
  std::vector<StudyAxis> axes;
  std::vector<StudyTraining> trainings;
  std::vector<StudyPoint> points;  // ascending, points[i].id == i
  std::vector<std::string> notes;  // what of its journals could not be used; not in the database
};

// Position of an axis; throws Error with the list where there is none of that name.
size_t AxisIndex(const Study& study, const std::string& name);

}  // namespace legacy::analysis
