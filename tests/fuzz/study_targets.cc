// Journals of studies, and requests to the what-if server.
#include "analysis/study/journal.h"
#include "scenarios/http/http.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

HttpReader ReadHttp(std::string_view text, size_t piece) {
  HttpReader reader;
  for (size_t at = 0; at < text.size(); at += piece) reader.Take(text.substr(at, piece));
  return reader;
}

}  // namespace

// A bad line is counted, and hides no other.
void FuzzJournal(ByteSpan input) {
  static MemoryFolder folder({"a.jsonl"});
  folder.file(0).Put(input);
  const analysis::JournalEntries entries = analysis::ReadJournals(folder.path());
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

// However a request arrives, it is read alike.
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
  const std::string question =
      R"({"group": 1, "bandwidth": 1e9, "delay": "10us", "topology": "fat-tree", "slowdown": 1.5,)"
      R"( "slow_workers": 2, "device_speed": 1, "fidelity": "flow", "policies": ["topk"], "seeds": [1]})";
  return TextSeeds(
      {"GET /api/study HTTP/1.1\r\nHost: localhost:8717\r\nRange: bytes=0-1\r\n\r\n",
       "POST /api/what-if HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
       "Content-Length: " +
           std::to_string(question.size()) + "\r\n\r\n" + question},
      "\x20");
}

}  // namespace legacy::fuzz
