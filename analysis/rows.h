// Each CSV file of the run directory has rows of one type. Columns() names the columns once, for
// the header, the writer and the reader. It calls visit(column, unit, member); the unit is "" for
// names, counts and plain numbers. VisitColumns() calls it with one column for each metric.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/metric.h"

namespace legacy::analysis {

// Visits the columns of a row. A member of values by metric is one column for each metric, named by
// the member's name and the metric's: "test_accuracy". visit(name, unit, member) gets such names as
// std::string, and all others as they are, because most rows are written without need of names. A
// row that is not constant is given a value for each metric first.
template <class Row, class Visitor>
void VisitColumns(Row& row, std::span<const Metric> metrics, Visitor&& visit) {
  std::remove_const_t<Row>::Columns(row, [&](const char* name, const char* unit, auto& member) {
    using Member = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<std::remove_const_t<Member>, std::vector<double>>) {
      if constexpr (!std::is_const_v<Member>) member.resize(metrics.size());
      for (size_t i = 0; i < metrics.size(); ++i) {
        visit(name + metrics[i].name, metrics[i].Unit(), member.at(i));
      }
    } else {
      visit(name, unit, member);
    }
  });
}

// Columns that files of earlier versions lack; they read as the members' defaults.
inline constexpr std::string_view kAddedColumns[] = {"residuals",
                                                     "residual_age",
                                                     "residual_norm",
                                                     "opening_seconds",
                                                     "pauses",
                                                     "paused_seconds",
                                                     "pause_root",
                                                     "paused_share",
                                                     "cnps",
                                                     "naks",
                                                     "resent",
                                                     "reordered",
                                                     "max_buffer_bytes",
                                                     "max_headroom_share",
                                                     "hidden_seconds",
                                                     "gather_seconds",
                                                     "reduce_seconds",
                                                     "replica_seconds",
                                                     "tensor_seconds",
                                                     "pipe_seconds",
                                                     "context_seconds",
                                                     "expert_seconds"};
inline bool IsAddedColumn(std::string_view name) {
  return std::ranges::find(kAddedColumns, name) != std::end(kAddedColumns);
}

// What NICs and switches of RoCEv2 did, with packets; all 0 with TCP, and without packets.
struct RoceFigures {
  int64_t pauses = 0;            // number of pauses of ports by PFC
  double paused_share = 0;       // fraction of the time that a port was paused, mean over all links
  int64_t cnps = 0;              // congestion notifications sent
  int64_t naks = 0;              // negative acknowledgements sent
  int64_t resent = 0;            // data frames sent again
  int64_t reordered = 0;         // data frames that arrived after later ones
  int64_t max_buffer_bytes = 0;  // most bytes in a switch
  double max_headroom_share = 0;  // largest fraction of a headroom in use

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("pauses", "", row.pauses);
    visit("paused_share", "fraction", row.paused_share);
    visit("cnps", "", row.cnps);
    visit("naks", "", row.naks);
    visit("resent", "", row.resent);
    visit("reordered", "", row.reordered);
    visit("max_buffer_bytes", "B", row.max_buffer_bytes);
    visit("max_headroom_share", "fraction", row.max_headroom_share);
  }
};

// Pauses of one directed link's port by PFC; none with TCP, and without packets.
struct PauseFigures {
  int64_t pauses = 0;
  double paused_seconds = 0;
  std::string pause_root;  // link whose queue was the cause of most of that; empty: never paused

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("pauses", "", row.pauses);
    visit("paused_seconds", "s", row.paused_seconds);
    visit("pause_root", "", row.pause_root);
  }
};

// One training step of one policy and seed. Byte and element counts are means over the workers.
struct StepRow {
  static constexpr const char* kFile = "steps.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;  // number of the step, from 0
  double learning_rate = 0;
  double training_loss = 0;    // nan or inf where the training diverged
  double elements_sent = 0;    // values that one worker sends
  double message_bytes = 0;    // payload that one worker encodes, headers of messages included
  double nic_bytes = 0;        // payload that leaves one worker's NIC
  double dense_nic_bytes = 0;  // payload of the dense fp32 ring all-reduce
  double step_seconds = 0;     // duration of the step; simulated, as all seconds here
  double compute_seconds = 0;  // forward and backward
  double encode_seconds = 0;
  double communication_seconds = 0;
  double decode_seconds = 0;
  double wait_seconds = 0;  // time of waiting for slower workers
  // Transfers while the device ran, which are no part of the step; unknown for rounds of clients.
  std::optional<double> hidden_seconds;
  // Parts of communication_seconds in a step of a divided model: waiting for gathers of weights,
  // for reductions of gradients, for sums over copies of the model, for sums of activations, for
  // messages between stages, for keys and values of other positions, and for tokens on their way to
  // experts and back. Unknown for other steps.
  std::optional<double> gather_seconds, reduce_seconds, replica_seconds, tensor_seconds,
      pipe_seconds, context_seconds, expert_seconds;
  // The textbook's step time: computing, coding and each collective's alpha-beta time, one after
  // the other.
  double alpha_beta_seconds = 0;
  int64_t participants = 0;      // number of active workers
  double simulated_seconds = 0;  // time from the start of the training to the end of the step
  bool fresh = true;             // true where the step was simulated; false where it was memoised

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
    visit("hidden_seconds", "s", row.hidden_seconds);
    visit("gather_seconds", "s", row.gather_seconds);
    visit("reduce_seconds", "s", row.reduce_seconds);
    visit("replica_seconds", "s", row.replica_seconds);
    visit("tensor_seconds", "s", row.tensor_seconds);
    visit("pipe_seconds", "s", row.pipe_seconds);
    visit("context_seconds", "s", row.context_seconds);
    visit("expert_seconds", "s", row.expert_seconds);
  }
};

