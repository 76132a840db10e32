#include "scenarios/http/http_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"

namespace legacy {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTimeout = 408;
constexpr int kServerError = 500;
constexpr int kBacklog = 128;
// The number of bytes of a request that are read after its refusal, so that the refusal arrives.
constexpr size_t kMostDropped = 256 << 10;
constexpr double kDropSeconds = 1;
constexpr auto kLongestSleep = std::chrono::seconds(10);

Clock::time_point In(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// A Descriptor closes its file.
class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  int get() const { return file_; }

 private:
  int file_;
};

struct Addresses {
  Addresses(const std::string& name, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    if (getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &first) != 0) {
      first = nullptr;
    }
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() {
    if (first != nullptr) freeaddrinfo(first);
  }
  addrinfo* first = nullptr;
};

// Opens the listening socket. A port that was just released may be used again, but not one that is
// in use.
Descriptor Listen(const std::string& name, int port) {
  const Addresses addresses(name, port);
  for (const addrinfo* at = addresses.first; at != nullptr; at = at->ai_next) {
    Descriptor listener(
        socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
    const int yes = 1;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(listener.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        listen(listener.get(), kBacklog) == 0) {
      return listener;
    }
  }
  throw Error("--bind, --port", name + ", " + std::to_string(port),
              "an address of this machine with a port that is free (--port=0: any)");
}

int PortOf(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const bool six = address.ss_family == AF_INET6;
  return ntohs(six ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

struct Connection {
  enum class Phase { kReading, kAnswering, kWriting, kDropping };

  Connection(Descriptor taken, const HttpLimits& limits, Clock::time_point until)
      : socket(std::move(taken)), reader(limits), end(until) {}

  Descriptor socket;
  HttpReader reader;
  Clock::time_point end;  // time by which the phase must have ended
  Phase phase = Phase::kReading;
  std::string response;
  size_t sent = 0;
  size_t dropped = 0;
  // True once the client has disconnected while it was being answered; the handler reads it.
  std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);

  short Events() const {
    if (phase == Phase::kAnswering) return POLLRDHUP;
    return phase == Phase::kWriting ? POLLOUT : POLLIN;
  }
};

// A Question is a request that waits for a thread.
struct Question {
  uint64_t id = 0;  // number of its connection
  HttpRequest request;
  std::shared_ptr<const std::atomic<bool>> gone;
};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpServerOptions& options, Handler handler, Refuser refuser)
      : options_(options),
        handler_(std::move(handler)),
        refuser_(std::move(refuser)),
        listener_(Listen(options.bind, options.port)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int port() const { return PortOf(listener_); }
  void Run();
  void Stop() {
    stopped_ = true;
    Wake();
  }

 private:
  using Connections = std::map<uint64_t, Connection>;

  void Wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  }
  void Answer();
  void Wait(std::vector<pollfd>& polled, std::vector<uint64_t>& ids) const;
  void TakeAnswers();
  void Accept();
  void MakeRoom();
  bool Serve(uint64_t id, Connection& connection, short events);
  bool Read(uint64_t id, Connection& connection);
  bool Write(Connection& connection);
  bool Drop(Connection& connection);
  void Respond(Connection& connection, const HttpResponse& response);
  void EndLate();

  const HttpServerOptions options_;
  const Handler handler_;
  const Refuser refuser_;
  const Descriptor listener_;
  const Descriptor wake_;
  std::atomic<bool> stopped_ = false;

  Connections connections_;  // connections by number; numbers grow with time
  uint64_t next_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> questions_;
  std::vector<std::pair<uint64_t, HttpResponse>> answers_;
};

// Runs in each answering thread: takes questions and hands answers back.
void HttpServer::Impl::Answer() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || !questions_.empty(); });
    if (stopped_) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    HttpResponse response;
    try {
      response = handler_(question.request, [&question] { return question.gone->load(); });
    } catch (const std::exception& error) {
      response = refuser_({kServerError, error.what()});
    }
    lock.lock();
    answers_.emplace_back(question.id, std::move(response));
    Wake();
  }
}

void HttpServer::Impl::Run() {
  std::vector<std::jthread> threads;
  for (int i = 0; i < options_.threads; ++i) threads.emplace_back([this] { Answer(); });
  std::vector<pollfd> polled;
  std::vector<uint64_t> ids;
  while (!stopped_) {
    Wait(polled, ids);
    TakeAnswers();
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto found = connections_.find(ids[i]);
      if (found != connections_.end() && !Serve(ids[i], found->second, polled[i + 2].revents)) {
        connections_.erase(found);
      }
    }
    EndLate();
    if (polled[0].revents != 0) Accept();
  }
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  threads.clear();
  connections_.clear();
}

