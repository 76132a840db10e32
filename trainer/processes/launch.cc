#include "trainer/processes/launch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/parse.h"

namespace legacy {
namespace {

constexpr int kMostProcesses = 4096;
constexpr uint16_t kDefaultPort = 29500;  // the default of torch.distributed

// Environment variables of a launcher: rank and number of processes, and those of this machine.
struct Names {
  const char* by;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};
// Slurm sets its own names in batch scripts as well, where nothing runs once for each rank, but it
// sets the size of a step only under srun.
constexpr Names kNames[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"}};

class Variables {
 public:
  explicit Variables(const EnvironmentLookup& lookup) : lookup_(lookup) {}

  bool Has(const char* name) const {
    const char* const text = lookup_(name);
    return text != nullptr && *text != '\0';
  }
  std::string Text(const char* name) const { return Has(name) ? lookup_(name) : ""; }
  int Number(const char* name, int minimum, int maximum) const {
    return static_cast<int>(ParseInteger(Text(name), name, minimum, maximum));
  }

 private:
  const EnvironmentLookup& lookup_;
};

uint16_t Port(const std::string& text, const std::string& where) {
  return static_cast<uint16_t>(ParseInteger(text, where, 1, 65535));
}

// Reads the address of process 0.
void ReadAddress(const Variables& variables, const std::string& at, Launch& launch) {
  launch.port = variables.Has("MASTER_PORT") ? Port(variables.Text("MASTER_PORT"), "MASTER_PORT")
                                             : kDefaultPort;
  if (!at.empty()) {
    const size_t colon = at.rfind(':');
    launch.host = at.substr(0, colon);
    if (colon != std::string::npos) launch.port = Port(at.substr(colon + 1), "--master");
    if (launch.host.empty()) throw Error("--master", at, "HOST or HOST:PORT");
    return;
  }
  if (variables.Has("MASTER_ADDR")) {
    launch.host = variables.Text("MASTER_ADDR");
  } else if (launch.local_size == launch.size) {
    launch.host = "127.0.0.1";
  } else if (launch.by == "srun") {
    launch.host = variables.Text("SLURM_LAUNCH_NODE_IPADDR");
  }
  if (!launch.host.empty()) return;
  throw Error(launch.by + " started " + std::to_string(launch.size) +
              " processes, but they do not know where process 0 is: set MASTER_ADDR (and "
              "MASTER_PORT, 29500 unless it is taken) to its machine for all of them, or give "
              "--master=HOST:PORT");
}

}  // namespace

std::optional<Launch> ReadLaunch(const EnvironmentLookup& environment, const std::string& at) {
  const Variables variables(environment);
  for (const Names& names : kNames) {
    if (!variables.Has(names.rank) || !variables.Has(names.size)) continue;
    Launch launch;
    launch.by = names.by;
    launch.size = variables.Number(names.size, 1, kMostProcesses);
    launch.rank = variables.Number(names.rank, 0, launch.size - 1);
    if (launch.size == 1) return std::nullopt;
    if (variables.Has(names.local_size)) {
      launch.local_size =
          std::min(launch.size, variables.Number(names.local_size, 1, kMostProcesses));
    } else if (launch.by == "srun" && variables.Text("SLURM_STEP_NUM_NODES") == "1") {
      launch.local_size = launch.size;
    }
    // Without the variable, ranks of a machine follow each other.
    launch.local_rank = variables.Has(names.local_rank)
                            ? variables.Number(names.local_rank, 0, kMostProcesses - 1)
                            : launch.rank % launch.local_size;
    ReadAddress(variables, at, launch);
    if (launch.by == "torchrun" && variables.Text("TORCHELASTIC_USE_AGENT_STORE") == "True") {
      launch.agent_store = true;
      launch.prefix = "/worker/attempt_" + variables.Text("TORCHELASTIC_RESTART_COUNT");
    }
    return launch;
  }
  return std::nullopt;
}

namespace {

std::vector<pid_t> g_children;

void KillChildren() {
  for (const pid_t child : g_children) kill(child, SIGKILL);
  for (const pid_t child : g_children) waitpid(child, nullptr, 0);
  g_children.clear();
}

}  // namespace

Launch ForkProcesses(int processes) {
  Launch launch{
      .size = processes, .local_size = processes, .by = "--processes", .host = "127.0.0.1"};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error("--processes: pipe: " + std::string(strerror(errno)));
  launch.pipe_in = ends[0];
  launch.pipe_out = ends[1];
  std::fflush(nullptr);  // otherwise every process would print what is buffered
  for (int rank = 1; rank < processes; ++rank) {
    const pid_t child = fork();
    if (child < 0) {
      const int error = errno;
      KillChildren();
      throw Error("--processes=" + std::to_string(processes) + ": " + strerror(error));
    }
    if (child == 0) {
      g_children.clear();
      close(launch.pipe_out);  // the pipe ends with process 0
      launch.pipe_out = -1;
      launch.rank = launch.local_rank = rank;
      return launch;
    }
    g_children.push_back(child);
  }
  close(launch.pipe_in);
  launch.pipe_in = -1;
  return launch;
}

void ReapProcesses(double seconds) {
  constexpr auto kLook = std::chrono::milliseconds(20);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!g_children.empty() && std::chrono::steady_clock::now() < until) {
    std::erase_if(g_children, [](pid_t child) { return waitpid(child, nullptr, WNOHANG) != 0; });
    if (!g_children.empty()) std::this_thread::sleep_for(kLook);
  }
  KillChildren();
}

}  // namespace legacy
