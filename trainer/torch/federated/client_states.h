// What the clients of a federated training keep between their tasks, and what its server knows of
// that. All of it moves with a counted update.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/state.h"
#include "trainer/federated/client_store.h"
#include "trainer/federated/downlink.h"
#include "trainer/torch/federated/client_task.h"
#include "trainer/torch/federated/federated_settings.h"

namespace legacy {

// A NumberedState is a state with a number before it: the version that it is of, or the steps that
// it has made.
class NumberedState {
 public:
  // Reads what Numbered wrote. Throws Error on other bytes.
  explicit NumberedState(Bytes bytes);
  NumberedState(NumberedState&&) = default;
  NumberedState& operator=(NumberedState&&) = default;

  int64_t number() const { return number_; }
  ByteSpan state() const { return state_; }

 private:
  Bytes bytes_;
  int64_t number_ = 0;
  ByteSpan state_;  // of bytes_
};
Bytes Numbered(int64_t number, ByteSpan state);

// ClientStates are those of one training. Any thread may read what the store has.
class ClientStates {
 public:
  // `options` and `store` outlive it.
  ClientStates(const FederatedOptions& options, ClientStore& store);

  // Return what a client has in the store, or nothing.
  std::optional<NumberedState> Residual(int64_t client) const;   // with the version of its base
  std::optional<NumberedState> Optimizer(int64_t client) const;  // with its steps
  std::optional<std::vector<float>> Statistics(int64_t client) const;
  // Returns what the algorithm keeps of a client: that many zeros at first.
  std::vector<float> Control(int64_t client, size_t elements) const;
  void KeepControl(int64_t client, const std::vector<float>& values);
  // Returns the local steps of a client's counted tasks.
  int64_t CountedSteps(int64_t client) const;
  // Returns what clients hold at `version`. Residuals that are too old to be used are left out.
  HeldResiduals Residuals(int64_t version) const;
  // Which versions clients have, with a downlink of deltas.
  const DownlinkLedger& ledger() const { return ledger_; }

  // Updates what the client of a counted task keeps, except for the algorithm.
  void Keep(const LiveTask& done);

  // Append and restore what is not in the store, which saves itself.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  const FederatedOptions& options_;
  ClientStore& store_;
  DownlinkLedger ledger_;
  std::map<int64_t, int64_t> steps_;  // local steps of counted tasks, by client
  struct Held {
    int64_t version = 0;  // that its update started from
    double norm = 0;
  };
  std::map<int64_t, Held> residuals_;  // by client
};

}  // namespace legacy
