#include "ns3-module/fabric/population/population.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "ns3-module/fabric/population/client-network.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::population_test {
namespace {

std::string Write(const std::string& name, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(OwnFolder() + name).parent_path());
  std::ofstream(OwnFolder() + name) << text;
  return OwnFolder() + name;
}

Population Make(const std::string& text, std::optional<int64_t> clients = {}, uint64_t seed = 1) {
  PopulationRequest request;
  request.text = text;
  request.clients = clients;
  request.seed = seed;
  return MakePopulation(request);
}

Population OfYaml(const std::string& text) { return Make(Write("population.yaml", text)); }

// Returns the message about a file with `text`, without its folder.
std::string ErrorOf(const std::string& text) {
  const std::string path = Write("population.yaml", text);
  const std::string message = MessageOf([&] { Make(path); });
  const size_t at = message.find(path);
  return at == std::string::npos ? message : "FILE" + message.substr(at + path.size());
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

TEST(Population, PhonesHaveTheMediansAndSpreadsOfTheirSources) {
  const Population phones = Make("phones", 20'000);
  std::vector<double> down, up, slowdown, logs;
  double squares = 0;
  for (int64_t k = 0; k < phones.Clients(); ++k) {
    const Client client = phones.At(k);
    down.push_back(static_cast<double>(client.down.rateBps));
    up.push_back(static_cast<double>(client.up.rateBps));
    slowdown.push_back(client.slowdown);
    const double log = std::log(client.slowdown);
    squares += log * log / static_cast<double>(phones.Clients());
    ASSERT_EQ(client.slowdown, phones.SlowdownOf(k));
    ASSERT_EQ(*client.profile, "phone-assumed");
  }
  EXPECT_NEAR(Median(down) / 41.4e6, 1, .02);
  EXPECT_NEAR(Median(up) / 24.8e6, 1, .03);
  EXPECT_NEAR(Median(slowdown), 1, .05);
  EXPECT_NEAR(std::sqrt(squares), 1.361, .02);
}

// The figures of the preset, from the files that they were taken from.
TEST(Population, PhonesAreThoseOfTheSharedMeasurements) {
  const std::string speeds = SharedData("device_traces/mobile_link_speed.csv");
  if (speeds.empty()) GTEST_SKIP() << "shared/data/device_traces is absent";
  const Population traced =
      OfYaml("- {count: 19, down: {csv: '" + speeds +
             "', column: down_mean, unit: 8kbps, pick: in-order}, up: {csv: '" + speeds +
             "', column: up_mean, unit: 8kbps, pick: in-order}}\n");
  const auto check = [&](auto rate_of, double median, double sigma) {
    std::vector<double> logs;
    double mean = 0, variance = 0;
    for (int64_t k = 0; k < 19; ++k) {
      logs.push_back(std::log(static_cast<double>(rate_of(traced.At(k)))));
      mean += logs.back() / 19;
    }
    for (double log : logs) variance += (log - mean) * (log - mean) / 19;
    EXPECT_NEAR(std::exp(mean) / median, 1, .002);  // the median of the lognormal distribution
    EXPECT_NEAR(std::sqrt(variance), sigma, .0005);
  };
  check([](const Client& client) { return client.down.rateBps; }, 41.4e6, .471);
  check([](const Client& client) { return client.up.rateBps; }, 24.8e6, .682);
  EXPECT_EQ(traced.At(0).down.rateBps, 59'931'200);  // 7,491.4 KB/s
}

TEST(Population, GroupsFollowEachOtherAndDrawByClientAndField) {
  const Population population = OfYaml(
      "server: {rate: 1Gbps, price: 0.09/0.01}\n"
      "clients:\n"
      "- {count: 3000, name: a, down: {uniform: [1Mbps, 9Mbps]}, up: {choice: [[5Mbps, 3], [1Mbps, "
      "1]]}, delay: {uniform: [10ms, 30ms]}, error: 0.01, price: 0.02/0, queue: 100ms,"
      "   device: {profile: p, slowdown: {uniform: [1, 4]}}, price_hour: 0.5, samples: {uniform: "
      "[10, 50]}, longitude: 8}\n"
      "- {count: 2, name: b, queue: 64KiB, availability: nightly}\n");
  EXPECT_EQ(population.Clients(), 3002);
  EXPECT_EQ(population.GroupOf(2999), 0);
  EXPECT_EQ(population.GroupOf(3000), 1);
  EXPECT_EQ(population.Server().usdPerGb[0], .09);
  double down = 0, fast = 0, product = 0;
  for (int64_t k = 0; k < 3000; ++k) {
    const Client client = population.At(k);
    const double d = static_cast<double>(client.down.rateBps) / 1e6 - 5;
    const double s = client.slowdown - 2.5;
    ASSERT_LE(std::abs(d), 4);
    down += d / 3000;
    product += d * s / 3000;
    fast += (client.up.rateBps == 5'000'000) / 3000.;
    ASSERT_TRUE(client.up.rateBps == 5'000'000 || client.up.rateBps == 1'000'000);
    ASSERT_EQ(client.down.queueBytes,
              std::max<int64_t>(65'536, std::llround(client.down.rateBps * .1 / 8)));
    ASSERT_TRUE(client.samples >= 10 && client.samples <= 50);
  }
  EXPECT_NEAR(down, 0, .15);
  EXPECT_NEAR(fast, .75, .03);
  EXPECT_NEAR(product, 0, .15);  // fields are drawn apart: variances are 5.3 and .75
  const Client one = population.At(7);
  EXPECT_EQ(one.up.usdPerGb, .02);
  EXPECT_EQ(one.down.usdPerGb, 0);
  EXPECT_EQ(one.usdPerHour, .5);
  EXPECT_EQ(one.longitude, 8);
  EXPECT_EQ(population.At(3001).down.queueBytes, 65'536);
  EXPECT_EQ(population.Groups()[1].availability, "nightly");
  const Population placed = OfYaml(
      "longitudes: {west: -120, east: 30.5}\n"
      "clients: [{at: west}, {at: east}, {at: north}, {at: east, longitude: 7}]");
  EXPECT_EQ(placed.At(0).longitude, -120);
  EXPECT_EQ(placed.LongitudeOf(1), 30.5);
  EXPECT_EQ(placed.LongitudeOf(2), 0);
  EXPECT_EQ(placed.LongitudeOf(3), 7);
}

TEST(Population, DoesNotDependOnTheOrderOfAskingAndChangesWithTheSeed) {
  const Population forward = Make("phones", 1000), other = Make("phones", 1000, 2);
  const int64_t first = forward.At(0).down.rateBps;
  for (int64_t k = 999; k > 0; --k) forward.At(k);
  EXPECT_EQ(forward.At(0).down.rateBps, first);
  EXPECT_NE(other.At(0).down.rateBps, first);
  // A larger population has the same first clients.
  EXPECT_EQ(Make("phones", 100'000).At(0).down.rateBps, first);
}

TEST(Population, ClientsDrawTracesOfAllFilesWithOffsets) {
  Write("lte/one.csv", "trace,time_s,mbps\na,0,1\na,1,3\nb,0,5\nb,1,7\n");
  Write("lte/two.csv", "time_s,mbps\n0,10\n1,30\n");
  Write("lte/not.txt", "x");
  const Population population = OfYaml(
      "- {count: 400, down: 40Mbps, up: 8Mbps, trace: {csv: 'lte/*.csv', scale: mean}}\n"
      "- {count: 10, down: 40Mbps, up: 8Mbps, trace: {csv: lte/two.csv, direction: down}}\n");
  std::map<int64_t, int> highest;
  bool shifted = false;
  for (int64_t k = 0; k < 400; ++k) {
    const Client client = population.At(k);
    EXPECT_NEAR(static_cast<double>(client.down.schedule->MeanRate()), 40e6, 2);
    EXPECT_NEAR(static_cast<double>(client.up.schedule->MeanRate()), 8e6, 2);
    EXPECT_EQ(client.down.rateBps, client.down.schedule->MaxRate());
    ++highest[client.down.rateBps / 100'000];
    shifted |= client.down.schedule->RateAt(0) != client.down.rateBps;
    // Both directions follow the same recording from the same time on.
    ASSERT_EQ(client.down.schedule->NextChange(0), client.up.schedule->NextChange(0));
  }
  EXPECT_TRUE(shifted);
  ASSERT_EQ(highest.size(), 2u);  // 3 / 2 (twice) and 7 / 6 of the mean
  EXPECT_NEAR(highest[600], 267, 40);
  EXPECT_NEAR(highest[466], 133, 40);
  EXPECT_FALSE(population.At(405).up.schedule);
  EXPECT_EQ(population.At(405).down.schedule->MaxRate(), 30'000'000);
}

TEST(Population, SilosAreGroupsOfOne) {
  const std::string path = Write("silos.csv",
                                 "name,region,down,up,delay,profile,slowdown,price_hour\n"
                                 "Charité,aws:eu-central-1,100Mbps,40Mbps,5ms,a100-datasheet,1,3\n"
                                 "Lagos,aws:af-south-1,50Mbps,20Mbps,8ms,cpu-reference,2.5,0\n");
  const Population silos = Make("silos:" + path);
  ASSERT_EQ(silos.Clients(), 2);
  const Client second = silos.At(1);
  EXPECT_EQ(*second.region, "aws:af-south-1");
  EXPECT_EQ(second.up.rateBps, 20'000'000);
  EXPECT_EQ(second.slowdown, 2.5);
  EXPECT_EQ(*second.profile, "cpu-reference");
  EXPECT_EQ(silos.At(0).usdPerHour, 3);
  const std::string bad = Write("bad.csv", "name,region,down\na,b,1Mbps\n");
  EXPECT_NE(MessageOf([&] { Make("silos:" + bad); }).find(":1: column: got 'up'; allowed: name"),
            std::string::npos);
}

TEST(Population, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorOf("[]"),
            "FILE: clients: got 'no list'; allowed: a list of groups such as "
            "{count: 100, ...}");
  EXPECT_EQ(ErrorOf("- {count: 0}"),
            "FILE:1:4: count: got '0'; allowed: an integer from 1 to "
            "2147483647");
  EXPECT_EQ(ErrorOf("- {count: 1, down: -5Mbps}").substr(0, 30), "FILE:1:20: down: got '-5Mbps';");
  EXPECT_EQ(ErrorOf("- {down: {lognormal: {median: nan, sigma: 1}}}").substr(0, 27),
            "FILE:1:31: down: got 'nan';");
  EXPECT_EQ(ErrorOf("- {down: {lognormal: {median: 1Mbps, sigma: nan}}}"),
            "FILE:1:45: sigma: got 'nan'; allowed: a number from 0 to 10");
  EXPECT_EQ(ErrorOf("- {dwn: 5Mbps}").substr(0, 60),
            "FILE:1:4: unknown key of a group of clients: got 'dwn'; allo");
  EXPECT_EQ(ErrorOf("clients:\n- {device: {speed: 2}}"),
            "FILE:2:13: unknown key of a device: got 'speed'; allowed: profile, slowdown");
  EXPECT_EQ(ErrorOf("client: []"),
            "FILE:1:1: unknown key of a population: got 'client'; allowed: "
            "server, clients, longitudes");
  EXPECT_EQ(ErrorOf("- {down: {uniform: [9Mbps, 1Mbps]}}"),
            "FILE:1:10: down: uniform: got '1Mbps'; allowed: not below 9Mbps");
  EXPECT_EQ(ErrorOf("- {up: {choice: [[1Mbps, 0]]}}").substr(0, 46),
            "FILE:1:17: up: got 'weights of 0'; allowed: on");
  EXPECT_EQ(ErrorOf("- {error: 1}"),
            "FILE:1:11: error: got '1'; allowed: a number from 0 to 0.999999");
  EXPECT_EQ(ErrorOf("- {trace: {csv: none-*.csv}}").substr(0, 22), "FILE:1:12: file: got '");
  EXPECT_EQ(ErrorOf("- [").substr(0, 9), "FILE:1:1:");
  EXPECT_EQ(MessageOf([] { Make("fast"); }),
            "population: got 'fast'; allowed: broadband, phones, silos:FILE, FILE.yaml");
  EXPECT_EQ(MessageOf([] { Make("broadband", 0); }), "clients: got '0'; allowed: 1 to 2147483647");
  const std::string path = Write("population.yaml", "- {count: 3}");
  EXPECT_NE(MessageOf([&] { Make(path, 4); }).find("clients: got '4'; allowed: 3, as "),
            std::string::npos);
}

TEST(ClientNetwork, IsAStarOrHangsOnTheNodesOfATopology) {
  const Population star = Make("broadband", 5);
  const std::vector<int64_t> some{4, 1};
  const ClientNetwork network = MakeClientNetwork(star, &some, nullptr);
  EXPECT_EQ(network.placement.Workers(), 2);
  EXPECT_EQ(network.topology.NodeName(network.placement.NodeOf(0)), "client4");
  EXPECT_EQ(network.topology.NodeName(network.placement.NodeOf(network.serverEndpoint)), "server");
  const auto route =
      network.topology.Route(network.placement.NodeOf(2), network.placement.NodeOf(1), 0);
  ASSERT_EQ(route.size(), 2u);
  EXPECT_EQ(route[0], network.serverLink);
  EXPECT_EQ(route[1], network.accessLinks[1]);
  EXPECT_EQ(network.topology.PortOf(route[1]).rateBps, 100'000'000);
  EXPECT_EQ(network.topology.PortOf(route[1] ^ 1).rateBps, 20'000'000);

  Topology core;
  core.AddSwitch("west");
  core.AddSwitch("east");
  Port port;
  port.rateBps = 5'000'000'000;
  core.AddLink(Link(0, 1, 40'000'000, port));
  const Population placed = OfYaml(
      "server: {at: west}\n"
      "clients: [{at: east, count: 2, per_line: 2}, {at: west}]");
  const ClientNetwork wide = MakeClientNetwork(placed, nullptr, &core);
  EXPECT_EQ(wide.coreLinks.size(), 1u);
  // The two clients of one house have one line to the east, and each a port in the house.
  EXPECT_EQ(wide.accessLinks[0], wide.accessLinks[1]);
  EXPECT_EQ(wide.topology.Route(wide.placement.NodeOf(3), wide.placement.NodeOf(1), 0).size(), 4u);
  EXPECT_EQ(wide.topology.Route(wide.placement.NodeOf(3), wide.placement.NodeOf(2), 0).size(), 2u);
  EXPECT_EQ(MessageOf([&] {
              MakeClientNetwork(OfYaml("server: {at: west}\nclients: [{at: north}]"), nullptr,
                                &core);
            }),
            "group 1: at: got 'north'; allowed: a switch of the topology: east, west");
  EXPECT_EQ(MessageOf([&] { MakeClientNetwork(placed, nullptr, nullptr); }).substr(0, 28),
            "server: at: got 'west'; allo");
}

TEST(ClientNetwork, AHundredThousandClientsTakeLittle) {
  const Population phones = Make("phones", 100'000);
  const ClientNetwork network = MakeClientNetwork(phones, nullptr, nullptr);
  EXPECT_EQ(network.accessLinks.size(), 100'000u);
  const auto route = network.topology.Route(network.placement.NodeOf(network.serverEndpoint),
                                            network.placement.NodeOf(99'999), 0);
  EXPECT_EQ(route.back(), network.accessLinks[99'999]);
}

}  // namespace
}  // namespace legacy::fabric::population_test
