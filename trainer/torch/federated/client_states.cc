#include "trainer/torch/federated/client_states.h"

#include <span>
#include <utility>

namespace legacy {
namespace {

constexpr uint64_t kMostNumber = uint64_t{1} << 62;

Bytes FloatBytes(std::span<const float> values) {
  StateWriter out;
  out.Floats(values);
  return out.Take();
}

std::vector<float> FloatsOf(const Bytes& bytes) {
  StateReader in(bytes);
  return in.Floats(bytes.size() / sizeof(float));
}

std::optional<NumberedState> NumberedOf(std::optional<Bytes> bytes) {
  if (!bytes) return std::nullopt;
  return NumberedState(*std::move(bytes));
}

}  // namespace

NumberedState::NumberedState(Bytes bytes) : bytes_(std::move(bytes)) {
  StateReader in(bytes_);
  number_ = static_cast<int64_t>(in.Number());
  state_ = in.Blob();
}

Bytes Numbered(int64_t number, ByteSpan state) {
  StateWriter out;
  out.Number(static_cast<uint64_t>(number));
  out.Blob(state);
  return out.Take();
}

ClientStates::ClientStates(const FederatedOptions& options, ClientStore& store)
    : options_(options), store_(store) {}

std::optional<NumberedState> ClientStates::Residual(int64_t client) const {
  return NumberedOf(store_.Get(client, StateKind::kResidual));
}

std::optional<NumberedState> ClientStates::Optimizer(int64_t client) const {
  return NumberedOf(store_.Get(client, StateKind::kOptimizer));
}

std::optional<std::vector<float>> ClientStates::Statistics(int64_t client) const {
  const auto kept = store_.Get(client, StateKind::kBatchNorm);
  if (!kept) return std::nullopt;
  return FloatsOf(*kept);
}

std::vector<float> ClientStates::Control(int64_t client, size_t elements) const {
  const auto kept = store_.Get(client, StateKind::kControl);
  return kept ? FloatsOf(*kept) : std::vector<float>(elements);
}

void ClientStates::KeepControl(int64_t client, const std::vector<float>& values) {
  store_.Put(client, StateKind::kControl, FloatBytes(values));
}

int64_t ClientStates::CountedSteps(int64_t client) const {
  const auto found = steps_.find(client);
  return found == steps_.end() ? 0 : found->second;
}

HeldResiduals ClientStates::Residuals(int64_t version) const {
  HeldResiduals all;
  for (const auto& [client, held] : residuals_) {
    const int64_t age = version - held.version;
    if (options_.residual_age > 0 && age > options_.residual_age) continue;
    ++all.clients;
    all.age += static_cast<double>(age);
    all.norm += held.norm;
  }
  if (all.clients == 0) return all;
  all.age /= static_cast<double>(all.clients);
  all.norm /= static_cast<double>(all.clients);
  return all;
}

void ClientStates::Keep(const LiveTask& done) {
  const int64_t client = done.key.client;
  if (options_.rate_over_steps) steps_[client] += done.result.local_steps;
  if (done.base->delta) ledger_.Decoded(client, done.key.version, *done.base->delta);
  if (!done.update.state.empty()) {
    store_.Put(client, StateKind::kResidual, Numbered(done.key.version, done.update.state));
    if (options_.memory == UplinkMemory::kClient) {
      residuals_[client] = {.version = done.key.version, .norm = done.update.residual_norm};
    }
  }
  if (!done.optimizer.empty()) store_.Put(client, StateKind::kOptimizer, done.optimizer);
  if (options_.batch_norm == BatchNormRule::kLocal && !done.buffers.empty()) {
    store_.Put(client, StateKind::kBatchNorm, FloatBytes(done.buffers));
  }
}

void ClientStates::Save(StateWriter& out) const {
  ledger_.Save(out);
  out.Number(steps_.size());
  for (const auto& [client, count] : steps_) {
    out.Number(static_cast<uint64_t>(client));
    out.Number(static_cast<uint64_t>(count));
  }
  out.Number(residuals_.size());
  for (const auto& [client, held] : residuals_) {
    out.Number(static_cast<uint64_t>(client));
    out.Number(static_cast<uint64_t>(held.version));
    out.Real(held.norm);
  }
}

void ClientStates::Load(StateReader& in) {
  ledger_.Load(in);
  steps_.clear();
  for (uint64_t left = in.Number("clients with steps", in.Left()); left > 0; --left) {
    const auto client = static_cast<int64_t>(in.Number("client", kMostNumber));
    steps_[client] = static_cast<int64_t>(in.Number("steps of a client", kMostNumber));
  }
  residuals_.clear();
  for (uint64_t left = in.Number("clients with residuals", in.Left()); left > 0; --left) {
    const auto client = static_cast<int64_t>(in.Number("client", kMostNumber));
    Held& held = residuals_[client];
    held.version = static_cast<int64_t>(in.Number("version of a residual", kMostNumber));
    held.norm = in.Real("norm of a residual");
  }
}

}  // namespace legacy
