// The client store keeps what clients hold between their tasks: residuals, control variates,
// optimizers. What was used last stays in memory, up to a limit, and the rest goes to a log on the
// disk. Clients that never took part take nothing.
//
//   record   u32 magic "LGCL", u32 kind, u64 client, u64 bytes, u32 CRC-32 of the bytes, u32 0,
//            the bytes
//
// A log only grows: a checkpoint is the index of its records and its length, and what follows is
// cut off when a run continues from there. Where more than half of a log is replaced or dropped, a
// checkpoint begins a new one, DIR/clients-N.log with the next N.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/state.h"

namespace legacy {

// A StateKind says what a state is. Values are in logs.
enum class StateKind : uint8_t {
  kResidual = 0,   // of the uplink: residual, or what the server knows of the client
  kControl = 1,    // control variate, or FedDyn's linear term
  kOptimizer = 2,  // of local training
  kBatchNorm = 3,  // statistics that never leave the client
};

// A ClientStore may be used by several threads.
class ClientStore {
 public:
  // `folder`, where logs go, has to exist when memory is full. `memory` is in bytes.
  ClientStore(std::filesystem::path folder, int64_t memory);
  ClientStore(const ClientStore&) = delete;
  ClientStore& operator=(const ClientStore&) = delete;
  ~ClientStore();

  // Returns a client's state, or nothing. Throws Error naming the log where a record is damaged.
  std::optional<Bytes> Get(int64_t client, StateKind kind);
  // Replaces it. Throws Error naming the log where it cannot be written.
  void Put(int64_t client, StateKind kind, Bytes bytes);
  void Drop(int64_t client, StateKind kind);

  // Writes all states to the log and the log to the disk, and the index to `out`. Logs stay that
  // the two calls before this one refer to.
  void Save(StateWriter& out);
  // Continues from there. Throws Error where the log is missing or too short.
  void Load(StateReader& in);
  // Removes all logs.
  void Remove();

  int64_t states() const;
  int64_t memory_bytes() const;  // of states in memory
  int64_t log_bytes() const;     // of the present log

 private:
  struct Key {
    int64_t client = 0;
    StateKind kind = StateKind::kResidual;
    friend bool operator==(const Key&, const Key&) = default;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Place {
    uint64_t offset = 0;
    uint64_t bytes = 0;  // without the record's header
  };
  struct Held {
    Bytes bytes;
    bool changed = false;  // since it was written
    std::list<Key>::iterator used;
  };

  std::filesystem::path LogOf(uint64_t number) const;
  void Open(bool create);
  void Close();
  [[noreturn]] void Fail(const char* what, const std::string& reason) const;
  Place Append(const Key& key, ByteSpan bytes);
  Bytes Read(const Key& key, const Place& place) const;
  // Takes a state into memory, and others out of it where it is full.
  void Hold(const Key& key, Bytes bytes, bool changed);
  void Forget(const Key& key);
  void Shrink();
  void WriteChanged();
  void BeginLog();

  mutable std::mutex mutex_;
  std::filesystem::path folder_;
  int64_t memory_;
  int64_t held_bytes_ = 0;
  std::unordered_map<Key, Held, KeyHash> held_;
  std::list<Key> order_;  // last used first
  std::unordered_map<Key, Place, KeyHash> index_;
  uint64_t number_ = 0;  // of the log
  int file_ = -1;
  uint64_t end_ = 0;             // of the log
  uint64_t live_ = 0;            // bytes of records in the index, headers included
  std::vector<uint64_t> saved_;  // logs of the last calls of Save
};

}  // namespace legacy
