// Definitions of studies: every form of an axis, included and excluded points, and mistakes with
// line and column.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "scenarios/study/grid.h"
#include "scenarios/study/quantity.h"
#include "tests/message_of.h"

namespace legacy::study_grid_test {
namespace {

using Texts = std::vector<std::string>;

std::string ComplaintOf(const std::string& text) {
  return MessageOf([&] { ParseStudy(text, "s.yaml"); });
}

// Returns the study of a grid in one line of YAML.
StudyDefinition Grid(const std::string& grid, const std::string& rest = "") {
  return ParseStudy("grid: {" + grid + "}\n" + rest, "s.yaml");
}

analysis::StudyAxis Axis(const std::string& grid) { return Grid(grid).axes.at(0).axis; }

Texts Points(const StudyDefinition& study) {
  Texts texts;
  for (const auto& point : study.points) texts.push_back(PointText(study, point));
  return texts;
}

TEST(StudyGrid, ReadsAWholeDefinition) {
  const std::string text =
      "study: {name: speed, title: How fast, baseline: topk}\n"
      "scenario:\n"
      "  training: {steps: 7}\n"
      "  methods: {mine: {scheme: randomk, parameter: 2%}}\n"
      "  ns3: {\"ns3::TcpSocket::SegmentSize\": 1000}\n"
      "grid:\n"
      "  policies: [topk, mine]\n"
      "  seeds: 2\n"
      "  bandwidth: [1Gbps, 10Gbps]\n";
  const StudyDefinition study = ParseStudy(text, "s.yaml");
  EXPECT_EQ(study.name, "speed");
  EXPECT_EQ(study.title, "How fast");
  EXPECT_EQ(study.baseline, "topk");
  EXPECT_EQ(study.text, text);
  EXPECT_EQ(study.scenario.steps, 7);
  EXPECT_EQ(study.scenario.methods.at("mine").scheme, "randomk");
  EXPECT_EQ(study.scenario.ns3.size(), 1u);
  EXPECT_EQ(study.scenario.policies, (Texts{"topk", "mine"}));
  EXPECT_EQ(Points(study),
            (Texts{"topk, seed 1, bandwidth 1Gbps", "topk, seed 2, bandwidth 1Gbps",
                   "mine, seed 1, bandwidth 1Gbps", "mine, seed 2, bandwidth 1Gbps",
                   "topk, seed 1, bandwidth 10Gbps", "topk, seed 2, bandwidth 10Gbps",
                   "mine, seed 1, bandwidth 10Gbps", "mine, seed 2, bandwidth 10Gbps"}));
  const Scenario last = ScenarioOf(study, study.points.back());
  EXPECT_EQ(last.bandwidth.text(), "10Gbps");
  EXPECT_EQ(last.policies, Texts{"mine"});
  EXPECT_EQ(last.seed, 2u);
  EXPECT_EQ(last.seeds, 1);
}

TEST(StudyGrid, PointsWithLayersHaveTheDefaultsOfShapes) {
  const auto fidelities = [](const std::string& scenario, const std::string& grid) {
    const StudyDefinition study = ParseStudy(
        "scenario: {" + scenario + "}\ngrid: {policies: [dense], " + grid + "}\n", "s.yaml");
    Texts texts;
    for (const auto& point : study.points) {
      texts.push_back(ScenarioOf(study, point).fidelity.text());
    }
    return texts;
  };
  EXPECT_EQ(fidelities("", "layers: [resnet50], bandwidth: [1Gbps]"), Texts{"flow"});
  EXPECT_EQ(fidelities("training: {layers: resnet50}", "bandwidth: [1Gbps]"), Texts{"flow"});
  EXPECT_EQ(fidelities("network: {fidelity: packet}", "layers: [resnet50]"), Texts{"packet"});
  EXPECT_EQ(fidelities("", "layers: [resnet50], fidelity: [analytic, packet]"),
            (Texts{"analytic", "packet"}));
  EXPECT_EQ(fidelities("", "bandwidth: [1Gbps]"), Texts{"packet"});
}

TEST(StudyGrid, DefaultsOfNamesAndBaseline) {
  const StudyDefinition study = Grid("workers: [8], policies: [fp16, dense]");
  EXPECT_EQ(study.name, "s");
  EXPECT_EQ(study.title, "s");
  EXPECT_EQ(study.baseline, "dense");
  EXPECT_EQ(Grid("workers: [8], policies: [fp16, topk]").baseline, "fp16");
}

TEST(StudyGrid, AxesAreNamedByFlagsAndMeasuredByTheirOptions) {
  const struct {
    const char* grid;
    const char* name;
    const char* unit;
    std::vector<double> numbers;
  } cases[] = {
      {"bandwidth: [1Gbps, 2.5Gbps]", "bandwidth", "bit/s", {1e9, 2.5e9}},
      {"network.bandwidth: [400 Mbit/s]", "bandwidth", "bit/s", {4e8}},
      {"delay: [10us, 0ns]", "delay", "s", {1e-5, 0}},
      {"density: [0.1%, 0.02]", "density", "fraction", {0.001, 0.02}},
      {"workers: [8, 16]", "workers", "", {8, 16}},
      {"channels: [1, 8]", "channels", "", {1, 8}},
      {"protocol: [ll, simple]", "protocol", "", {}},
      {"learning-rate: [0.1, 1e-2]", "learning_rate", "", {0.1, 0.01}},
      {"bucket: [1MiB]", "bucket", "B", {1048576}},
      {"device-profile: [a100-datasheet]", "device_profile", "", {}},
      {"topo: [star, \"fat-tree:k=8\"]", "topo", "", {}},
  };
  for (const auto& entry : cases) {
    const analysis::StudyAxis axis = Axis(entry.grid);
    EXPECT_EQ(axis.name, entry.name);
    EXPECT_EQ(axis.unit, entry.unit) << entry.grid;
    EXPECT_EQ(axis.numbers, entry.numbers) << entry.grid;
  }
  EXPECT_EQ(Axis("decay-steps: [[5, 9], [7]]").values, (Texts{"5,9", "7"}));
}

TEST(StudyGrid, LogarithmicSteps) {
  EXPECT_EQ(Axis("bandwidth: {from: 10Mbps, to: 1Gbps, points: 4}").values,
            (Texts{"10Mbps", "46.4Mbps", "215Mbps", "1Gbps"}));
  EXPECT_EQ(Axis("workers: {from: 4, to: 4096, points: 6}").values,
            (Texts{"4", "16", "64", "256", "1024", "4096"}));
  EXPECT_EQ(Axis("density: {from: 0.1%, to: 10%, points: 5}").values,
            (Texts{"0.1%", "0.316%", "1%", "3.16%", "10%"}));
  EXPECT_EQ(Axis("delay: {from: 1us, to: 100ms, points: 3}").values,
            (Texts{"1us", "316us", "100ms"}));
  EXPECT_EQ(Axis("delay: {from: 1ns, to: 10ns, points: 3}").values, (Texts{"1ns", "3ns", "10ns"}));
  EXPECT_EQ(Axis("bandwidth: {from: 7.77777Gbps, to: 1.23456Tbps, points: 2}").values,
            (Texts{"7.77777Gbps", "1.23456Tbps"}));
}

TEST(StudyGrid, LinearSteps) {
  EXPECT_EQ(Axis("bandwidth: {from: 0.5Gbps, to: 2Gbps, step: 500Mbps}").values,
            (Texts{"0.5Gbps", "1Gbps", "1.5Gbps", "2Gbps"}));
  EXPECT_EQ(Axis("learning-rate: {from: 0.1, to: 0.4, step: 0.1}").values,
            (Texts{"0.1", "0.2", "0.3", "0.4"}));
  EXPECT_EQ(Axis("delay: {from: 0us, to: 30us, step: 10us}").values,
            (Texts{"0us", "10us", "20us", "30us"}));
}

// A value is its text: the number in the text, and no other, is simulated and drawn.
TEST(StudyGrid, TextsOfStepsReadBackToTheirNumbers) {
  for (const char* range :
       {"bandwidth: {from: 9.6kbps, to: 800Gbps, points: 97}",
        "delay: {from: 3ns, to: 7s, points: 23}", "density: {from: 0.00003, to: 100%, points: 41}",
        "learning-rate: {from: 1e-7, to: 3, points: 31}"}) {
    const StudyDefinition study = Grid(range);
    const GridAxis& axis = study.axes.at(0);
    const OptionKind kind = [&] {
      for (const ScenarioOption& option : ScenarioOptions()) {
        if (option.key == axis.settings[0].begin()->first) return option.kind;
      }
      return OptionKind::kText;
    }();
    const double first = axis.axis.numbers.front();
    const double last = axis.axis.numbers.back();
    const auto n = static_cast<double>(axis.axis.values.size() - 1);
    for (size_t v = 0; v < axis.axis.values.size(); ++v) {
      const double number = axis.axis.numbers[v];
      EXPECT_EQ(QuantityOf(kind, axis.axis.values[v]), number) << axis.axis.values[v];
      EXPECT_EQ(QuantityOf(kind, QuantityText(kind, number)), number) << axis.axis.values[v];
      EXPECT_EQ(axis.settings[v].begin()->second, axis.axis.values[v]);
      const double exact = first * std::pow(last / first, static_cast<double>(v) / n);
      EXPECT_NEAR(number / exact, 1, number < 1e-6 ? 0.1 : 0.005) << axis.axis.values[v];
    }
  }
}

TEST(StudyGrid, ValuesIntoTextsOfSeveralOptions) {
  const StudyDefinition study = Grid(
      "oversubscription: {values: [1, 4], set: {topo: \"leaf-spine:oversubscription={}\", "
      "network.placement: \"random:{}\", workers: 8}}");
  const GridAxis& axis = study.axes.at(0);
  EXPECT_EQ(axis.axis.numbers, (std::vector<double>{1, 4}));
  EXPECT_EQ(axis.settings[1], (OptionTexts{{"network.topology", "leaf-spine:oversubscription=4"},
                                           {"network.placement", "random:4"},
                                           {"training.workers", "8"}}));
  const Texts slow =
      Axis("slow: {from: 1, to: 3, step: 1, set: {stragglers: \"fixed:count={}\"}}").values;
  EXPECT_EQ(slow, (Texts{"1", "2", "3"}));
  const analysis::StudyAxis rate = Axis("speed: {values: [1Gbps], set: {bandwidth: \"{}\"}}");
  EXPECT_EQ(rate.unit, "bit/s");
  EXPECT_EQ(rate.numbers, std::vector<double>{1e9});
  EXPECT_TRUE(Axis("skew: {values: [1, x], set: {stragglers: \"{}\"}}").numbers.empty());
}

// Transports with options are values of an axis, in quotes for their commas.
TEST(StudyGrid, TransportsWithOptionsAreValues) {
  const std::string axis =
      "network.transport: [datacenter, roce, \"roce:cc=hpcc,pfc=on\", 'roce:cc=none,buffer=2MiB']";
  const StudyDefinition study = Grid(axis);
  EXPECT_EQ(study.axes.at(0).axis.values,
            (Texts{"datacenter", "roce", "roce:cc=hpcc,pfc=on", "roce:cc=none,buffer=2MiB"}));
  EXPECT_EQ(study.axes.at(0).settings[2],
            (OptionTexts{{"network.transport", "roce:cc=hpcc,pfc=on"}}));
  EXPECT_EQ(Axis("transport: [roce, \"roce:cc=hpcc,pfc=off\"]").values,
            (Texts{"roce", "roce:cc=hpcc,pfc=off"}));
}

TEST(StudyGrid, NamedCases) {
  const StudyDefinition study =
      Grid("links: {cases: {lan: {}, wan: {delay: 10ms, transport: wan}}}");
  const GridAxis& axis = study.axes.at(0);
  EXPECT_EQ(axis.axis.values, (Texts{"lan", "wan"}));
  EXPECT_TRUE(axis.axis.numbers.empty());
  EXPECT_TRUE(axis.settings[0].empty());
  EXPECT_EQ(axis.settings[1],
            (OptionTexts{{"network.delay", "10ms"}, {"network.transport", "wan"}}));
  EXPECT_EQ(Axis("part: {cases: {1: {delay: 1us}, 2.5: {delay: 2us}}}").numbers,
            (std::vector<double>{1, 2.5}));
}

TEST(StudyGrid, MethodsArePolicies) {
  const StudyDefinition study =
      Grid("methods: [dense, topk], workers: [4, 8]", "exclude: [{method: topk, workers: 8}]\n");
  EXPECT_EQ(Points(study), (Texts{"dense, seed 1, workers 4", "topk, seed 1, workers 4",
                                  "dense, seed 1, workers 8"}));
  EXPECT_EQ(Points(Grid("compression.methods: [dense], workers: [4]")).size(), 1u);
  EXPECT_NE(ComplaintOf("grid: {methods: [dense], policies: [topk], workers: [4]}")
                .find("policies: methods are given twice"),
            std::string::npos);
  EXPECT_NE(ComplaintOf("scenario:\n  compression:\n    methods: [topkk]\ngrid: {workers: [4]}\n")
                .find("s.yaml:"),
            std::string::npos);
}

TEST(StudyGrid, ExcludeTakesAwayWhereAllThatIsNamedFits) {
  const StudyDefinition study =
      Grid("policies: [dense, topk], density: [0.1%, 1%], workers: [4, 8]",
           "exclude:\n"
           "- {policy: [dense], density: 0.001}\n"
           "- {policy: topk, density: [0.1%, 1%], workers: 8, seed: 1}\n");
  EXPECT_EQ(Points(study),
            (Texts{"topk, seed 1, density 0.1%, workers 4", "dense, seed 1, density 1%, workers 4",
                   "topk, seed 1, density 1%, workers 4", "dense, seed 1, density 1%, workers 8"}));
}

TEST(StudyGrid, IncludeAddsValuesWithAllOfTheAxesNotNamed) {
  const StudyDefinition study =
      Grid("policies: [dense, topk], bandwidth: [1Gbps, 10Gbps], delay: [1us, 2us]",
           "exclude: [{bandwidth: 10Gbps}]\n"
           "include: [{network.bandwidth: [5Gbps, 10000Mbps], policy: topk}, {delay: 3us, "
           "bandwidth: 1Gbps, policy: dense}]\n");
  EXPECT_EQ(study.axes[0].axis.values, (Texts{"1Gbps", "5Gbps", "10Gbps"}));
  EXPECT_EQ(study.axes[0].axis.numbers, (std::vector<double>{1e9, 5e9, 1e10}));
  EXPECT_EQ(study.axes[0].settings[1].at("network.bandwidth"), "5Gbps");
  const Texts points = Points(study);
  EXPECT_EQ(
      Texts(points.begin() + 4, points.end()),
      (Texts{"topk, seed 1, bandwidth 5Gbps, delay 1us", "topk, seed 1, bandwidth 5Gbps, delay 2us",
             "topk, seed 1, bandwidth 10Gbps, delay 1us",
             "topk, seed 1, bandwidth 10Gbps, delay 2us",
             "dense, seed 1, bandwidth 1Gbps, delay 3us"}));
  EXPECT_EQ(std::set<std::string>(points.begin(), points.end()).size(), 9u);
}

TEST(StudyGrid, MistakesAreNamedWithLineAndColumn) {
  const std::string head = "scenario:\n  network: {fidelity: flow}\ngrid:\n";
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"grid: [1, 2\n", "s.yaml:2:1: "},
      {"", "s.yaml: expected a section grid"},
      {"grids: {}\n", "s.yaml:1:1: unknown section 'grids'; did you mean grid?"},
      {"study: {nam: x}\ngrid: {workers: [4]}\n",
       "s.yaml:1:9: unknown key 'study.nam'; did you mean study.name?"},
      {"study: {baseline: fp16}\ngrid: {workers: [4], policies: [dense]}\n",
       "s.yaml:1:8: study.baseline: got 'fp16'; allowed: dense"},
      {"study: {name: a/b}\ngrid: {workers: [4]}\n", "study.name: got 'a/b'"},
      {"grid: {}\n", "s.yaml: grid: expected at least one axis"},
      {"scenario:\n  netwrk: {}\ngrid: {workers: [4]}\n", "s.yaml:2:3: unknown section 'netwrk'"},
      {"scenario:\n  network: {fidelity: exact}\ngrid: {workers: [4]}\n",
       "s.yaml:2:13: network.fidelity: got 'exact'"},
      {"scenario: {network: {pcap: x}}\ngrid: {workers: [4]}\n",
       "s.yaml:1:11: network.pcap: got 'x'"},
      {head + "  bandwith: [1Gbps]\n",
       "s.yaml:4:3: unknown option 'bandwith'; did you mean bandwidth?"},
      {head + "  bandwidth: [1Gbps, fast]\n",
       "s.yaml:4:22: axis bandwidth: network.bandwidth: got 'fast'; allowed: a rate"},
      {head + "  bandwidth: [1Gbps, 1000Mbps]\n",
       "s.yaml:4:22: axis bandwidth: 1000Mbps: is given twice, as 1Gbps"},
      {head + "  bandwidth: 1Gbps\n", "s.yaml:4:3: bandwidth: expected a list of values"},
      {head + "  bandwidth: []\n", "s.yaml:4:3: bandwidth: expected at least one value"},
      {head + "  bandwidth: {from: 1Gbps, to: 2Gbps}\n",
       "s.yaml:4:3: bandwidth: expected values, or"},
      {head + "  bandwidth: {from: 1Gbps, upto: 2Gbps}\n", "s.yaml:4:28: unknown key 'upto'"},
      {head + "  bandwidth: {from: 2Gbps, to: 1Gbps, points: 3}\n",
       "s.yaml:4:3: to: got '1Gbps'; allowed: above from, 2Gbps"},
      {head + "  delay: {from: 0us, to: 1us, points: 3}\n", "from: got '0us'; allowed: above 0"},
      {head + "  delay: {from: 1us, to: 2us, points: 1}\n", "points: got '1'"},
      {head + "  workers: {from: 2, to: 4, points: 9}\n", "2 would stand twice"},
      {head + "  workers: {from: 2, to: 9, step: 2}\n",
       "to: got '9'; allowed: from and a whole number of steps of 2"},
      {head + "  topo: {from: a, to: b, points: 2}\n", "values without numbers"},
      {head + "  x: {values: [1], set: {topo: star}}\n",
       "s.yaml:4:3: set: no option takes the value"},
      {head + "  x: {values: [1], set: {tpo: \"{}\"}}\n",
       "s.yaml:4:26: unknown option 'tpo'; did you mean topo?"},
      {head + "  x: {cases: {a: {delay: fast}}}\n", "s.yaml:4:19: network.delay: got 'fast'"},
      {head + "  x: {cases: {a: {}, a: {}}}\n", "s.yaml:4:22: cases.a: is given twice"},
      {head + "  steps: [5, 10]\n",
       "s.yaml:4:3: axis: got 'steps'; allowed: a name that is no other column"},
      {head + "  \"Größe\": {cases: {a: {}}}\n", "s.yaml:4:3: axis: got 'Größe'"},
      {head + "  policy: [dense]\n",
       "s.yaml:4:3: unknown axis 'policy'; did you mean policies?; allowed: policies, seeds"},
      {head + "  seed: [1, 2]\n", "unknown axis 'seed'; did you mean seeds?"},
      {head + "  x: {values: [1, 2], set: {seed: \"{}\"}}\n", "seed: no axis of its own"},
      {head + "  x: {values: [a, b], set: {out: \"{}\"}}\n",
       "out: the results of a point do not depend on it"},
      {head + "  workers: [4]\n  x: {values: [4], set: {workers: \"{}\"}}\n",
       "s.yaml:5:3: axis x: sets training.workers, which axis workers sets as well"},
      {head + "  workers: [4]\n  training.workers: [8]\n",
       "s.yaml:5:3: axis: got 'training.workers'; allowed: another name"},
      {head + "  workers: [4]\n  policies: [dense, topkk]\n",
       "got 'topkk'; did you mean topk?; legacy-scenario --policies=list prints all"},
      {head + "  workers: [4]\n  policies: [dense, dense]\n",
       "policies: got 'dense'; allowed: each method once"},
      {head + "  model: [lenet5, lenet6]\n",
       "s.yaml:4:19: point 7 (dense, seed 1, model lenet6): training.model: got 'lenet6'; "
       "did you mean lenet5?; legacy-scenario --model=list prints all"},
      // Mistakes of several options together are reported at the option that is named, else where
      // the point differs from the first one, else at the section that all points share.
      {"scenario:\n  network:\n    fidelity: analytic\n    congestion: reno\n"
       "  federated: {clients: 4}\n"
       "grid: {policies: [dense], up-rates: [1, 2]}\n",
       "s.yaml:4:5: point 0 (dense, seed 1, up_rates 1): --congestion: got 'reno'; allowed: "
       "nothing"},
      {"scenario: {federated: {clients: 4}}\ngrid:\n  policies: [dense]\n  fidelity: [flow, "
       "analytic]\n"
       "  congestion: [cubic, reno]\n",
       "s.yaml:5:16: point 2 (dense, seed 1, fidelity analytic, congestion cubic): --congestion: "
       "got"},
      {"scenario: {federated: {clients: 4}}\ngrid:\n  policies: [dense]\n  size:\n    cases:\n"
       "      a: {streams: 1}\n      b: {fidelity: analytic, congestion: reno}\n",
       "s.yaml:7:43: point 1 (dense, seed 1, size b): --congestion: got 'reno'; allowed: nothing "
       "at"},
      {"scenario:\n  federated: {clients: 4, exchange: ring-allreduce}\n"
       "grid:\n  policies: [dense]\n  up-rates: [1]\n  downlink: [dense, fp16]\n",
       "s.yaml:6:21: point 1 (dense, seed 1, up_rates 1, downlink fp16): downlink of dense: got "},
      {"scenario:\n  federated: {clients: 4, population: \"broadband:price=x\"}\n"
       "grid: {policies: [dense], up-rates: [1, 2]}\n",
       "s.yaml:2:3: point 0 (dense, seed 1, up_rates 1): "},
      {head + "  workers: [4]\nexclude: {workers: 4}\n",
       "s.yaml:5:10: exclude: expected a list of"},
      {head + "  workers: [4]\nexclude: [{worker: 4}]\n",
       "s.yaml:5:12: unknown axis 'worker'; did you mean workers?"},
      {head + "  workers: [4]\nexclude: [{workers: 8}]\n",
       "s.yaml:5:12: workers: got '8'; allowed: 4"},
      {head + "  workers: [4]\nexclude: [{policy: none}]\n",
       "s.yaml:5:12: method: got 'none'; allowed: dense"},
      {head + "  workers: [4]\nexclude: [{seed: 2}]\n", "s.yaml:5:12: seed: got '2'"},
      {head + "  workers: [4]\nexclude: [{workers: 4}]\n", "exclude leaves no point"},
      {head + "  workers: [4]\ninclude: [{workers: 4}]\n",
       "s.yaml:5:11: include: dense, seed 1, workers 4 is there already"},
      {head + "  workers: [4]\ninclude: [{workers: many}]\n",
       "s.yaml:5:12: training.workers: got 'many'"},
      {head + "  x: {cases: {a: {}}}\ninclude: [{x: b}]\n",
       "s.yaml:5:12: case: got 'b'; allowed: a"},
      {head + "  seeds: 10000\n  delay: {from: 1us, to: 1s, points: 20}\n", "grid: points: got '"},
  };
  for (const auto& entry : cases) {
    const std::string message = ComplaintOf(entry.text);
    EXPECT_NE(message.find(entry.message), std::string::npos) << entry.text << message;
    EXPECT_EQ(message.rfind("s.yaml:", 0), 0u) << message;
  }
}

}  // namespace
}  // namespace legacy::study_grid_test