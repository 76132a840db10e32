// The what-if server over HTTP: its API, its refusals, its shutdown.
#include "scenarios/study/what_if/serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "scenarios/study/folder.h"
#include "tests/http/client.h"
#include "tests/scenarios/study/what_if_testing.h"

namespace legacy::serve_test {
namespace {

using nlohmann::json;
using test::Reply;
using ::testing::HasSubstr;

// Serves the small study on any free port, for as long as the object exists.
class RunningServer {
 public:
  RunningServer(const std::filesystem::path& study, const ServeOptions& options)
      : server_(study, options), thread_([this] { server_.Run(); }) {}
  ~RunningServer() {
    server_.Stop();
    thread_.join();
  }

  StudyServer& server() { return server_; }
  int port() const {
    const std::string url = server_.Url();
    return std::stoi(url.substr(url.rfind(':') + 1));
  }
  Reply Get(const std::string& path, const std::string& headers = "") const {
    return test::Ask(port(), "GET " + path, headers);
  }
  Reply Post(const std::string& question) const {
    return test::Ask(port(), "POST /api/what-if", "", question);
  }

 private:
  StudyServer server_;
  std::thread thread_;
};

class ServeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    study_ = std::make_unique<SmallStudy>("legacy-serve");
    StudyFolder::Create(study_->folder, study_->plan);
    running_ = std::make_unique<RunningServer>(study_->folder, Options());
  }
  static void TearDownTestSuite() {
    running_.reset();
    study_.reset();
  }

  static ServeOptions Options() { return {.port = 0, .threads = 2}; }

  static Reply Ask(const std::string& question) { return running_->Post(question); }
  static void ExpectError(const Reply& reply, int status, const std::string& message) {
    EXPECT_EQ(reply.status, status);
    EXPECT_THAT(reply.head, HasSubstr("Content-Type: application/json\r\n"));
    EXPECT_THAT(json::parse(reply.body).at("error").get<std::string>(), HasSubstr(message));
  }

  static std::unique_ptr<SmallStudy> study_;
  static std::unique_ptr<RunningServer> running_;
};

std::unique_ptr<SmallStudy> ServeTest::study_;
std::unique_ptr<RunningServer> ServeTest::running_;

TEST_F(ServeTest, ServesTheReportAndWhatTheStudyHas) {
  const Reply page = running_->Get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/html"));
  EXPECT_THAT(page.body, HasSubstr("A small study"));

  const json study = json::parse(running_->Get("/api/study").body);
  EXPECT_EQ(study["name"], "small");
  EXPECT_EQ(study["points"], json({{"done", 0}, {"failed", 0}, {"pending", 16}}));
  EXPECT_EQ(study["trainings"]["pending"], 6);

  const json groups = json::parse(running_->Get("/api/groups").body);
  EXPECT_EQ(groups, json::parse(R"({
      "groups": [
        {"id": 0, "label": "4 workers, density 1%", "kind": "workers", "workers": 4,
         "unread": {},
         "defaults": {"bandwidth": "1Gbps", "delay": "20us", "topology": "star", "slowdown": 2.0,
                      "slow_workers": 1, "device_speed": 1.0, "codec_speed": 1.0,
                      "fidelity": "analytic"}},
        {"id": 1, "label": "4 workers, density 10%", "kind": "workers", "workers": 4,
         "unread": {},
         "defaults": {"bandwidth": "1Gbps", "delay": "20us", "topology": "star", "slowdown": 2.0,
                      "slow_workers": 1, "device_speed": 1.0, "codec_speed": 1.0,
                      "fidelity": "analytic"}}],
      "refused": [], "policies": ["dense", "topk"], "seeds": [1, 2]})"));
}

TEST_F(ServeTest, Answers) {
  const auto result = Ask(R"({"group": 1, "bandwidth": 1e9, "delay": 1e-5, "topology": "fat-tree",
      "slowdown": 1.5, "slow_workers": 2, "device_speed": 1, "codec_speed": 1,
      "fidelity": "flow"})");
  ASSERT_EQ(result.status, 200) << result.body;
  const json answer = json::parse(result.body);
  EXPECT_GE(answer.at("seconds").get<double>(), 0);
  ASSERT_EQ(answer.at("policies").size(), 2u);
  EXPECT_EQ(answer["policies"][1]["policy"], "topk");
  const json& seed = answer["policies"][1]["seeds"].at(1);
  EXPECT_EQ(seed["seed"], 2);
  EXPECT_EQ(seed["curve"].size(), 4u);
  EXPECT_EQ(seed["curve"][3][0], seed["simulated_seconds"]);
  double parts = 0;
  for (const json& part : seed["parts"]) parts += part.get<double>();
  EXPECT_NEAR(parts, seed["step_seconds"].get<double>(), 1e-12);
}

TEST_F(ServeTest, AnswersTwoAtOnceAsOneAfterTheOther) {
  const std::string questions[] = {R"({"bandwidth": "3Mbps"})", R"({"bandwidth": "5Mbps"})"};
  json answers[2];
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 2; ++i) {
      clients.emplace_back([&, i] { answers[i] = json::parse(Ask(questions[i]).body); });
    }
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(answers[i].at("policies"), json::parse(Ask(questions[i]).body).at("policies"));
  }
  EXPECT_NE(answers[0].at("policies"), answers[1].at("policies"));
}

