// The rows of the run directory's CSV files, one type a file. Columns() names the columns once, for
// the header, the writer and the reader: visit(column, unit, member), where the unit is "" for
// names, counts and plain numbers.
#pragma once

#include <cstdint>
#include <string>

namespace legacy::analysis {

// One training step of one policy and seed. Byte and element counts are means over the workers.
struct StepRow {
  static constexpr const char* kFile = "steps.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;  // from 0
  double learning_rate = 0;
  double training_loss = 0;    // may be nan or inf: a training that diverged
  double elements_sent = 0;    // values that one worker sends
  double message_bytes = 0;    // payload that one worker encodes, headers of messages included
  double nic_bytes = 0;        // payload that leaves one worker's network card
  double dense_nic_bytes = 0;  // the same for the dense fp32 ring all-reduce
  double step_seconds = 0;     // whole step; simulated, as all seconds here
  double compute_seconds = 0;  // forward and backward
  double encode_seconds = 0;
  double communication_seconds = 0;
  double decode_seconds = 0;
  double wait_seconds = 0;  // for slower workers
  // The textbook's: computing, coding and each collective's alpha-beta time, one after the other
  double alpha_beta_seconds = 0;
  int64_t participants = 0;      // workers whose gradients counted
  double simulated_seconds = 0;  // at the end of the step, from the start of the training
  bool fresh = true;             // simulated, not remembered

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("step", "", row.step);
    visit("learning_rate", "", row.learning_rate);
    visit("training_loss", "", row.training_loss);
    visit("elements_sent", "", row.elements_sent);
    visit("message_bytes", "B", row.message_bytes);
    visit("nic_bytes", "B", row.nic_bytes);
    visit("dense_nic_bytes", "B", row.dense_nic_bytes);
    visit("step_seconds", "s", row.step_seconds);
    visit("compute_seconds", "s", row.compute_seconds);
    visit("encode_seconds", "s", row.encode_seconds);
    visit("communication_seconds", "s", row.communication_seconds);
    visit("decode_seconds", "s", row.decode_seconds);
    visit("wait_seconds", "s", row.wait_seconds);
    visit("alpha_beta_seconds", "s", row.alpha_beta_seconds);
    visit("participants", "", row.participants);
    visit("simulated_seconds", "s", row.simulated_seconds);
    visit("fresh", "", row.fresh);
  }
};

// One evaluation on the test set; counts are cumulative from the start of the training.
struct EvaluationRow {
  static constexpr const char* kFile = "evaluations.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;  // steps done before the evaluation
  double simulated_seconds = 0;
  double message_bytes = 0;
  double nic_bytes = 0;
  double test_loss = 0;
  double test_accuracy = 0;  // fraction

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("step", "", row.step);
    visit("simulated_seconds", "s", row.simulated_seconds);
    visit("message_bytes", "B", row.message_bytes);
    visit("nic_bytes", "B", row.nic_bytes);
    visit("test_loss", "", row.test_loss);
    visit("test_accuracy", "fraction", row.test_accuracy);
  }
};

// One layer over a whole training.
struct LayerRow {
  static constexpr const char* kFile = "layers.csv";
  std::string policy;
  uint64_t seed = 0;
  std::string layer;
  int64_t elements = 0;       // of the layer
  double mean_parameter = 0;  // over the steps
  double elements_sent = 0;   // sums over the steps
  double message_bytes = 0;

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("layer", "", row.layer);
    visit("elements", "", row.elements);
    visit("mean_parameter", "", row.mean_parameter);
    visit("elements_sent", "", row.elements_sent);
    visit("message_bytes", "B", row.message_bytes);
  }
};

