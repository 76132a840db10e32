// The downlink brings versions of the model to clients, who train from what they decode. It is
// written "dense", "fp16" or "delta:topk@1%".
//
//   dense   the weights, as fp32
//   fp16    the weights, rounded to half precision
//   delta   y <- y + C(x - y) for each version x of the server, with y = x at first: all messages
//           together are y, which anybody can know, and what C leaves out is in the next difference
//           (EF21-P: Gruntkowska, Tyurin, Richtárik, ICML 2023)
//
// The server keeps its weights x in fp32 whatever it sends. With delta, a client that last decoded
// version v gets the messages of v + 1 to the newest one, or y as fp32, whichever is shorter, and
// y on its first contact. Only the lengths of older messages are kept: the y of every client is the
// server's, bit by bit.
//
// Control variates of algorithms and statistics of batch norm travel as fp32 with each of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/state.h"
#include "compress/message.h"
#include "compress/unit.h"
#include "compress/work.h"
#include "trainer/clock/client_work.h"

namespace legacy {

class Uplink;

// A DownlinkNeed is what a client has to get of the model.
struct DownlinkNeed {
  int64_t bytes = 0;
  int64_t messages = 0;  // to decode; 0: y comes whole
};

// A DownlinkLedger knows which version each client decoded last, as far as the server has heard of
// it: with the update that counts. A client whose task is lost is as before that task.
class DownlinkLedger {
 public:
  // Returns what a client needs to have version `version`, at which the messages have `size`.
  DownlinkNeed NeedOf(int64_t client, int64_t version, const DeltaSize& size) const;
  // Returns the same of a version by any downlink, with what else comes down.
  DownlinkNeed NeedOf(int64_t client, const VersionWork& version) const;
  // Says that a client has decoded that version.
  void Decoded(int64_t client, int64_t version, const DeltaSize& size);

  void Save(StateWriter& out) const;
  // Throws Error on what Save would not write.
  void Load(StateReader& in);

 private:
  struct Copy {
    int64_t version = 0;
    int64_t sent = 0;  // DeltaSize::sent of that version
  };
  std::map<int64_t, Copy> copies_;  // by client
};

// A Downlink holds the server's side.
class Downlink {
 public:
  // Messages are by layer. Throws Error on texts that name no downlink, on codecs whose messages
  // cannot be decoded alone, and on those that are not contractive, as differences would grow.
  Downlink(const std::string& text, std::span<const Unit> layers, uint64_t seed);
  ~Downlink();

  // True where clients have the server's weights.
  bool Exact() const { return kind_ == Kind::kDense; }
  // Takes the weights of the next version, from 0 on, and returns what clients have of it. Throws
  // Error naming version and layer where a value does not fit.
  std::vector<float> Send(std::span<const float> weights);

  // The messages of the newest version by layer; empty with dense, and at delta's first version.
  std::span<const Message> messages() const { return messages_; }
  // Decodes the messages of a version into a client's weights: fp16 replaces them, delta adds.
  void Receive(std::span<const Message> messages, int64_t version, std::span<float> weights) const;

  // Returns the bytes of the newest version for a client without any.
  int64_t WholeBytes() const;
  // Returns the size of a delta at the newest version; nothing with others.
  std::optional<DeltaSize> Size() const;
  // Returns the device work of decoding one message of each layer; nothing with dense.
  WorkList DecodeWork() const;

  // Append and restore the state after a version. Its weights are the caller's.
  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  enum class Kind : uint8_t { kDense, kFp16, kDelta };

  std::vector<float> SendHalves(std::span<const float> weights);
  std::vector<float> SendDelta(std::span<const float> weights);

  std::string text_;
  Kind kind_ = Kind::kDense;
  uint64_t seed_;
  std::unique_ptr<Uplink> coder_;  // null with dense
  std::vector<double> parameters_;
  int64_t elements_ = 0;
  int64_t version_ = -1;
  std::vector<Message> messages_;
  Bytes state_;  // of delta's coder, which has y
  int64_t sent_ = 0;
};

}  // namespace legacy