TEST_F(ServeTest, RefusesWithTheReason) {
  ExpectError(Ask("{"), 400, "question: byte 2: not valid JSON");
  ExpectError(Ask("\xff"), 400, "not valid JSON");
  ExpectError(Ask(std::string(60'000, '[')), 400, "nested deeper");
  ExpectError(Ask("[]"), 400, "question: got 'array'; allowed: a JSON object");
  ExpectError(Ask(R"({"bandwidth": "fast"})"), 400, "network.bandwidth: got 'fast'; allowed: ");
  ExpectError(Ask(R"({"fidelity": "packet"})"), 400, "got 'packet'; allowed: flow, analytic");
  ExpectError(Ask(R"({"topology": "star:hosts=2"})"), 400, "hosts");
  ExpectError(Ask(std::string(100'000, ' ')), 413, "at most 65536 bytes");
  ExpectError(running_->Get("/", "Range: bytes=0-0,1-1\r\n"), 416, "no Range");
  ExpectError(running_->Get("/", "Content-Encoding: gzip\r\n"), 415, "no Content-Encoding");
  for (const char* path : {"/study.sqlite", "/../study.yaml", "/api", "/api/what-if", "//"}) {
    ExpectError(running_->Get(path), 404, "there is: GET /");
  }
  ExpectError(test::Ask(running_->port(), "DELETE /api/groups"), 404, "there is: GET /");
}

TEST_F(ServeTest, ListensToThisMachinesNamesAlone) {
  const auto get = [](const std::string& host, const std::string& origin = "") {
    return running_->Get("/api/groups", "Host: " + host + "\r\n" +
                                            (origin.empty() ? "" : "Origin: " + origin + "\r\n"));
  };
  const std::string other = "machine's own name";
  ExpectError(get("evil.example"), 403, other);
  ExpectError(get("evil.example:8717"), 403, other);
  ExpectError(get("127.evil.example"), 403, other);
  ExpectError(get("localhost.evil.example"), 403, other);
  ExpectError(get(""), 403, other);
  ExpectError(get("localhost:1", "http://evil.example"), 403, other);
  ExpectError(get("localhost:1", "null"), 403, other);
  for (const char* host : {"[::1", "[::1]80", "[::1]:", "[::1]:x", "::1", "127.0.0.1:",
                           "[127.0.0.1]", "localhost:8o", "[localhost]", "[", "[]", ":80"}) {
    ExpectError(get(host), 403, other);
  }
  for (const char* host : {"localhost", "localhost:9000", "127.0.0.1:1", "[::1]:80"}) {
    EXPECT_EQ(get(host).status, 200) << host;
    EXPECT_EQ(get(host, "http://" + std::string(host)).status, 200);
  }
}

TEST_F(ServeTest, GivesUpAtItsLimit) {
  ServeOptions options = Options();
  options.limit_seconds = 0;
  RunningServer hasty(study_->folder, options);
  ExpectError(hasty.Post("{}"), 503, "no answer within 0 s");
}

TEST_F(ServeTest, StopsWhileItComputes) {
  RunningServer running(study_->folder, Options());
  std::atomic<bool> asked = false;
  std::jthread client([&] {
    asked = true;
    // Four simulations of 65,536 hosts take a good part of a second at the very least.
    const Reply result = running.Post(R"({"topology": "fat-tree:k=64"})");
    if (result.status != 0) ExpectError(result, 503, "stopped");
  });
  while (!asked) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  running.server().Stop();
}

// A page that asks again closes the connection of its last question.
TEST_F(ServeTest, AClientThatGoesCancelsItsQuestion) {
  {
    const test::Connection gone(running_->port());
    const std::string question = R"({"topology": "fat-tree:k=64"})";
    gone.Send("POST /api/what-if HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
              std::to_string(question.size()) + "\r\n\r\n" + question);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(Ask(R"({"bandwidth": "7Mbps"})").status, 200);
}

TEST_F(ServeTest, MayBeStoppedBeforeItRuns) {
  StudyServer server(study_->folder, Options());
  server.Stop();
  server.Run();
}

TEST_F(ServeTest, SharesItsPortWithNobody) {
  ServeOptions options = Options();
  options.port = running_->port();
  try {
    StudyServer second(study_->folder, options);
    FAIL() << "the port is taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--port"));
  }
}

TEST_F(ServeTest, NeedsAStudyWithARecordedTraining) {
  EXPECT_THROW(StudyServer(study_->folder / "none", Options()), Error);
  const std::filesystem::path untrained = study_->folder / "untrained";
  std::filesystem::create_directories(untrained);
  StudyFolder::Create(untrained, study_->plan);
  try {
    StudyServer server(untrained, Options());
    FAIL() << "nothing is trained";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no training is done"));
  }
}

}  // namespace
}  // namespace legacy::serve_test