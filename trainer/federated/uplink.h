// The uplink compresses the updates of clients. A task encodes its update unit by unit, with what
// its client kept, and leaves what the client will keep once the server has counted the update:
// nothing moves for a task that is lost.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/state.h"
#include "compress/codec.h"
#include "compress/exchange.h"
#include "compress/unit.h"

namespace legacy {

class CodecScheme;

// An UplinkMemory says what a client keeps of what it did not send.
enum class UplinkMemory : uint8_t {
  kClient,  // a residual, which is added to its next update, whatever version that starts from
  kOff,     // nothing
  // The client keeps what the server knows of it, g: messages are of update - g, and g takes the
  // place of the update (EF21: Richtárik et al., NeurIPS 2021; with partial participation
  // Fatkhullin et al., JMLR 2025)
  kEf21,
};
inline constexpr std::array<const char*, 3> kUplinkMemoryTexts = {"client", "off", "ef21"};

// An UplinkKey tells the draws of one task's messages from those of others.
struct UplinkKey {
  uint64_t seed = 1;
  int64_t version = 0;  // that of the base, or the number of the task
  int64_t client = 0;
};

// An EncodedUpdate is what a task sends, and what its client keeps of it.
struct EncodedUpdate {
  std::vector<Message> messages;  // by unit
  Bytes state;                    // empty: the client keeps nothing
  double residual_norm = 0;       // L2 norm of the residual in it; 0 with other memories

  int64_t bytes() const;  // of all messages
};

// HeldResiduals are what clients hold back of their updates at a version: means over them.
struct HeldResiduals {
  int64_t clients = 0;  // 0: none holds any
  double age = 0;       // versions since the one that the held update started from
  double norm = 0;      // L2 norm
};

// An Uplink is immutable: any thread may call its functions.
class Uplink {
 public:
  // `scheme` is a codec with its options, "topk+rbf". Throws Error naming `what` where it is not a
  // codec, as its messages could not be decoded alone, and where the memory does not fit it.
  Uplink(const std::string& scheme, std::vector<Unit> units, UplinkMemory memory,
         double residual_decay = 1, const std::string& what = "uplink");
  ~Uplink();

  // The scheme, for policies.
  const Scheme& scheme() const;
  std::span<const Unit> units() const { return units_; }
  UplinkMemory memory() const { return memory_; }
  // Returns whether clients keep anything at these parameters.
  bool Keeps(std::span<const double> parameters) const;
  // Throws Error on a parameter out of range, and, with kEf21, on a codec that is not contractive.
  void Check(std::span<const double> parameters) const;

  // Encodes a flat update with a parameter for each unit. `state` is that of the client's last
  // counted task; empty before the first. Throws Error on values that are not finite, and on a
  // parameter out of range.
  EncodedUpdate Encode(std::span<const float> update, std::span<const double> parameters,
                       ByteSpan state, const UplinkKey& key) const;
  // Writes the decoded messages, flat: the update, or its difference from g with kEf21. Throws
  // Error on bytes that no encoder writes.
  void Decode(std::span<const Message> messages, std::span<const double> parameters,
              const UplinkKey& key, std::span<float> out) const;
  // Adds them to `sum`, likewise.
  void DecodeAdd(std::span<const Message> messages, std::span<const double> parameters,
                 const UplinkKey& key, std::span<float> sum) const;
  // With kEf21: return the state of a client of whom the server knows `values`, and those values.
  Bytes StateOf(std::span<const float> values) const;
  std::vector<float> ValuesOf(ByteSpan state) const;
  // Returns true where messages of all clients of a version are values of the same elements, which
  // add up.
  bool Linear(std::span<const double> parameters) const;
  // Returns the bytes of an update's messages; nothing where they depend on the data.
  std::optional<int64_t> MessageBytes(std::span<const double> parameters) const;
  // Return the device work of encoding an update, and the values that it sends, by unit. Where
  // their number depends on the data, both are of the number that the parameters ask for.
  WorkList EncodeWork(std::span<const double> parameters) const;
  // Returns the device work of adding an update's decoded messages to a vector, counted likewise.
  WorkList DecodeWork(std::span<const double> parameters) const;
  std::vector<int64_t> ElementsSent(std::span<const double> parameters) const;

 private:
  struct State;

  const Codec& CodecOf(const Unit& unit, double parameter) const;
  bool Keeps(const Unit& unit, double parameter) const;
  void Check(const Unit& unit, double parameter) const;
  CodecContext ContextOf(const Unit& unit, double parameter, const UplinkKey& key) const;

  std::unique_ptr<Scheme> made_;
  const CodecScheme* scheme_;  // made_
  std::unique_ptr<Codec> dense_;
  std::vector<Unit> units_;
  UplinkMemory memory_;
  float decay_;
  std::string what_;
};

}  // namespace legacy
