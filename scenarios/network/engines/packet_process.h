// Processes of legacy-packet, the program that simulates packets for this one. They are started
// when they are needed, and kept for later engines.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ns3-module/wire/frames.h"

namespace legacy {

// Returns where legacy-packet is: where LEGACY_PACKET says, beside the running program, or where
// the toolkit is installed; nothing where it is in none of these places.
std::optional<std::string> FindPacketProgram();

// Milliseconds without a sign of life after which a process is given up.
inline constexpr int kPacketPatience = 60'000;

// A PacketProcess is one such process. Its calls throw Error where it ends early, says nothing for
// too long, or answers with an error; it can then only be destroyed.
class PacketProcess {
 public:
  // Starts the program at `path`. Throws Error where it cannot be started, and where it is of
  // another version.
  explicit PacketProcess(const std::string& path, int patience = kPacketPatience);
  PacketProcess(const PacketProcess&) = delete;
  PacketProcess& operator=(const PacketProcess&) = delete;
  ~PacketProcess();

  const std::string& path() const { return path_; }
  const std::string& ns3() const { return ns3_; }
  // Returns false where it has ended by itself, or was killed.
  bool Lives();

  template <class... Values>
  void Say(wire::Kind kind, const Values&... values) {
    Tell([&] { writer_->Write(kind, values...); });
  }
  // Waits for the next frame that is neither a sign of life, nor an error, nor news of a flow.
  wire::Frame Hear();
  // Lets `tell` be told of flows while frames are waited for.
  using FlowListener = std::function<void(const wire::FlowNews& news)>;
  void OnNews(FlowListener tell) { tell_ = std::move(tell); }
  // Says something, and returns the value of the answer, which is of kind `answer`.
  template <class T, class... Values>
  T Ask(wire::Kind kind, wire::Kind answer, const Values&... values) {
    Say(kind, values...);
    return Heard<T>(answer);
  }
  // Says something that is answered by Done.
  template <class... Values>
  void Order(wire::Kind kind, const Values&... values) {
    Say(kind, values...);
    Expect(wire::Kind::Done);
  }
  // Gives the network of the next engines, unless it is that of the last one.
  void SetNetwork(const fabric::Topology& topology, const fabric::Placement& placement);
  // Returns true where it can serve another engine.
  bool Sound() const { return sound_; }
  // Says that it cannot, as what it does was not waited for.
  void Spoil() { sound_ = false; }

 private:
  template <class T>
  T Heard(wire::Kind kind) {
    return Expect(kind).As<T>();
  }
  wire::Frame Expect(wire::Kind kind);
  void Tell(const std::function<void()>& write);
  void Greet();
  void End();
  [[noreturn]] void Ended();
  [[noreturn]] void Fail(const std::string& what);

  std::string path_;
  const int patience_;
  std::string ns3_;
  pid_t owner_ = -1;  // process that started it; a copy of that one does not end it
  pid_t pid_ = -1;
  int file_ = -1;
  std::optional<wire::FrameWriter> writer_;
  std::optional<wire::FrameReader> reader_;
  FlowListener tell_;
  Bytes network_;  // last one, as an archive
  bool sound_ = true;
};

// Takes a process that nobody uses, or starts one. Throws Error where legacy-packet is missing.
std::unique_ptr<PacketProcess> TakePacketProcess();
// Gives it back, for others; one that is not sound is ended.
void GiveBack(std::unique_ptr<PacketProcess> process);

}  // namespace legacy