// One evaluation on the test set. Counts are cumulative from the start of the training.
struct EvaluationRow {
  static constexpr const char* kFile = "evaluations.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;  // steps done before the evaluation
  double simulated_seconds = 0;
  double message_bytes = 0;
  double nic_bytes = 0;
  double test_loss = 0;
  std::vector<double> metrics = {};  // values of the run's metrics on the test set, in their order

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("seed", "", row.seed);
    visit("step", "", row.step);
    visit("simulated_seconds", "s", row.simulated_seconds);
    visit("message_bytes", "B", row.message_bytes);
    visit("nic_bytes", "B", row.nic_bytes);
    visit("test_loss", "", row.test_loss);
    visit("test_", "", row.metrics);
  }
};

// One layer over a whole training.
struct LayerRow {
  static constexpr const char* kFile = "layers.csv";
  std::string policy;
  uint64_t seed = 0;
  std::string layer;
  int64_t elements = 0;       // elements of the layer
  double mean_parameter = 0;  // mean over the steps
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

// The parameter that a policy chose for one layer, and why. Figures that the policy does not use
// are nan.
struct DecisionRow {
  static constexpr const char* kFile = "decisions.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;      // first step to which the decision applies
  int64_t decision = 0;  // number of decisions, this one included; 0: parameters before the first
  std::string layer;     // name of the layer; "all": one parameter for all layers
  double parameter = 0;
  double error = 0;          // error of the compression, as the policy measures it
  double budget = 0;         // limit, or threshold that it compares with
  double gain = 0;           // gain of the compression, fraction
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
  int64_t bytes = 0;  // bytes on the wire
  int64_t packets = 0;
  int64_t drops = 0;
  int64_t marks = 0;
  int64_t max_queue_bytes = 0;
  double busy_seconds = 0;
  double mean_utilisation = 0;  // fraction of the simulated time
  double peak_utilisation = 0;  // highest fraction in an instant (flow) or a millisecond (packet)
  double usd_per_gb = 0;        // price of 1e9 bytes on the wire; 0: none
  double usd = 0;               // price of `bytes`
  PauseFigures pauses = {};

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
    PauseFigures::Columns(row.pauses, visit);
  }
};

// Cost of simulating the network. The row is written when the training ends, so a missing row marks
// an interrupted training.
struct NetworkRow {
  static constexpr const char* kFile = "network.csv";
  std::string policy;
  uint64_t seed = 0;
  std::string fidelity;
  int64_t events = 0;
  int64_t packets = 0;
  int64_t fresh_steps = 0;
  int64_t memoised_steps = 0;
  int64_t retransmit_timeouts = 0;  // of TCP, or of queue pairs
  RoceFigures roce = {};

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
    RoceFigures::Columns(row.roce, visit);
  }
};

// One remedy that the doctor tried on one step, and its effect.
struct DoctorRow {
  static constexpr const char* kFile = "doctor.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;
  std::string fidelity;  // fidelity of the doctor's simulations
  std::string remedy;    // name of the remedy; "none": the step as it is
  std::string bound;     // bound of a step that the remedy helps most
  std::string change;    // the remedy in words
  double step_seconds = 0;
  double gain = 0;       // fraction of the step that it saves
  bool verdict = false;  // true for the remedy that gives the verdict; "none": balanced

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

// The memory of each rank of a stage of a shape by one policy, in bytes by kind.
struct MemoryRow {
  static constexpr const char* kFile = "memory.csv";
  std::string policy;
  int64_t stage = 0;
  double weights = 0, gradients = 0, optimizer = 0;
  double gathered = 0;     // weights of others while they are used
  double activations = 0;  // of the microbatches in flight
  double residuals = 0;    // of compressed gradients
  double total = 0;
  double device = 0;  // of the device; 0: not known

  template <class Self, class Visitor>
  static void Columns(Self& row, Visitor&& visit) {
    visit("policy", "", row.policy);
    visit("stage", "", row.stage);
    visit("weights_bytes", "B", row.weights);
    visit("gradients_bytes", "B", row.gradients);
    visit("optimizer_bytes", "B", row.optimizer);
    visit("gathered_bytes", "B", row.gathered);
    visit("activations_bytes", "B", row.activations);
    visit("residuals_bytes", "B", row.residuals);
    visit("total_bytes", "B", row.total);
    visit("device_bytes", "B", row.device);
  }
};

// One step that fidelity auto simulated at packet fidelity besides flow fidelity.
struct FidelityRow {
  static constexpr const char* kFile = "fidelity.csv";
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;
  double flow_seconds = 0;
  double packet_seconds = 0;
  double difference = 0;  // difference of flow from packet, fraction of packet

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
