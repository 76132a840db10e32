#include "scenarios/network/engines/packet_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/programs/patience.h"
#include "ns3-module/fabric/engine/dead-link.h"

extern char** environ;

namespace legacy {
namespace {

namespace fs = std::filesystem;
using wire::Frame;
using wire::Got;
using wire::Kind;

constexpr const char* kProgram = "legacy-packet";
constexpr const char* kVariable = "LEGACY_PACKET";
constexpr int kLookUpEvery = 100;  // milliseconds between looks at whether to give up the work

// Returns the folder of the library that this code is in.
fs::path FolderOfLibrary() {
  Dl_info info{};
  static const char here = 0;
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  return fs::canonical(info.dli_fname, ignored).parent_path();
}

// Returns a pair of connected sockets.
std::pair<int, int> Sockets() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(std::string("socketpair: ") + std::strerror(errno));
  }
  return {ends[0], ends[1]};
}

// Starts the program with `file` as its standard input and output.
pid_t Start(const std::string& path, int file) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
  std::string name = kProgram;
  char* const arguments[] = {name.data(), nullptr};
  pid_t pid = -1;
  const int refused = posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (refused != 0) throw Error(path + ": cannot be started: " + std::strerror(refused));
  return pid;
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return "died of signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::optional<std::string> FindPacketProgram() {
  if (const char* const given = std::getenv(kVariable); given != nullptr && *given != '\0') {
    return given;
  }
  std::error_code ignored;
  const fs::path library = FolderOfLibrary();
  for (const fs::path& folder : {fs::read_symlink("/proc/self/exe", ignored).parent_path(),
                                 library / "../bin", library / LEGACY_PROGRAMS_FROM_LIBRARIES}) {
    const fs::path path = folder / kProgram;
    if (access(path.c_str(), X_OK) == 0) return path.lexically_normal().string();
  }
  return std::nullopt;
}

PacketProcess::PacketProcess(const std::string& path, int patience)
    : path_(path), patience_(patience), owner_(getpid()) {
  const auto [own, other] = Sockets();
  file_ = own;
  try {
    pid_ = Start(path, other);
  } catch (...) {
    close(own);
    close(other);
    throw;
  }
  close(other);
  writer_.emplace(file_);
  reader_.emplace(file_);
  try {
    Greet();
  } catch (const Error& error) {
    End();
    throw Error(std::string(error.what()) + "; it must be of the version of this program");
  }
}

void PacketProcess::Greet() {
  const auto hello = Ask<wire::Hello>(Kind::Hello, Kind::Hello, wire::Hello{});
  if (hello.version != wire::kVersion || hello.ns3.empty()) Fail("it is not legacy-packet");
  ns3_ = hello.ns3;
}

PacketProcess::~PacketProcess() { End(); }

void PacketProcess::End() {
  close(file_);
  if (pid_ <= 0 || owner_ != getpid()) return;
  kill(pid_, SIGKILL);  // it has nothing to save
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void PacketProcess::Tell(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error&) {
    Ended();
  }
}

Frame PacketProcess::Hear() {
  Tell([&] { writer_->Flush(); });
  Frame frame;
  int silent = 0;  // milliseconds
  while (true) {
    switch (reader_->Next(kLookUpEvery, frame)) {
      case Got::End:
        Ended();
      case Got::Nothing:
        silent += kLookUpEvery;
        if (silent >= patience_) {
          Fail("it has said nothing for " + std::to_string(patience_) + " ms");
        }
        break;
      case Got::Frame:
        silent = 0;
        if (frame.kind == Kind::Failure) {
          const auto failure = frame.As<wire::Failure>();
          if (failure.dead) {
            throw fabric::DeadLink(failure.text, failure.dead->first, failure.dead->second);
          }
          throw failure.refusal ? Error::Refusal(failure.text) : Error(failure.text);
        }
        if (frame.kind == Kind::FlowNews) {
          if (tell_) tell_(frame.As<wire::FlowNews>());
          continue;
        }
        if (frame.kind != Kind::Alive) return frame;
    }
    sound_ = false;  // where the work is given up, the process is too
    GiveUpIfLate();
    sound_ = true;
  }
}

Frame PacketProcess::Expect(Kind kind) {
  Frame frame = Hear();
  if (frame.kind != kind) {
    Fail("it answered with a frame of kind " + std::to_string(static_cast<int>(frame.kind)) +
         " where kind " + std::to_string(static_cast<int>(kind)) + " follows");
  }
  return frame;
}

void PacketProcess::Fail(const std::string& what) {
  sound_ = false;
  throw Error(path_ + ": " + what);
}

void PacketProcess::Ended() {
  sound_ = false;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  throw Error(path_ + ": " + HowItEnded(status));
}

bool PacketProcess::Lives() {
  try {
    Greet();
  } catch (const Error&) {
  }
  return sound_;
}

void PacketProcess::SetNetwork(const fabric::Topology& topology,
                               const fabric::Placement& placement) {
  StateWriter out;
  const wire::NetworkValue value = wire::ValueOf(topology, placement);
  ToArchive(out, value);
  Bytes bytes = out.Take();
  if (bytes == network_) return;
  network_.clear();  // of a network that is refused nothing remains
  Order(Kind::Network, value);
  network_ = std::move(bytes);
}

namespace {

// The processes that nobody uses.
struct Idle {
  std::mutex mutex;
  pid_t owner = -1;
  std::vector<std::unique_ptr<PacketProcess>> processes;

  // A copy of a process that had some does not use them.
  void Own() {
    if (owner != getpid()) processes.clear();
    owner = getpid();
  }
};

// It is never destroyed, since programs end while threads run.
Idle& IdleProcesses() {
  static Idle& idle = *new Idle;
  return idle;
}

}  // namespace

std::unique_ptr<PacketProcess> TakePacketProcess() {
  const std::optional<std::string> path = FindPacketProgram();
  if (!path) {
    throw Error(
        "packets are simulated by the program legacy-packet, which is neither beside this program "
        "nor where " +
        std::string(kVariable) + " says; the package legacy-network has it");
  }
  Idle& idle = IdleProcesses();
  {
    const std::lock_guard lock(idle.mutex);
    idle.Own();
    while (!idle.processes.empty()) {
      std::unique_ptr<PacketProcess> process = std::move(idle.processes.back());
      idle.processes.pop_back();
      if (process->path() == *path && process->Lives()) return process;
    }
  }
  return std::make_unique<PacketProcess>(*path);
}

void GiveBack(std::unique_ptr<PacketProcess> process) {
  if (!process->Sound()) return;
  Idle& idle = IdleProcesses();
  const std::lock_guard lock(idle.mutex);
  idle.Own();
  idle.processes.push_back(std::move(process));
}

}  // namespace legacy