// What a policy chose for one layer, and why. Unknown where it goes by no such thing: nan.
struct DecisionRow {
  static constexpr const char* kFile = "decisions.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;      // the first that it holds for
  int64_t decision = 0;  // decisions so far, this one included; 0: what holds before the first
  std::string layer;     // "all": the same parameter for all of them
  double parameter = 0;
  double error = 0;          // that the policy takes the compression for
  double budget = 0;         // what it may spend, or what it compares with
  double gain = 0;           // what it gets for it, fraction
  double time_estimate = 0;  // seconds
  std::string reason;

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("step", "", row.step);
    visit("decision", "", row.decision);
    visit("layer", "", row.layer);
    visit("parameter", "", row.parameter);
    visit("error", "", row.error);
    visit("budget", "", row.budget);
    visit("gain", "fraction", row.gain);
    visit("time_estimate", "s", row.time_estimate);
    visit("reason", "", row.reason);
  }
};

// One directed link over a whole training.
struct LinkRow {
  static constexpr const char* kFile = "links.csv";
  std::string policy;
  uint64_t seed = 0;
  std::string link;
  std::string from;
  std::string to;
  double rate_bits_per_second = 0;
  int64_t bytes = 0;  // on the wire
  int64_t packets = 0;
  int64_t drops = 0;
  int64_t marks = 0;
  int64_t max_queue_bytes = 0;
  double busy_seconds = 0;
  double mean_utilisation = 0;  // fraction of the simulated time
  double peak_utilisation = 0;  // highest, fraction: of an instant (flow) or a millisecond (packet)
  double usd_per_gb = 0;        // price of 1e9 bytes on the wire; 0: none
  double usd = 0;               // what `bytes` cost

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("link", "", row.link);
    visit("from", "", row.from);
    visit("to", "", row.to);
    visit("rate_bits_per_second", "bit/s", row.rate_bits_per_second);
    visit("bytes", "B", row.bytes);
    visit("packets", "", row.packets);
    visit("drops", "", row.drops);
    visit("marks", "", row.marks);
    visit("max_queue_bytes", "B", row.max_queue_bytes);
    visit("busy_seconds", "s", row.busy_seconds);
    visit("mean_utilisation", "fraction", row.mean_utilisation);
    visit("peak_utilisation", "fraction", row.peak_utilisation);
    visit("usd_per_gb", "USD/GB", row.usd_per_gb);
    visit("usd", "USD", row.usd);
  }
};

// What simulating the network took. Written when the training ends: a missing row marks an
// interrupted training.
struct NetworkRow {
  static constexpr const char* kFile = "network.csv";
  std::string policy;
  uint64_t seed = 0;
  std::string fidelity;
  int64_t events = 0;
  int64_t packets = 0;
  int64_t fresh_steps = 0;
  int64_t memoised_steps = 0;
  int64_t retransmit_timeouts = 0;

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("fidelity", "", row.fidelity);
    visit("events", "", row.events);
    visit("packets", "", row.packets);
    visit("fresh_steps", "", row.fresh_steps);
    visit("memoised_steps", "", row.memoised_steps);
    visit("retransmit_timeouts", "", row.retransmit_timeouts);
  }
};

// One thing that the doctor tried on one step, and what it changed.
struct DoctorRow {
  static constexpr const char* kFile = "doctor.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;
  std::string fidelity;  // of the doctor's simulations
  std::string remedy;    // "none": the step as it is
  std::string bound;     // what a step is bound by that this helps most
  std::string change;    // the remedy for people
  double step_seconds = 0;
  double gain = 0;       // part of the step that it saves
  bool verdict = false;  // the one that the verdict rests on; "none": balanced

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("step", "", row.step);
    visit("fidelity", "", row.fidelity);
    visit("remedy", "", row.remedy);
    visit("bound", "", row.bound);
    visit("change", "", row.change);
    visit("step_seconds", "s", row.step_seconds);
    visit("gain", "fraction", row.gain);
    visit("verdict", "", row.verdict);
  }
};

// One step that fidelity auto simulated with packets beside flows.
struct FidelityRow {
  static constexpr const char* kFile = "fidelity.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;
  double flow_seconds = 0;
  double packet_seconds = 0;
  double difference = 0;  // of flow from packet, part of packet

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("step", "", row.step);
    visit("flow_seconds", "s", row.flow_seconds);
    visit("packet_seconds", "s", row.packet_seconds);
    visit("difference", "fraction", row.difference);
  }
};

}  // namespace legacy::analysis
