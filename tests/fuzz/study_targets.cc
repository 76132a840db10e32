// Definitions and journals of studies, and requests and questions to the what-if server.
#include "analysis/study/journal.h"
#include "base/files/whole_file.h"
#include "scenarios/http/http.h"
#include "scenarios/study/grid.h"
#include "scenarios/study/what_if/question.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

constexpr const char* kQuestion =
    R"({"group": 1, "bandwidth": 1e9, "delay": "10us", "topology": "fat-tree", "slowdown": 1.5,)"
    R"( "slow_workers": 2, "device_speed": 1, "fidelity": "flow", "policies": ["topk"], "seeds": [1]})";

HttpReader ReadHttp(std::string_view text, size_t piece) {
  HttpReader reader;
  for (size_t at = 0; at < text.size(); at += piece) reader.Take(text.substr(at, piece));
  return reader;
}

}  // namespace

// Checks that a bad line is counted, and hides no other.
void FuzzJournal(ByteSpan input) {
  static MemoryFolder folder({"a.jsonl"});
  folder.file(0).Put(input);
  static const std::vector<Metric> metrics = {
      {"accuracy", "accuracy", Metric::Better::kHigher, true}};
  const analysis::JournalEntries entries = analysis::ReadJournals(folder.path(), metrics);
  Require((entries.skipped == 0) == entries.first_skipped.empty());
}

std::vector<Bytes> JournalSeeds() {
  return TextSeeds(
      {R"({"training":{"configuration":"{}","id":"00","message":"","policy":"dense","replay_refused":"","seed":1,"state":"done"}})"
       "\n"
       R"({"point":{"id":0,"policy":"dense","seed":1,"values":["1"],"training":"00","state":"failed","message":"m"}})"
       "\n"
       R"({"point":{"id":1,"policy":"topk","seed":1,"values":["1"],"training":"00","state":"done","message":"","figures":{},"curve":{"step":[1]}}})"
       "\n"});
}

// Checks that a request is read the same in pieces and as a whole.
void FuzzHttp(ByteSpan bytes) {
  Input input(bytes);
  const size_t piece = 1 + input.Take(1);
  const std::string text = TextOf(input.Rest());
  const HttpReader reader = ReadHttp(text, piece);
  const HttpReader whole = ReadHttp(text, text.size() + 1);
  Require(reader.state() == whole.state());
  Require(reader.refusal().status == whole.refusal().status);
  Require(reader.request().body == whole.request().body);
  Require(reader.request().headers == whole.request().headers);
  Require(reader.request().body.size() <= HttpLimits().body);
}

std::vector<Bytes> HttpSeeds() {
  const std::string question = kQuestion;
  return TextSeeds(
      {"GET /api/study HTTP/1.1\r\nHost: localhost:8717\r\nRange: bytes=0-1\r\n\r\n",
       "POST /api/what-if HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
       "Content-Length: " +
           std::to_string(question.size()) + "\r\n\r\n" + question},
      "\x20");
}

// Checks that the points of an accepted definition have a value for each axis, and a scenario that
// can be made.
void FuzzStudy(ByteSpan input) {
  Refusable([&] {
    const StudyDefinition definition = ParseStudy(TextOf(input), "f.yaml");
    Require(!definition.points.empty());
    for (const StudyDefinition::Combination* point :
         {&definition.points.front(), &definition.points.back()}) {
      Require(point->values.size() == definition.axes.size());
      for (size_t a = 0; a < definition.axes.size(); ++a) {
        Require(point->values[a] < definition.axes[a].settings.size());
      }
      ScenarioOf(definition, *point);
    }
  });
}

std::vector<Bytes> StudySeeds() {
  std::vector<std::string> texts = {
      "study: {name: a, max_points: 100}\nscenario: {compression: {policies: [dense, topk]}}\n"
      "grid:\n  bandwidth: {from: 1Gbps, to: 9Gbps, step: 2Gbps}\n  workers: [4, 8]\n  seeds: 2\n"
      "  o: {values: [1, 2], set: {topo: \"leaf-spine:oversubscription={}\"}}\n"
      "  l: {cases: {lan: {delay: 10us}, wan: {delay: 10ms, transport: wan}}}\n"
      "include: [{bandwidth: 1Tbps, workers: 64}]\nexclude: [{policy: [dense], l: wan}]\n"};
  for (const char* name : {"stragglers", "workers", "oversubscription"}) {
    texts.push_back(ReadWholeFile(std::string(LEGACY_ROOT "/scenarios/studies/") + name + ".yaml"));
  }
  return TextSeeds(texts);
}

void FuzzQuestion(ByteSpan input) {
  Refusable([&] {
    const WhatIfQuestion question = ParseQuestion(TextOf(input));
    Require(question.slow_workers.value_or(0) >= 0);
  });
}

std::vector<Bytes> QuestionSeeds() { return TextSeeds({kQuestion, "{\"codec_speed\": 0.5}"}); }

}  // namespace legacy::fuzz
