#include "scenarios/federated/run/training_writer.h"

#include <algorithm>

#include "base/error.h"
#include "scenarios/federated/plan_rows.h"
#include "trainer/clock/transfers.h"

namespace legacy {

TrainingWriter::TrainingWriter(const Scenario& scenario, const PlanRequest& request,
                               const std::string& name, uint64_t seed, Learner& learner,
                               int64_t parameters, RunSink& sink, Progress* progress,
                               Resumption from)
    : scenario_(scenario),
      request_(request),
      name_(name),
      seed_(seed),
      learner_(learner),
      dense_bytes_(DenseBytes(request, parameters)),
      sink_(sink),
      progress_(progress),
      from_(from) {
  state_.policy = name;
  state_.seed = seed;
  state_.steps = request.Versions();
}

void TrainingWriter::Write(std::span<const EndedTask> tasks) {
  if (!sink_.TakesTasks()) return;
  for (const auto& [task, figures] : tasks) {
    if (tasks_ >= static_cast<int64_t>(kMostTaskRows)) return;
    ++tasks_;
    if (!Written()) sink_.Write(Named(RowOf(task, figures)));
  }
}

bool TrainingWriter::Write(const PlannedRound& round, std::span<const EndedTask> tasks) {
  Write(tasks);
  const int64_t version = round.row.version;
  const bool written = Written();
  if (round.row.made) version_ = version;
  if (!written) {
    analysis::RoundRow row = Named(RowOf(round));
    if (round.row.made) AddFacts(learner_.Facts(), row);
    sink_.Write(row);
  }
  if (!round.row.made) return false;
  WriteStep(round, written);
  const bool evaluates = version % scenario_.evaluate_every == 0 || version == request_.Versions();
  if (written) {
    if (evaluates) evaluated_ = version;
    if (version == from_.version && last_end_ != from_.end) {
      throw Error("--resume: version " + std::to_string(version) + " of " + name_ + " ends at " +
                  FormatTime(last_end_) + " and not at " + FormatTime(from_.end) +
                  ": this is another program");
    }
    return false;
  }
  for (const analysis::DecisionRow& row : learner_.TakeDecisions()) {
    sink_.Write(Named(row));
  }
  if (evaluates) Evaluate();
  return true;
}

void TrainingWriter::Finish(const Plan& plan, const std::string& fidelity) {
  if (evaluated_ != learner_.Version()) Evaluate();
  for (const analysis::LayerRow& row : learner_.LayerRows()) sink_.Write(Named(row));
  for (size_t number = 0; number < plan.clients.size(); ++number) {
    analysis::ClientRow row = Named(RowOf(request_, plan, static_cast<int64_t>(number)));
    const int client = static_cast<int>(number);
    row.samples = learner_.SamplesOf(client).value_or(row.samples);
    row.labels = learner_.LabelsOf(client);
    row.expected_steps = learner_.ExpectedSteps(client, 0);
    sink_.Write(row);
  }
  for (const analysis::LinkRow& row : plan.links) sink_.Write(Named(row));
  analysis::NetworkRow row;
  row.fidelity = fidelity;
  row.events = static_cast<int64_t>(plan.counters.events);
  row.packets = static_cast<int64_t>(plan.counters.packets);
  row.fresh_steps = learner_.Version();
  row.retransmit_timeouts = static_cast<int64_t>(plan.counters.retransmitTimeouts);
  sink_.Write(Named(row));
}

void TrainingWriter::AddFacts(const VersionFacts& facts, analysis::RoundRow& row) {
  row.selected_loss = facts.loss;
  const HeldResiduals& held = facts.residuals;
  if (held.clients == 0) return;
  row.residuals = held.clients;
  row.residual_age = held.age;
  row.residual_norm = held.norm;
}

double TrainingWriter::DenseBytes(const PlanRequest& request, int64_t parameters) {
  if (!request.exchange) return static_cast<double>(2 * parameters * int64_t{sizeof(float)});
  return DenseNicBytes(static_cast<int>(request.population.Clients()), parameters);
}

void TrainingWriter::WriteStep(const PlannedRound& planned, bool written) {
  const fabric::RoundRow& round = planned.row;
  const VersionFacts& facts = learner_.Facts();
  analysis::StepRow row = Named(analysis::StepRow());
  row.step = round.version - 1;
  row.learning_rate = facts.learning_rate;
  row.training_loss = facts.loss;
  row.elements_sent = facts.elements_sent;
  row.message_bytes = facts.message_bytes;
  row.nic_bytes = facts.transfer_bytes;
  row.dense_nic_bytes = dense_bytes_;
  row.step_seconds = InSeconds(round.end - last_end_);
  row.compute_seconds = facts.critical.local;
  row.encode_seconds = facts.critical.encode;
  row.decode_seconds = facts.critical.decode;
  if (round.critical) {
    const fabric::TaskTimes& times = round.critical->times;
    const double transfers =
        InSeconds(times.downloaded - times.dispatched) + InSeconds(times.ended - times.worked);
    row.communication_seconds = transfers;
  }
  row.wait_seconds = std::max(0.0, row.step_seconds - row.compute_seconds - row.encode_seconds -
                                       row.decode_seconds - row.communication_seconds);
  if (const auto& split = planned.split) {
    row.nic_bytes = split->nic_bytes;
    row.compute_seconds = split->compute;
    row.encode_seconds = split->encode;
    row.decode_seconds = split->decode;
    row.communication_seconds = split->communication;
    row.wait_seconds = split->wait;
  }
  row.alpha_beta_seconds = row.step_seconds;
  row.participants = round.fates[static_cast<size_t>(fabric::TaskFate::Counted)];
  row.simulated_seconds = InSeconds(round.end);
  last_end_ = round.end;
  message_bytes_ += row.message_bytes;
  nic_bytes_ += row.nic_bytes;
  if (written) return;
  sink_.Write(row);
  state_.step = round.version;
  state_.loss = row.training_loss;
  state_.simulated_seconds = row.simulated_seconds;
  if (progress_ != nullptr) progress_->Step(state_);
}

void TrainingWriter::Evaluate() {
  if (learner_.Version() == 0) return;
  const Evaluation evaluation = learner_.Evaluate();
  evaluated_ = learner_.Version();
  sink_.Write({name_, seed_, evaluated_, InSeconds(last_end_), message_bytes_, nic_bytes_,
               evaluation.loss, evaluation.metrics});
  state_.metrics = evaluation.metrics;
  if (progress_ != nullptr) progress_->Evaluated(state_);
}

}  // namespace legacy
