// Broken scenarios and command lines, by the calls that legacy-scenario makes: each start of the
// program would load LibTorch.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/options/default_run.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/run/workers/comparison.h"
#include "tests/arguments.h"
#include "tests/message_of.h"

namespace legacy::broken_scenarios_test {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;

std::string Complaint(const std::string& text) {
  Arguments arguments(text);
  return MessageOf([&] {
    const CommandLine line = ParseCommandLine(arguments.count(), arguments.values(), "test", "",
                                              std::nullopt, DefaultRun());
    EXPECT_FALSE(line.exit.has_value());  // the command line itself is valid
    ValidateScenario(line.scenario);
    RunComparison(line.scenario, "test", line.text, never);
  });
}

// Each kind of mistake gives a message with where, what and what is allowed, and leaves no file
// behind.
TEST(BrokenScenarios, SayWhatIsWrong) {
  const std::string folder =
      (fs::path(::testing::TempDir()) / ("legacy-broken-" + std::to_string(getpid()))).string();
  fs::create_directories(folder + "/empty");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--topo=fat-tree:k=3", "k"},
      {"--topo=moebius", "fat-tree"},
      {"--topo=missing.yaml", "missing.yaml"},
      {"--topo=fat-tree:k=4 --workers=17", "17"},
      {"--bandwidth=quick", "--bandwidth: got 'quick'"},
      {"--placement=diagonal", "packed"},
      {"--stragglers=often", "lognormal"},
      {"--stragglers=fixed:workers=99,factor=2", "99"},
      {"--stragglers=trace:file=missing.csv", "missing.csv"},
      {"--sync=async", "--sync: got 'async'; allowed: barrier, backup:k=2"},
      {"--sync=backup:k=4", "k below the number of 4 workers"},
      {"--sync=deadline:factor=2,min=5", "min at most the number of 4 workers"},
      {"--density=150%", "--density: got '150%'"},
      {"--density=1", "--density: got '1'; allowed: 1%, or 100% where all is meant"},
      {"--policies=topk@1", "topk@1: got '1'; allowed: 1%, or 100%"},
      {"--policies=dense,zip", "got 'zip'; legacy-scenario --policies=list prints all"},
      {"--policies=dense,topk:dcay=1",
       "topk:dcay=1: option of topk: got 'dcay'; did you mean decay?"},
      {"--policies=lgreco:period=5", "got 'lgreco:period=5'; allowed: lgreco as it is; options"},
      {"--levels=5%,1%/1%", "levels"},
      {"--levels=0.1%,50% --splits=10,20", "split"},
      {"--model=vgg99", "did you mean vgg19?; legacy-scenario --model=list prints all"},
      {"--model=resnet18:depth=3", "option of resnet18: got 'depth'; allowed: width"},
      {"--optimizer=rmsprop", "--optimizer: got 'rmsprop'; allowed: sgd, adam, adamw, lamb, sign"},
      {"--optimizer=adam --momentum=0.9", "0 with optimizer adam"},
      {"--final-learning-rate=9", "at most training.learning_rate"},
      {"--label-smoothing=1", "--label-smoothing: got '1'"},
      {"--clip-mean=-1", "--clip-mean: got '-1'"},
      {"--model=resnet9 --dataset=imagenette", "legacy-scenario --dataset=list prints all"},
      {"--dataset=mnist --data-root=" + folder + "/empty", "legacy-data fetch"},
      {"--device-profile=abacus", "a100-datasheet"},
      {"--transport=ns3:wan --ns3::TcpSocket::SegmentSize=large", "SegmentSize"},
      {"--ns3::TcpSocket::SegmentSize=1000", "ns3:datacenter and ns3:wan have those of ns-3"},
      {"--mtu=575", "mtu: got '575'"},
      {"--bandwidth=10", "a rate with its unit"},
      {"--transport=ns3:wan --ns3::TcpSocket::SegmentSise=1000", "SegmentSize"},
      {"--scenario=missing.yaml", "missing.yaml"},
      {"--learning-rate=0", "rate"},
  };
  for (const auto& [option, expected] : cases) {
    if (option.find("--ns3::") != std::string::npos &&
        std::string(LEGACY_DEFAULT_FIDELITY) != "packet")
      continue;
    const std::string message = Complaint("test --fidelity=" LEGACY_DEFAULT_FIDELITY
                                          " --workers=4 --batch=8 --steps=6 --warmup-steps=2 "
                                          "--train-limit=400 --test-limit=100 --out=" +
                                          folder + "/run " + option);
    EXPECT_NE(message.find(expected), std::string::npos) << option << "\n" << message;
    EXPECT_FALSE(fs::exists(folder + "/run")) << option;
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace legacy::broken_scenarios_test
