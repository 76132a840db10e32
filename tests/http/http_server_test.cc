// The server on this machine's own address: slow clients, too many clients, shutdown.
#include "scenarios/http/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/http/client.h"

namespace legacy::http_server_test {
namespace {

constexpr const char* kGet = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpServerOptions options) {
    server_ = std::make_unique<HttpServer>(
        options,
        [this](const HttpRequest& request, const HttpServer::Gone& gone) {
          return Answer(request, gone);
        },
        [](const HttpRefusal& refusal) {
          return HttpResponse{refusal.status, "text/plain", refusal.reason};
        });
    thread_ = std::thread([this] { server_->Run(); });
  }
  void TearDown() override {
    released_ = true;
    if (server_) server_->Stop();
    if (thread_.joinable()) thread_.join();
  }
  HttpResponse Answer(const HttpRequest& request, const HttpServer::Gone& gone) {
    if (request.path == "/throw") throw std::runtime_error("thrown");
    while (request.path == "/watch" && !released_ && !gone()) std::this_thread::yield();
    if (gone()) ++gone_;
    while (request.path == "/wait" && !released_) std::this_thread::yield();
    return {.body = request.method + " " + request.path + " " + request.body};
  }
  std::string Ask(const std::string& request) const {
    const test::Connection client(server_->port());
    client.Send(request);
    return client.Receive();
  }

  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  std::atomic<bool> released_ = false;
  std::atomic<int> gone_ = 0;  // clients that left before their answer
};

TEST_F(HttpServerTest, AnswersAndRefuses) {
  Start({.threads = 2});
  EXPECT_TRUE(Ask(kGet).ends_with("\r\n\r\nGET /hello "));
  EXPECT_TRUE(Ask("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").ends_with("POST /a abc"));
  EXPECT_TRUE(Ask("GET /throw HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 500 "));
  const std::string late = "POST /a HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n";
  const std::string refused = Ask(late + std::string(100'000, 'x'));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 413 ")) << "arrives though its body was not read";
  EXPECT_TRUE(Ask("HEAD /hello HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
}

// Forty clients send nothing, half a head or half a body, to a server with as few threads as
// possible.
TEST_F(HttpServerTest, SlowClientsDelayNoOthers) {
  Start({.threads = 1, .connections = 32});
  std::vector<test::Connection> slow;
  for (int i = 0; i < 40; ++i) {
    slow.emplace_back(server_->port());
    slow.back().Send(i % 3 == 0   ? ""
                     : i % 3 == 1 ? "GET /hello HTTP/1.1\r\nHost:"
                                  : "POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
    EXPECT_TRUE(Ask(kGet).ends_with("GET /hello ")) << i;
  }
  EXPECT_EQ(slow.front().Receive(), "") << "the oldest had to make room";
}

TEST_F(HttpServerTest, ARequestHasATotalTime) {
  Start({.threads = 1, .request_seconds = 0.05});
  const test::Connection client(server_->port());
  std::atomic<bool> over = false;
  std::thread dripping([&] {  // each byte would renew a time-out of single reads
    while (!over) {
      client.Send("x");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  const std::string response = client.Receive();
  over = true;
  dripping.join();
  EXPECT_TRUE(response.empty() || response.starts_with("HTTP/1.1 408 ")) << response;
}

TEST_F(HttpServerTest, StopsWhileItAnswers) {
  Start({.threads = 2});
  std::vector<test::Connection> clients;
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back(server_->port());
    clients.back().Send("GET /wait HTTP/1.1\r\n\r\n");
  }
  EXPECT_EQ(Ask("GET / HTTP/3.0\r\n\r\n").substr(0, 12), "HTTP/1.1 505") << "needs no thread";
  server_->Stop();
  released_ = true;
  thread_.join();
}

TEST_F(HttpServerTest, HandlersHearThatTheirClientHasGone) {
  Start({.threads = 1});
  {
    const test::Connection client(server_->port());
    client.Send("GET /watch HTTP/1.1\r\n\r\n");
    const test::Connection waiting(server_->port());  // after that client, for the only thread
    waiting.Send("GET /watch HTTP/1.1\r\n\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(gone_, 0);
  }
  EXPECT_TRUE(Ask(kGet).starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(gone_, 2);
}

TEST(HttpServer, NeedsAFreeAddressOfThisMachine) {
  const auto make = [](const std::string& bind, int port) {
    return std::make_unique<HttpServer>(
        HttpServerOptions{.bind = bind, .port = port},
        [](const HttpRequest&, const HttpServer::Gone&) { return HttpResponse{}; },
        [](const HttpRefusal&) { return HttpResponse{}; });
  };
  const auto first = make("127.0.0.1", 0);
  EXPECT_THROW(make("127.0.0.1", first->port()), Error);
  EXPECT_THROW(make("192.0.2.1", 0), Error) << "TEST-NET-1 is nobody's";
  EXPECT_THROW(make("no such name", 0), Error);
  first->Stop();
  first->Run();
}

}  // namespace
}  // namespace legacy::http_server_test