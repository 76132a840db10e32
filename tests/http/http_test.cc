// Requests that arrive in pieces, and refused requests.
#include "scenarios/http/http.h"

#include <gtest/gtest.h>

namespace legacy::http_test {
namespace {

using State = HttpReader::State;

constexpr const char* kHead = "POST /api?x=1 HTTP/1.1\r\nHost: localhost:80 \r\n";

HttpReader Take(const std::string& text, size_t piece = 1 << 20) {
  HttpReader reader;
  for (size_t at = 0; at < text.size(); at += piece) reader.Take(text.substr(at, piece));
  return reader;
}

int Status(const std::string& text) {
  const HttpReader reader = Take(text);
  return reader.state() == State::kRefused ? reader.refusal().status : 0;
}

int StatusWith(const std::string& header) { return Status(kHead + header + "\r\n\r\n"); }

TEST(Http, RequestsComeInPiecesOfAnySize) {
  const std::string text = kHead + std::string("Content-LENGTH: 7\r\n\r\n{\r\n\r\n}x and more");
  for (size_t piece = 1; piece < 90; ++piece) {
    const HttpReader reader = Take(text, piece);
    ASSERT_EQ(reader.state(), State::kDone) << piece;
    EXPECT_EQ(reader.request().method, "POST");
    EXPECT_EQ(reader.request().path, "/api");
    EXPECT_EQ(reader.request().body, "{\r\n\r\n}x");
    EXPECT_EQ(*reader.request().Header("host"), "localhost:80");
    EXPECT_EQ(reader.request().Header("origin"), nullptr);
  }
  for (size_t length = 0; length < text.find("and more") - 1; ++length) {
    EXPECT_EQ(Take(text.substr(0, length)).state(), State::kMore) << length;
  }
}

TEST(Http, MalformedRequestsAreRefused) {
  for (const char* line : {"GET", "GET /", "GET  HTTP/1.1", "GET x HTTP/1.1", "G ET / HTTP/1.1",
                           "GET /\t HTTP/1.1", "GET / /HTTP/1.1", " / HTTP/1.1", ""}) {
    EXPECT_GE(Status(std::string(line) + "\r\n\r\n"), 400) << line;
  }
  EXPECT_EQ(Status("GET / HTTP/2.0\r\n\r\n"), 505);
  for (const char* header : {": x", "a b: c", "nothing", " folded: x", "a\n: b", "a: \x01"}) {
    EXPECT_EQ(StatusWith(header), 400) << header;
  }
  EXPECT_EQ(StatusWith("Host: other"), 400) << "twice";
}

// No such request may reach a handler, or have its body read.
TEST(Http, RangesEncodingsAndChunksAreRefused) {
  EXPECT_EQ(StatusWith("Range: bytes=0-0,1-1"), 416);
  EXPECT_EQ(StatusWith("Content-Encoding: gzip\r\nContent-Length: 10"), 415);
  EXPECT_EQ(StatusWith("Transfer-Encoding: chunked"), 411);
  EXPECT_EQ(StatusWith("Expect: 100-continue\r\nContent-Length: 10"), 417);
  EXPECT_EQ(StatusWith("Content-Length: 1\r\nContent-Length: 1"), 400);
  for (const char* length : {"-1", "+1", "", "1 2", "0x10", "1,1"}) {
    EXPECT_EQ(StatusWith(std::string("Content-Length: ") + length), 400) << length;
  }
  EXPECT_EQ(StatusWith("Content-Encoding: identity"), 0);
}

TEST(Http, EverySizeIsBounded) {
  EXPECT_EQ(StatusWith("Content-Length: 65536"), 0);
  EXPECT_EQ(StatusWith("Content-Length: 65537"), 413);
  EXPECT_EQ(StatusWith("Content-Length: 99999999999999999999999"), 413);
  EXPECT_EQ(Status("GET /" + std::string(2100, 'x')), 414) << "before the line ends";
  EXPECT_EQ(Status("GET /" + std::string(2100, 'x') + " HTTP/1.1\r\n\r\n"), 414);
  EXPECT_EQ(Status("GET /" + std::string(20'000, 'x')), 414) << "in one piece as in many";
  EXPECT_EQ(StatusWith("a: " + std::string(17'000, 'x')), 431);
  EXPECT_EQ(Status(kHead + std::string("a: ") + std::string(17'000, 'x')), 431) << "without an end";
  std::string many;
  for (int i = 0; i < 64; ++i) many += "\r\na: b";
  EXPECT_EQ(StatusWith(many.substr(2)), 431);
}

TEST(Http, ResponsesSayTheirLengthAndEnd) {
  const std::string text = HttpText({404, "application/json", "{}"});
  EXPECT_TRUE(text.starts_with("HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n"));
  EXPECT_NE(text.find("\r\nContent-Length: 2\r\n"), std::string::npos);
  EXPECT_NE(text.find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\n\r\n{}"));
  EXPECT_TRUE(HttpText({.body = "x"}, false).ends_with("\r\n\r\n"));
}

}  // namespace
}  // namespace legacy::http_test