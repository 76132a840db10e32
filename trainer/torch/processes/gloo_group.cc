#include "trainer/torch/processes/gloo_group.h"

#include <ATen/Functions.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

#if defined(USE_C10D_GLOO) && __has_include(<gloo/context.h>)
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "trainer/torch/processes/call_frame.h"
#include "trainer/torch/processes/life_signs.h"
#include "trainer/torch/processes/store_line.h"

namespace legacy {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kGoodbye(2'000);
// Calls last as long as the slowest process computes or simulates, so that a time limit would not
// find dead processes; signs of life do.
constexpr std::chrono::hours kCall(24 * 7);

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

// Throws Error on names without an address, which LibTorch would look up again and again.
void CheckHost(const std::string& host) {
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (error == 0) return freeaddrinfo(found);
  if (error != EAI_AGAIN) throw Error("address of process 0", host, "names with an address");
}

bool IsLoopback(const std::string& host) { return host == "localhost" || host.starts_with("127."); }

at::Tensor Over(void* bytes, int64_t size) { return at::from_blob(bytes, {size}, at::kByte); }

class GlooGroup : public ProcessGroup {
 public:
  GlooGroup(Launch launch, const StopFlag& stop);
  ~GlooGroup() override;

  void Meet(const std::string& same) override;
  std::vector<Bytes> AllGather(ByteSpan own) override;
  Bytes Broadcast(ByteSpan bytes, int root) override;
  Bytes Move(ByteSpan bytes, int from, int to) override;
  void Check() override;
  void CarryBy(std::unique_ptr<Carrier> carrier) override { carrier_ = std::move(carrier); }
  void End() override;
  bool Fail(const std::string& reason) noexcept override;

 private:
  void OpenLines();
  void Compare(const std::string& same);
  void CheckSize();
  void Await(const char* what);
  void Connect();
  // Runs a call of the group. If it fails, throws the reason for which all processes end.
  template <class Call>
  void Run(const Call& call);
  std::string ReasonOfLoss(const std::string& symptom);
  std::vector<int64_t> Beats();
  std::string NameOf(int rank);
  // Waits, in process 0, until the others have ended.
  void AwaitEnds(milliseconds most);

  Launch launch_;
  const StopFlag& stop_;
  std::optional<StoreLine> line_;
  std::optional<LifeSigns> signs_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  std::unique_ptr<Carrier> carrier_;  // null: Gloo carries everything
};

GlooGroup::GlooGroup(Launch launch, const StopFlag& stop)
    : ProcessGroup(launch.rank, launch.size, launch.local_size, launch.local_rank),
      launch_(std::move(launch)),
      stop_(stop) {
  OpenLines();
}

void GlooGroup::Meet(const std::string& same) {
  Compare(same);
  signs_->Start();
  Connect();
}

// The store of process 0 takes a free port if the processes are forks of it.
void GlooGroup::OpenLines() {
  const bool tells = launch_.pipe_out >= 0, asks = launch_.pipe_in >= 0;
  if (asks) {
    if (read(launch_.pipe_in, &launch_.port, sizeof launch_.port) != sizeof launch_.port) {
      throw Error("process 0 ended before the others met it");
    }
    close(launch_.pipe_in);
  }
  CheckHost(launch_.host);
  try {
    line_.emplace(launch_, Leads() && !launch_.agent_store);
    launch_.port = line_->port();
    signs_.emplace(*this, launch_, stop_);
  } catch (const std::exception& error) {
    throw Error("process " + std::to_string(rank()) + " of " + std::to_string(size()) +
                " (started by " + launch_.by + ") does not reach process 0 at " + launch_.host +
                ":" + std::to_string(launch_.port) + ": " + Summary(error));
  }
  if (!tells) return;
  for (int other = 1; other < size(); ++other) {
    const ssize_t written = write(launch_.pipe_out, &launch_.port, sizeof launch_.port);
    if (written != sizeof launch_.port) throw Error("--processes: the pipe takes no bytes");
  }
  close(launch_.pipe_out);
}

// Throws Error if process 0, once it has started, expects another number of processes.
void GlooGroup::CheckSize() {
  if (!line_->Has(StoreKey("size", 0))) return;
  const std::string expected = line_->Get(StoreKey("size", 0));
  if (expected == std::to_string(size())) return;
  throw Error("process " + std::to_string(rank()) + " (" + NameOf(rank()) +
                  "): number of processes by " + launch_.by + " (as WORLD_SIZE)",
              std::to_string(size()), expected + ", as process 0 (" + NameOf(0) + ")");
}

// Waits until all processes have set a key.
void GlooGroup::Await(const char* what) {
  const auto until = SteadyClock::now() + kMeeting;
  for (int other = 0; other < size(); ++other) {
    while (!line_->Has(StoreKey(what, other))) {
      if (line_->Has(StoreLine::kReason)) throw GroupError(line_->Get(StoreLine::kReason));
      CheckSize();
      if (SteadyClock::now() > until) {
        throw Error("process " + std::to_string(other) + " of " + std::to_string(size()) +
                    " did not come within " + std::to_string(kMeeting.count()) + " s");
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
}

// Waits for all processes, and compares the text.
void GlooGroup::Compare(const std::string& same) {
  line_->Set(StoreKey("name", rank()), HostName() + ", pid " + std::to_string(getpid()));
  line_->Set(StoreKey("size", rank()), std::to_string(size()));
  line_->Set(StoreKey("same", rank()), same);
  Await("same");
  std::istringstream ours(same), theirs(line_->Get(StoreKey("same", 0)));
  for (std::string our, their;;) {
    const bool more = static_cast<bool>(std::getline(ours, our));
    const bool they = static_cast<bool>(std::getline(theirs, their));
    if (!more && !they) break;
    if (more && they && our == their) continue;
    throw Error("process " + std::to_string(rank()) + " (" + NameOf(rank()) +
                    "), in the scenario, which all processes need to have alike",
                more ? our : "nothing", (they ? their : "nothing") + ", as process 0");
  }
  line_->Set(StoreKey("agreed", rank()), "");
  Await("agreed");
}

void GlooGroup::Connect() {
  auto options = c10d::ProcessGroupGloo::Options::create(kCall);
  options->threads = 1;
  const char* const interface = std::getenv("GLOO_SOCKET_IFNAME");
  try {
    options->devices.push_back(
        interface != nullptr       ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
        : IsLoopback(launch_.host) ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                   : c10d::ProcessGroupGloo::createDefaultDevice());
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(line_->store(), rank(), size(), options);
  } catch (const std::exception& error) {
    throw Error("process " + std::to_string(rank()) + " (" + NameOf(rank()) +
                "): no connection to the others: " + Summary(error));
  }
}

GlooGroup::~GlooGroup() { signs_->Stop(); }

void GlooGroup::Check() {
  const std::string heard = signs_->Heard();
  if (!heard.empty()) throw GroupError(heard);
}

std::string GlooGroup::NameOf(int rank) { return line_->Get(StoreKey("name", rank)); }

std::vector<int64_t> GlooGroup::Beats() {
  std::vector<int64_t> beats;
  for (int r = 0; r < size(); ++r) beats.push_back(line_->Add(StoreKey("beat", r), 0));
  return beats;
}

// Returns why a call failed: the reason that another process gave, or which one is silent.
std::string GlooGroup::ReasonOfLoss(const std::string& symptom) {
  try {
    const std::vector<int64_t> before = Beats();
    constexpr int kLooks = 5;
    for (int look = 0; look < kLooks; ++look) {
      if (line_->Has(StoreLine::kReason)) return line_->Get(StoreLine::kReason);
      std::this_thread::sleep_for(kBeat);
    }
    const std::vector<int64_t> after = Beats();
    std::string dead;
    for (int r = 0; r < size(); ++r) {
      if (r == rank() || after[r] != before[r]) continue;
      dead +=
          (dead.empty() ? "process " : ", process ") + std::to_string(r) + " (" + NameOf(r) + ")";
    }
    return line_->SetReason(dead.empty() ? "a connection between the processes broke: " + symptom
                                         : dead + " ended without a word");
  } catch (const std::exception&) {
    const std::string heard = signs_->Heard();
    return heard.empty() ? kLeaderLost : heard;
  }
}

template <class Call>
void GlooGroup::Run(const Call& call) {
  if (!group_) throw Error("the process left its group");
  std::string symptom;
  try {
    call()->wait(kCall);
    return;
  } catch (const std::exception& error) {
    symptom = Summary(error);
  }
  throw GroupError(ReasonOfLoss(symptom));
}

std::vector<Bytes> GlooGroup::AllGather(ByteSpan own) {
  const auto gather = [&](Bytes& in, Bytes& out) {
    std::vector<at::Tensor> ins{Over(in.data(), std::ssize(in))};
    std::vector<std::vector<at::Tensor>> outs(1);
    for (int r = 0; r < size(); ++r) {
      outs[0].push_back(Over(out.data() + r * std::ssize(in), std::ssize(in)));
    }
    Run([&] {
      c10d::AllgatherOptions options;
      options.timeout = kCall;
      return group_->allgather(outs, ins, options);
    });
  };
  Bytes frame = FrameOf(own);
  Bytes frames(static_cast<size_t>(size() * kFrameBytes));
  gather(frame, frames);
  int64_t longest = 0;
  for (int r = 0; r < size(); ++r) {
    longest = std::max(longest, LengthOf(frames.data() + r * kFrameBytes));
  }
  std::vector<Bytes> all;
  if (longest <= kInline) {
    for (int r = 0; r < size(); ++r) {
      const std::byte* const begin = frames.data() + r * kFrameBytes;
      all.emplace_back(begin + sizeof(uint64_t), begin + sizeof(uint64_t) + LengthOf(begin));
    }
    return all;
  }
  // Equal lengths are gathered: those of the longest.
  Bytes in(static_cast<size_t>(longest));
  std::ranges::copy(own, in.begin());
  Bytes out(static_cast<size_t>(longest * size()));
  if (carrier_) {
    carrier_->AllGather(in, out);
  } else {
    gather(in, out);
  }
  for (int r = 0; r < size(); ++r) {
    const std::byte* const begin = out.data() + r * longest;
    all.emplace_back(begin, begin + LengthOf(frames.data() + r * kFrameBytes));
  }
  return all;
}

Bytes GlooGroup::Broadcast(ByteSpan bytes, int root) {
  const auto broadcast = [&](Bytes& buffer) {
    std::vector<at::Tensor> tensors{Over(buffer.data(), std::ssize(buffer))};
    Run([&] {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      options.timeout = kCall;
      return group_->broadcast(tensors, options);
    });
  };
  Bytes frame = rank() == root ? FrameOf(bytes) : Bytes(kFrameBytes);
  broadcast(frame);
  const int64_t length = LengthOf(frame.data());
  if (length <= kInline) {
    const std::byte* const begin = frame.data() + sizeof(uint64_t);
    return {begin, begin + length};
  }
  Bytes whole(static_cast<size_t>(length));
  if (rank() == root) std::ranges::copy(bytes, whole.begin());
  broadcast(whole);
  return whole;
}

Bytes GlooGroup::Move(ByteSpan bytes, int from, int to) {
  if (from == to) return rank() == to ? Bytes(bytes.begin(), bytes.end()) : Bytes();
  constexpr int kTag = 1;
  const auto move = [&](Bytes& buffer) {
    std::vector<at::Tensor> tensors{Over(buffer.data(), std::ssize(buffer))};
    Run([&] {
      return rank() == from ? group_->send(tensors, to, kTag) : group_->recv(tensors, from, kTag);
    });
  };
  if (rank() != from && rank() != to) return {};
  Bytes frame = rank() == from ? FrameOf(bytes) : Bytes(kFrameBytes);
  move(frame);
  const int64_t length = LengthOf(frame.data());
  Bytes whole(static_cast<size_t>(length));
  if (length > kInline) {
    if (rank() == from) std::ranges::copy(bytes, whole.begin());
    move(whole);
  } else {
    std::copy_n(frame.begin() + sizeof(uint64_t), length, whole.begin());
  }
  return rank() == to ? whole : Bytes();
}

void GlooGroup::AwaitEnds(milliseconds most) {
  const auto until = SteadyClock::now() + most;
  for (int other = 1; Leads() && other < size(); ++other) {
    while (!line_->Has(StoreKey("ended", other)) && SteadyClock::now() < until) {
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
}

// Process 0 serves the store, so that it ends last.
void GlooGroup::End() {
  try {
    line_->Set(StoreKey("ended", rank()), "");
    AwaitEnds(kGrace);
  } catch (const std::exception&) {
    // The run is complete; how the others end changes nothing.
  }
  signs_->Stop();
  carrier_.reset();
  group_.reset();
}

bool GlooGroup::Fail(const std::string& reason) noexcept {
  bool known = false;
  try {
    signs_->Hear(line_->SetReason(reason));
    carrier_.reset();  // calls of the others fail now
    group_.reset();
    line_->Set(StoreKey("ended", rank()), "");
    const int64_t beat = line_->Add(StoreKey("beat", 0), 0);
    if (!Leads()) std::this_thread::sleep_for(3 * kBeat);
    known =
        Leads() || line_->Has(StoreKey("ended", 0)) || line_->Add(StoreKey("beat", 0), 0) != beat;
    AwaitEnds(kGoodbye);
  } catch (const std::exception&) {
    known = !signs_->Heard().empty();
  }
  signs_->Stop();
  return known;
}

}  // namespace

std::unique_ptr<ProcessGroup> JoinGlooGroup(const Launch& launch, const StopFlag& stop) {
  return std::make_unique<GlooGroup>(launch, stop);
}

}  // namespace legacy

#else

namespace legacy {

std::unique_ptr<ProcessGroup> JoinGlooGroup(const Launch& launch, const StopFlag&) {
  throw Error(launch.by + " started " + std::to_string(launch.size) +
              " processes, but this program was built without Gloo: LibTorch with c10d, and the "
              "headers of Gloo (libgloo-dev), bring it");
}

}  // namespace legacy

#endif
