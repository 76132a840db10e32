#include "analysis/run_directory.h"

#include <fmt/format.h>

#include <cmath>

#include "tests/analysis/fixture.h"
#include "tests/message_of.h"

namespace legacy::analysis::run_directory_test {
namespace {

// The columns of files before those of RoCEv2 were added.
const char kOlderHeader[] =
    "policy,seed,fidelity,events,packets,fresh_steps,memoised_steps,retransmit_timeouts\n";
const char kNetworkHeader[] =
    "policy,seed,fidelity,events,packets,fresh_steps,memoised_steps,retransmit_timeouts,pauses,"
    "paused_share,cnps,naks,resent,reordered,max_buffer_bytes,max_headroom_share\n";
const char kNetworkLine[] = "dense,1,packet,10,20,1,9,0,3,0.25,4,5,6,7,800,0.5\n";
const NetworkRow kNetworkRow = {
    "dense", 1, "packet", 10, 20, 1, 9, 0, {3, .25, 4, 5, 6, 7, 800, .5}};

TEST_F(RunDirectoryTest, RowsReadBackAsWritten) {
  WriteManifest(directory_, MakeManifest({"dense", "top,k \"1%\""}, {7, 18446744073709551615u}));
  StepRow step;
  step.policy = "top,k \"1%\"";
  step.seed = 18446744073709551615u;
  step.step = 3;
  step.learning_rate = 0.1;
  step.training_loss = NAN;
  step.message_bytes = 1.0 / 3;
  step.simulated_seconds = 1e-300;
  step.fresh = false;
  StepWriter(directory_).Write(step);
  LinkRow link;
  link.policy = "dense";
  link.seed = 7;
  link.from = "host\n0";
  link.bytes = 9223372036854775807;
  LinkWriter(directory_).Write(link);

  const RunDirectory run = ReadRunDirectory(directory_);
  ASSERT_EQ(run.steps.size(), 1u);
  EXPECT_EQ(run.steps[0].policy, step.policy);
  EXPECT_EQ(run.steps[0].seed, step.seed);
  EXPECT_EQ(run.steps[0].step, 3);
  EXPECT_EQ(run.steps[0].learning_rate, 0.1);
  EXPECT_TRUE(std::isnan(run.steps[0].training_loss));
  EXPECT_EQ(run.steps[0].message_bytes, 1.0 / 3);
  EXPECT_EQ(run.steps[0].simulated_seconds, 1e-300);
  EXPECT_FALSE(run.steps[0].fresh);
  ASSERT_EQ(run.links.size(), 1u);
  EXPECT_EQ(run.links[0].from, link.from);
  EXPECT_EQ(run.links[0].bytes, link.bytes);
  EXPECT_EQ(run.notes,
            (std::vector<std::string>{"evaluations.csv is missing", "layers.csv is missing",
                                      "network.csv is missing"}));
}

TEST_F(RunDirectoryTest, WritingTwiceGivesTheSameBytes) {
  NetworkWriter(directory_).Write(kNetworkRow);
  const std::string first = Get("network.csv");
  NetworkWriter(directory_).Write(kNetworkRow);
  EXPECT_EQ(first, std::string(kNetworkHeader) + kNetworkLine);
  EXPECT_EQ(Get("network.csv"), first);
}

TEST_F(RunDirectoryTest, RowsAreOnDiskAtOnce) {
  NetworkWriter writer(directory_);
  EXPECT_EQ(Get("network.csv"), kNetworkHeader);
  writer.Write(kNetworkRow);
  EXPECT_EQ(Get("network.csv"), std::string(kNetworkHeader) + kNetworkLine);
}

TEST_F(RunDirectoryTest, AnUnwritableFileIsAnError) {
  EXPECT_THROW(StepWriter(directory_ / "absent"), Error);
  const std::filesystem::path full = directory_ / "steps.csv";
  std::filesystem::create_symlink("/dev/full", full);
  EXPECT_EQ(MessageOf([&] { StepWriter{directory_}; }),
            full.string() + ": cannot be written: it is a link");
}

TEST_F(RunDirectoryTest, AnUnfinishedLastLineIsIgnoredWithANote) {
  WriteManifest(directory_, MakeManifest({"dense"}, {1, 2}));
  Put("network.csv",
      std::string(kOlderHeader) + "dense,1,packet,10,20,1,9,0\ndense,2,packet,10,20,1,9,1");
  const RunDirectory run = ReadRunDirectory(directory_);
  ASSERT_EQ(run.network.size(), 1u);
  EXPECT_EQ(run.notes.back(), "network.csv: line 3 is unfinished and ignored");
}

TEST_F(RunDirectoryTest, ColumnsAreFoundByName) {
  WriteManifest(directory_, MakeManifest({"dense"}, {1}));
  Put("network.csv",
      "extra,seed,policy,fidelity,packets,events,fresh_steps,memoised_steps,retransmit_timeouts\n"
      "?,1,dense,flow,20,10,1,9,0\n");
  const RunDirectory run = ReadRunDirectory(directory_);
  EXPECT_EQ(run.network.at(0).events, 10);
  EXPECT_EQ(run.network.at(0).packets, 20);
}

TEST_F(RunDirectoryTest, FilesOfEarlierVersionsHaveNoFiguresOfRoce) {
  WriteManifest(directory_, MakeManifest({"dense"}, {1}));
  Put("network.csv", std::string(kOlderHeader) + "dense,1,packet,10,20,1,9,2\n");
  Put("links.csv",
      "policy,seed,link,from,to,rate_bits_per_second,bytes,packets,drops,marks,max_queue_bytes,"
      "busy_seconds,mean_utilisation,peak_utilisation,usd_per_gb,usd\n"
      "dense,1,a>b,a,b,1e9,5,1,0,0,7,0.1,0.2,0.3,0,0\n");
  const RunDirectory old = ReadRunDirectory(directory_);
  EXPECT_EQ(old.network.at(0).retransmit_timeouts, 2);
  EXPECT_EQ(old.network.at(0).roce.pauses, 0);
  EXPECT_EQ(old.links.at(0).max_queue_bytes, 7);
  EXPECT_EQ(old.links.at(0).pauses.pause_root, "");

  NetworkWriter(directory_).Write(kNetworkRow);
  LinkRow link = old.links.at(0);
  link.pauses = {2, 0.5, "c>d"};
  LinkWriter(directory_).Write(link);
  const RunDirectory run = ReadRunDirectory(directory_);
  EXPECT_EQ(run.network.at(0).roce.max_buffer_bytes, 800);
  EXPECT_EQ(run.network.at(0).roce.paused_share, 0.25);
  EXPECT_EQ(run.links.at(0).pauses.pauses, 2);
  EXPECT_EQ(run.links.at(0).pauses.paused_seconds, 0.5);
  EXPECT_EQ(run.links.at(0).pauses.pause_root, "c>d");
}

TEST_F(RunDirectoryTest, BadFieldsAreNamedWithFileLineColumnAndValue) {
  WriteManifest(directory_, MakeManifest({"dense", "topk"}, {1}));
  const std::string path = (directory_ / "network.csv").string();
  const auto error = [&](const std::string& line) {
    Put("network.csv", kOlderHeader + ("dense,1,packet,1,2,3,4,5\n" + line + "\n"));
    return ReadError();
  };
  EXPECT_EQ(error("topk,1,packet,12x,2,3,4,5"),
            path + ":3: column 'events': got '12x'; allowed: a whole number from 0 to 2^63 - 1");
  EXPECT_EQ(
      error("topk,1,packet,1,2,3,4,-5"),
      path +
          ":3: column 'retransmit_timeouts': got '-5'; allowed: a whole number from 0 to 2^63 - 1");
  EXPECT_EQ(error("topk,1,packet,1"),
            path + ":3: fields: got '4'; allowed: 8, as many as the header line has");
  EXPECT_EQ(error("gone,1,packet,1,2,3,4,5"),
            path + ":3: column 'policy': got 'gone'; allowed: dense, topk (manifest.json)");
  EXPECT_EQ(error("topk,2,packet,1,2,3,4,5"),
            path + ":3: column 'seed': got '2'; allowed: 1 (manifest.json)");
  EXPECT_EQ(error("dense,1,packet,1,2,3,4,5"),
            path + ":3: policy and seed: got 'dense,1'; allowed: once; line 2 has them");
  Put("network.csv", "policy,seed\n");
  EXPECT_EQ(ReadError(),
            path + ":1: columns: got 'policy,seed'; allowed: a header line with 'fidelity'");
}

TEST_F(RunDirectoryTest, NumbersAndOrderOfEvaluationsAreChecked) {
  WriteManifest(directory_, MakeManifest({"dense"}, {1, 2}));
  const std::string header =
      "policy,seed,step,simulated_seconds,message_bytes,nic_bytes,test_loss,test_accuracy\n";
  const std::string path = (directory_ / "evaluations.csv").string();
  Put("evaluations.csv", header + "dense,1,10,1.5,1,1,inf,\n");
  EXPECT_EQ(ReadError(),
            path + ":2: column 'test_accuracy': got ''; allowed: a number, nan, inf, -inf");
  Put("evaluations.csv",
      header + "dense,1,10,1,1,1,1,.5\ndense,2,5,1,1,1,1,.5\ndense,1,10,1,1,1,1,.5\n");
  EXPECT_EQ(ReadError(), path +
                             ":4: column 'step': got '10'; allowed: a step after 10, the one "
                             "before of this method and seed");
}

TEST_F(RunDirectoryTest, DecisionsHaveManyRowsAStepAndNeverGoBack) {
  WriteManifest(directory_, MakeManifest({"topk"}, {1}));
  RunDirectory run;
  AddDecisions(run, "topk", 1, 2, {0, 7});
  {
    DecisionWriter writer(directory_);
    for (const DecisionRow& row : run.decisions) writer.Write(row);
  }
  const std::string text = Get("decisions.csv");
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "policy,seed,step,decision,layer,parameter,error,budget,gain,time_estimate,reason");
  const std::vector<DecisionRow> read = ReadRunDirectory(directory_).decisions;
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(read[3].step, 7);
  EXPECT_EQ(read[3].decision, 1);
  EXPECT_EQ(read[3].layer, "layer1");
  EXPECT_EQ(read[3].reason, run.decisions[3].reason);
  Put("decisions.csv", text + "topk,1,6,2,layer0,0.01,nan,nan,nan,nan,late\n");
  EXPECT_NE(ReadError().find("decisions.csv:6: column 'step': got '6'"), std::string::npos);
}

TEST_F(RunDirectoryTest, ClientsComeInOrderAndTasksMayLackTimes) {
  WriteManifest(directory_, MakeManifest({"dense"}, {1}));
  TaskRow task;
  task.policy = "dense";
  task.seed = 1;
  task.downloaded = 2.5;
  task.end = "lost";
  TaskWriter(directory_).Write(task);
  ClientRow client;
  client.policy = "dense";
  client.seed = 1;
  const auto write = [&](const std::vector<int64_t>& numbers) {
    ClientWriter writer(directory_);
    for (const int64_t number : numbers) {
      client.client = number;
      writer.Write(client);
    }
  };
  write({0, 1, 2});
  const RunDirectory run = ReadRunDirectory(directory_);
  EXPECT_EQ(run.clients.size(), 3u);
  EXPECT_EQ(run.tasks.at(0).downloaded, 2.5);
  EXPECT_FALSE(run.tasks[0].worked || run.tasks[0].staleness);
  write({0, 2});
  EXPECT_EQ(ReadError(), (directory_ / "clients.csv").string() +
                             ":3: column 'client': got '2'; allowed: 1, the next client of this "
                             "method and seed");
}

TEST_F(RunDirectoryTest, TheManifestIsChecked) {
  EXPECT_NE(ReadError().find("allowed: a directory with a manifest.json"), std::string::npos);
  Put("manifest.json", "{\"format\": 1");
  EXPECT_NE(ReadError().find("manifest.json: byte 13: not valid JSON"), std::string::npos);
  Put("manifest.json", std::string(100'000, '[') + std::string(100'000, ']'));
  EXPECT_NE(ReadError().find("manifest.json: byte 65: nested deeper"), std::string::npos);
  const auto error = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json document = MakeManifest({"dense"}, {1});
    document["format"] = 2;
    document[key] = value;
    Put("manifest.json", document.dump());
    return ReadError();
  };
  EXPECT_EQ(error("workers", 4), "no error");
  EXPECT_NE(error("format", 3).find("format: got '3'; allowed: 1, 2"), std::string::npos);
  EXPECT_NE(error("policies", {"a", "a"}).find("policies: got '[\"a\",\"a\"]'"), std::string::npos);
  EXPECT_NE(error("policies", nullptr).find("policies: got 'null'"), std::string::npos);
  EXPECT_NE(error("seeds", {-1}).find("seeds: got '[-1]'"), std::string::npos);
  EXPECT_NE(error("workers", 4294967300).find("workers: got '4294967300'"), std::string::npos);
  EXPECT_NE(error("workers", 0).find("workers: got '0'"), std::string::npos);
  EXPECT_NE(error("parameters", 1.5).find("parameters: got '1.5'"), std::string::npos);
  EXPECT_NE(error("metrics", nullptr).find("metrics: got 'null'"), std::string::npos);
  EXPECT_NE(error("metrics", {{{"name", "a b"}}}).find("metrics: got 'object'"), std::string::npos);
  const nlohmann::json metric = MakeManifest({"dense"}, {1})["metrics"][0];
  EXPECT_NE(error("metrics", {metric, metric}).find("each name once"), std::string::npos);
  const auto target = [&](const char* name, double value) {
    return error("target", {{"metric", name}, {"value", value}});
  };
  EXPECT_EQ(target("accuracy", 0.85), "no error");
  EXPECT_NE(target("accuracy", 85).find("target: got '85'"), std::string::npos);
  EXPECT_NE(target("perplexity", 0.5).find("allowed: a metric of the task: accuracy"),
            std::string::npos);
  EXPECT_NE(error("target", 0.85).find("target: got '0.85'"), std::string::npos);
  EXPECT_EQ(error("target", nullptr), "no error");
  EXPECT_EQ(error("decisions", {{"dense", 3}}), "no error");
  EXPECT_NE(error("decisions", {{"dense", -1}}).find("decisions: got"), std::string::npos);
}

TEST_F(RunDirectoryTest, EachMetricHasAColumn) {
  const Metric top5 = {"top5", "top-5 accuracy", Metric::Better::kHigher, true};
  WriteManifest(directory_, MakeManifest({"dense"}, {1}, {kPerplexity, top5}, std::nullopt));
  EvaluationRow row;
  row.policy = "dense";
  row.seed = 1;
  row.metrics = {120.5, 0.25};
  EvaluationWriter(directory_, std::vector{kPerplexity, top5}).Write(row);
  EXPECT_EQ(Get("evaluations.csv"),
            "policy,seed,step,simulated_seconds,message_bytes,nic_bytes,test_loss,"
            "test_perplexity,test_top5\ndense,1,0,0,0,0,0,120.5,0.25\n");
  const RunDirectory run = ReadRunDirectory(directory_);
  EXPECT_EQ(run.manifest.metrics, (std::vector{kPerplexity, top5}));
  EXPECT_EQ(run.evaluations.at(0).metrics, row.metrics);
  const nlohmann::json units = run.manifest.document["units"];
  EXPECT_EQ(units["test_top5"], "fraction");
  EXPECT_FALSE(units.contains("test_perplexity"));
  Put("evaluations.csv",
      "policy,seed,step,simulated_seconds,message_bytes,nic_bytes,test_loss,"
      "test_perplexity\n");
  EXPECT_NE(ReadError().find("allowed: a header line with 'test_top5'"), std::string::npos);
}

TEST_F(RunDirectoryTest, DirectoriesOfTheFirstVersionAreRead) {
  nlohmann::json document = {{"format", 1},         {"program", "test"}, {"policies", {"dense"}},
                             {"seeds", {1}},        {"workers", 4},      {"parameters", 1000},
                             {"fidelity", "packet"}};
  document["target_accuracy"] = 0.8;
  Put("manifest.json", document.dump());
  Put("evaluations.csv",
      "policy,seed,step,simulated_seconds,message_bytes,nic_bytes,test_loss,test_accuracy\n"
      "dense,1,10,1,1,1,0.7,0.5\n");
  const RunDirectory run = ReadRunDirectory(directory_);
  EXPECT_EQ(run.manifest.metrics, std::vector{kAccuracy});
  EXPECT_EQ(run.manifest.target, (Target{"accuracy", 0.8}));
  EXPECT_EQ(run.evaluations.at(0).metrics, std::vector{0.5});
  document["target_accuracy"] = nullptr;
  Put("manifest.json", document.dump());
  EXPECT_FALSE(ReadRunDirectory(directory_).manifest.target);
  document["target_accuracy"] = 85;
  Put("manifest.json", document.dump());
  EXPECT_NE(ReadError().find("target_accuracy: got '85'"), std::string::npos);
}

TEST_F(RunDirectoryTest, ABadManifestIsNotWritten) {
  nlohmann::json document = MakeManifest({"dense"}, {1});
  document.erase("workers");
  EXPECT_THROW(WriteManifest(directory_, document), Error);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// Returns the metric's placeholder for all metrics in the document: "test_METRIC".
Metric Described() { return {"METRIC", "any", Metric::Better::kHigher, false}; }

// Checks that the document lists each file's columns in order, as rows "| `column` | ..." below the
// file's name.
template <class Row>
void ExpectDescribed(const std::string& text) {
  size_t position = text.find(fmt::format("## {}", Row::kFile));
  ASSERT_NE(position, std::string::npos) << Row::kFile;
  for (const std::string& column : ColumnNames<Row>(std::vector{Described()})) {
    position = text.find(fmt::format("\n| `{}` |", column), position);
    ASSERT_NE(position, std::string::npos) << Row::kFile << " " << column;
  }
}

// Checks that the document's table of a federated file names each column in its rows.
template <class Row>
void ExpectInTable(const std::string& text) {
  const size_t begin = text.find(fmt::format("\n| `{}` | a", Row::kFile));
  ASSERT_NE(begin, std::string::npos) << Row::kFile;
  const std::string table = text.substr(begin, text.find("\n\n", begin) - begin);
  for (const std::string& column : ColumnNames<Row>()) {
    if (column == "policy" || column == "seed" || column == "client") continue;
    EXPECT_NE(table.find(fmt::format("`{}`", column)), std::string::npos)
        << Row::kFile << " " << column;
  }
}

TEST(ResultsFormat, TheDocumentListsEveryColumn) {
  std::ostringstream text;
  text << std::ifstream(LEGACY_RESULTS_FORMAT).rdbuf();
  ExpectDescribed<StepRow>(text.str());
  ExpectDescribed<EvaluationRow>(text.str());
  ExpectDescribed<LayerRow>(text.str());
  ExpectDescribed<DecisionRow>(text.str());
  ExpectDescribed<LinkRow>(text.str());
  ExpectDescribed<NetworkRow>(text.str());
  ExpectDescribed<DoctorRow>(text.str());
  ExpectDescribed<MemoryRow>(text.str());
  ExpectInTable<RoundRow>(text.str());
  ExpectInTable<TaskRow>(text.str());
  ExpectInTable<ClientRow>(text.str());
}

}  // namespace
}  // namespace legacy::analysis::run_directory_test