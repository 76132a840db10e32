// The launch that the environment describes, for every launcher.
#include "trainer/processes/launch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>

#include "base/error.h"
#include "trainer/processes/process_group.h"

namespace legacy {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Launch> LaunchOf(const Variables& variables, const std::string& at = "") {
  return ReadLaunch(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      at);
}

std::string ErrorOf(const Variables& variables, const std::string& at = "") {
  try {
    LaunchOf(variables, at);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Launch, IsNothingWithoutALauncher) {
  EXPECT_FALSE(LaunchOf({}));
  EXPECT_FALSE(LaunchOf({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_FALSE(LaunchOf({{"RANK", "0"}}));
  // A batch script of Slurm runs once, whatever the number of tasks.
  EXPECT_FALSE(LaunchOf({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
}

TEST(Launch, ReadsTorchrun) {
  Variables variables = {{"RANK", "2"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "node7"},
                         {"MASTER_PORT", "1234"},
                         {"OMPI_COMM_WORLD_RANK", "9"},
                         {"OMPI_COMM_WORLD_SIZE", "10"}};
  const Launch launch = *LaunchOf(variables);
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.local_rank, 0);  // as ranks of a machine follow each other
  EXPECT_EQ(launch.host, "node7");
  EXPECT_EQ(launch.port, 1234);
  EXPECT_FALSE(launch.agent_store);
  variables["LOCAL_RANK"] = "1";
  EXPECT_EQ(LaunchOf(variables)->local_rank, 1);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RESTART_COUNT"] = "3";
  EXPECT_TRUE(LaunchOf(variables)->agent_store);
  EXPECT_EQ(LaunchOf(variables)->prefix, "/worker/attempt_3");
}

TEST(Launch, ReadsMpirun) {
  const Variables one_machine = {{"OMPI_COMM_WORLD_RANK", "1"},
                                 {"OMPI_COMM_WORLD_SIZE", "3"},
                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};
  EXPECT_EQ(LaunchOf(one_machine)->by, "mpirun");
  EXPECT_EQ(LaunchOf(one_machine)->host, "127.0.0.1");
  EXPECT_EQ(LaunchOf(one_machine)->port, 29500);
  EXPECT_EQ(LaunchOf(one_machine)->local_rank, 2);
  Variables two = one_machine;
  two["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_NE(ErrorOf(two).find("set MASTER_ADDR"), std::string::npos) << ErrorOf(two);
  EXPECT_EQ(LaunchOf(two, "node1:77")->port, 77);
  EXPECT_EQ(LaunchOf(two, "node1")->host, "node1");
  const Variables pmi = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MASTER_ADDR", "a"}};
  EXPECT_EQ(LaunchOf(pmi)->size, 2);
}

TEST(Launch, ReadsSrun) {
  Variables variables = {{"SLURM_PROCID", "5"},
                         {"SLURM_STEP_NUM_TASKS", "6"},
                         {"SLURM_NTASKS_PER_NODE", "3"},
                         {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}};
  EXPECT_EQ(LaunchOf(variables)->rank, 5);
  EXPECT_EQ(LaunchOf(variables)->local_size, 3);
  EXPECT_EQ(LaunchOf(variables)->local_rank, 2);
  EXPECT_EQ(LaunchOf(variables)->host, "10.0.0.1");
  variables["SLURM_LOCALID"] = "1";
  EXPECT_EQ(LaunchOf(variables)->local_rank, 1);
  variables["MASTER_ADDR"] = "10.0.0.2";
  EXPECT_EQ(LaunchOf(variables)->host, "10.0.0.2");
  variables["SLURM_NTASKS_PER_NODE"] = "8";  // of which this step uses fewer
  EXPECT_EQ(LaunchOf(variables)->local_size, 6);
}

TEST(Launch, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(ErrorOf({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "RANK: got '2'; allowed: an integer >= 0 and <= 1");
  EXPECT_NE(ErrorOf({{"RANK", "x"}, {"WORLD_SIZE", "2"}}).find("RANK"), std::string::npos);
  const Variables good = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}};
  for (const char* port : {"0", "65536", "http"}) {
    Variables bad = good;
    bad["MASTER_PORT"] = port;
    EXPECT_NE(ErrorOf(bad).find("MASTER_PORT"), std::string::npos) << port;
    EXPECT_NE(ErrorOf(good, std::string("host:") + port).find("--master"), std::string::npos);
  }
  EXPECT_NE(ErrorOf(good, ":29500").find("HOST"), std::string::npos);
}

TEST(Launch, ForksProcessesWithAPipe) {
  const pid_t parent = getpid();
  const Launch launch = ForkProcesses(3);
  if (getpid() != parent) {
    uint16_t port = 0;
    const bool read_all = read(launch.pipe_in, &port, sizeof port) == sizeof port;
    _exit(read_all && port == 4711 && launch.rank > 0 && launch.local_rank == launch.rank ? 0 : 1);
  }
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.size, 3);
  constexpr uint16_t kPort = 4711;
  for (int child = 1; child < 3; ++child) {
    EXPECT_EQ(write(launch.pipe_out, &kPort, sizeof kPort), ssize_t{sizeof kPort});
  }
  close(launch.pipe_out);
  int status = 0;
  while (wait(&status) > 0) EXPECT_EQ(status, 0);
  ReapProcesses(0);
}

TEST(OneProcess, OwnsEverything) {
  ProcessGroup& alone = OneProcess();
  EXPECT_TRUE(alone.Alone());
  EXPECT_TRUE(alone.Leads());
  EXPECT_EQ(alone.Own({0, 2, 5}), (std::vector<int>{0, 2, 5}));
  const Bytes bytes = {std::byte{1}, std::byte{2}};
  EXPECT_EQ(alone.AllGather(bytes), std::vector<Bytes>{bytes});
  EXPECT_EQ(alone.Broadcast(bytes, 0), bytes);
}

}  // namespace
}  // namespace legacy
