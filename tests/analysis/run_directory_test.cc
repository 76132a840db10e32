#include "analysis/run_directory.h"

#include <fmt/format.h>

#include <cmath>

#include "tests/analysis/fixture.h"
#include "tests/message_of.h"

namespace legacy::analysis::run_directory_test {
namespace {

const char kNetworkHeader[] =
    "policy,seed,fidelity,events,packets,fresh_steps,memoised_steps,retransmit_timeouts\n";

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
  NetworkRow row{"dense", 1, "packet", 10, 20, 1, 9, 0};
  NetworkWriter(directory_).Write(row);
  const std::string first = Get("network.csv");
  NetworkWriter(directory_).Write(row);
  EXPECT_EQ(first, std::string(kNetworkHeader) + "dense,1,packet,10,20,1,9,0\n");
  EXPECT_EQ(Get("network.csv"), first);
}

TEST_F(RunDirectoryTest, RowsAreOnDiskAtOnce) {
  NetworkWriter writer(directory_);
  EXPECT_EQ(Get("network.csv"), kNetworkHeader);
  writer.Write({"dense", 1, "packet", 10, 20, 1, 9, 0});
  EXPECT_EQ(Get("network.csv"), std::string(kNetworkHeader) + "dense,1,packet,10,20,1,9,0\n");
}

TEST_F(RunDirectoryTest, AnUnwritableFileIsAnError) {
  EXPECT_THROW(StepWriter(directory_ / "absent"), Error);
  const std::filesystem::path full = directory_ / "steps.csv";
  std::filesystem::create_symlink("/dev/full", full);
  EXPECT_EQ(MessageOf([&] { StepWriter{directory_}; }),
            full.string() + ": cannot be written: No space left on device");
}

TEST_F(RunDirectoryTest, AnUnfinishedLastLineIsIgnoredWithANote) {
  WriteManifest(directory_, MakeManifest({"dense"}, {1, 2}));
  Put("network.csv",
      std::string(kNetworkHeader) + "dense,1,packet,10,20,1,9,0\ndense,2,packet,10,20,1,9,1");
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

TEST_F(RunDirectoryTest, BadFieldsAreNamedWithFileLineColumnAndValue) {
  WriteManifest(directory_, MakeManifest({"dense", "topk"}, {1}));
  const std::string path = (directory_ / "network.csv").string();
  const auto error = [&](const std::string& line) {
    Put("network.csv", kNetworkHeader + ("dense,1,packet,1,2,3,4,5\n" + line + "\n"));
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
                             "before of this policy and seed");
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

TEST_F(RunDirectoryTest, TheManifestIsChecked) {
  EXPECT_NE(ReadError().find("allowed: a directory with a manifest.json"), std::string::npos);
  Put("manifest.json", "{\"format\": 1");
  EXPECT_NE(ReadError().find("manifest.json: byte 13: not valid JSON"), std::string::npos);
  Put("manifest.json", std::string(100'000, '[') + std::string(100'000, ']'));
  EXPECT_NE(ReadError().find("manifest.json: byte 65: nested deeper"), std::string::npos);
  const auto error = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json document = MakeManifest({"dense"}, {1});
    document["format"] = 1;
    document[key] = value;
    Put("manifest.json", document.dump());
    return ReadError();
  };
  EXPECT_EQ(error("workers", 4), "no error");
  EXPECT_NE(error("format", 2).find("format: got '2'; allowed: 1"), std::string::npos);
  EXPECT_NE(error("policies", {"a", "a"}).find("policies: got '[\"a\",\"a\"]'"), std::string::npos);
  EXPECT_NE(error("policies", nullptr).find("policies: got 'null'"), std::string::npos);
  EXPECT_NE(error("seeds", {-1}).find("seeds: got '[-1]'"), std::string::npos);
  EXPECT_NE(error("workers", 4294967300).find("workers: got '4294967300'"), std::string::npos);
  EXPECT_NE(error("workers", 0).find("workers: got '0'"), std::string::npos);
  EXPECT_NE(error("parameters", 1.5).find("parameters: got '1.5'"), std::string::npos);
  EXPECT_NE(error("target_accuracy", 85).find("target_accuracy: got '85'"), std::string::npos);
  EXPECT_EQ(error("target_accuracy", nullptr), "no error");
  EXPECT_EQ(error("decisions", {{"dense", 3}}), "no error");
  EXPECT_NE(error("decisions", {{"dense", -1}}).find("decisions: got"), std::string::npos);
}

TEST_F(RunDirectoryTest, ABadManifestIsNotWritten) {
  nlohmann::json document = MakeManifest({"dense"}, {1});
  document.erase("workers");
  EXPECT_THROW(WriteManifest(directory_, document), Error);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// Checks that the document lists each file's columns in order, as rows "| `column` | ..." below the
// file's name.
template <class Row>
void ExpectDescribed(const std::string& text) {
  size_t position = text.find(fmt::format("## {}", Row::kFile));
  ASSERT_NE(position, std::string::npos) << Row::kFile;
  for (const std::string& column : ColumnNames<Row>()) {
    position = text.find(fmt::format("\n| `{}` |", column), position);
    ASSERT_NE(position, std::string::npos) << Row::kFile << " " << column;
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
}

}  // namespace
}  // namespace legacy::analysis::run_directory_test