// Waits for the listener, for a wake-up and for all connections, whose numbers are in `ids`.
void HttpServer::Impl::Wait(std::vector<pollfd>& polled, std::vector<uint64_t>& ids) const {
  polled = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  ids.clear();
  Clock::time_point end = Clock::now() + kLongestSleep;
  for (const auto& [id, connection] : connections_) {
    polled.push_back({connection.socket.get(), connection.Events(), 0});
    ids.push_back(id);
    if (connection.phase != Connection::Phase::kAnswering) end = std::min(end, connection.end);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  if (poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(0, left))) < 0) {
    for (pollfd& one : polled) one.revents = 0;
  }
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(wake_.get(), &count, sizeof(count));
}

void HttpServer::Impl::TakeAnswers() {
  std::vector<std::pair<uint64_t, HttpResponse>> answers;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(answers_);
  }
  for (const auto& [id, response] : answers) {
    const auto found = connections_.find(id);
    if (found != connections_.end()) Respond(found->second, response);
  }
}

void HttpServer::Impl::Accept() {
  while (true) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
      if (errno == EMFILE || errno == ENFILE) MakeRoom();
      return;
    }
    if (connections_.size() >= options_.connections) MakeRoom();
    if (connections_.size() >= options_.connections) continue;  // all are being answered
    connections_.emplace(
        std::piecewise_construct, std::tuple(next_++),
        std::tuple(std::move(socket), options_.limits, In(options_.request_seconds)));
  }
}

// Closes the oldest connection that is not being answered.
void HttpServer::Impl::MakeRoom() {
  const auto oldest = std::ranges::find_if(connections_, [](const auto& entry) {
    return entry.second.phase != Connection::Phase::kAnswering;
  });
  if (oldest != connections_.end()) connections_.erase(oldest);
}

// Returns false if the connection has ended.
bool HttpServer::Impl::Serve(uint64_t id, Connection& connection, short events) {
  if (events == 0) return true;
  switch (connection.phase) {
    case Connection::Phase::kReading:
      return Read(id, connection);
    case Connection::Phase::kWriting:
      return Write(connection);
    case Connection::Phase::kDropping:
      return Drop(connection);
    case Connection::Phase::kAnswering:
      *connection.gone = true;
      return false;
  }
  return false;
}

bool HttpServer::Impl::Read(uint64_t id, Connection& connection) {
  std::array<char, 4096> bytes;
  const ssize_t got = recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  switch (connection.reader.Take({bytes.data(), static_cast<size_t>(got)})) {
    case HttpReader::State::kMore:
      return true;
    case HttpReader::State::kRefused:
      Respond(connection, refuser_(connection.reader.refusal()));
      return true;
    case HttpReader::State::kDone:
      break;
  }
  connection.phase = Connection::Phase::kAnswering;
  const std::lock_guard lock(mutex_);
  questions_.push_back({id, connection.reader.request(), connection.gone});
  changed_.notify_one();
  return true;
}

void HttpServer::Impl::Respond(Connection& connection, const HttpResponse& response) {
  connection.response = HttpText(response, connection.reader.request().method != "HEAD");
  connection.phase = Connection::Phase::kWriting;
  connection.end = In(options_.response_seconds);
}

bool HttpServer::Impl::Write(Connection& connection) {
  const std::string_view left = std::string_view(connection.response).substr(connection.sent);
  const ssize_t sent = send(connection.socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  connection.sent += static_cast<size_t>(sent);
  if (connection.sent < connection.response.size()) return true;
  // Closing with bytes unread would reset the connection, and the response might never arrive.
  shutdown(connection.socket.get(), SHUT_WR);
  connection.response.clear();
  connection.phase = Connection::Phase::kDropping;
  connection.end = In(kDropSeconds);
  return true;
}

bool HttpServer::Impl::Drop(Connection& connection) {
  std::array<char, 4096> bytes;
  const ssize_t got = recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  connection.dropped += static_cast<size_t>(got);
  return got > 0 && connection.dropped < kMostDropped;
}

// Answers requests that did not arrive in time, and closes all other connections that take too
// long.
void HttpServer::Impl::EndLate() {
  const Clock::time_point now = Clock::now();
  for (auto at = connections_.begin(); at != connections_.end();) {
    Connection& connection = at->second;
    const bool late = connection.phase != Connection::Phase::kAnswering && now >= connection.end;
    if (late && connection.phase == Connection::Phase::kReading) {
      Respond(connection, refuser_({kTimeout, "the request did not arrive in time"}));
      ++at;
    } else {
      at = late ? connections_.erase(at) : std::next(at);
    }
  }
}

HttpServer::HttpServer(const HttpServerOptions& options, Handler handler, Refuser refuser)
    : impl_(std::make_unique<Impl>(options, std::move(handler), std::move(refuser))) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port(); }
void HttpServer::Run() { impl_->Run(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace legacy
