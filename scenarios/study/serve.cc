#include "scenarios/study/serve.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "analysis/study/study_html.h"
#include "compress/error.h"
#include "ns3-module/fabric/error.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/what_if_json.h"
#include "scenarios/study/what_if_study.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Seconds = std::chrono::duration<double>;

constexpr size_t kMostQuestionBytes = 64 << 10;
constexpr int kConnections = 8;         // served at once
constexpr time_t kPatienceSeconds = 5;  // with a client that is slow to send or to read
constexpr auto kLook = std::chrono::milliseconds(100);

constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kTooLarge = 413;
constexpr int kServerError = 500;
constexpr int kUnavailable = 503;

bool IsLoopback(const std::string& address) {
  in_addr four{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return address == "localhost" || address == "::1";
}

// "127.0.0.1:8717" and "[::1]:8717" without the port.
std::string HostName(const std::string& host) {
  if (host.starts_with("[")) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

// No other program may share the port, as the library's own choice (SO_REUSEPORT) would let it.
void SetSocketOptions(int socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

// Looks now and then whether the server is to stop.
class Tasks : public httplib::ThreadPool {
 public:
  explicit Tasks(std::function<void()> look)
      : httplib::ThreadPool(kConnections), look_(std::move(look)) {}
  void on_idle() override { look_(); }

 private:
  std::function<void()> look_;
};

void SetJson(httplib::Response& response, const json& document) {
  response.set_content(document.dump(-1, ' ', false, json::error_handler_t::replace),
                       "application/json");
}

void SetError(httplib::Response& response, int status, const std::string& message) {
  response.status = status;
  SetJson(response, {{"error", message}});
}

std::string Refusal(int status) {
  if (status == kNotFound) {
    return "there is: GET /, GET /api/study, GET /api/groups, POST /api/what-if";
  }
  if (status == kTooLarge) {
    return "a question has at most " + std::to_string(kMostQuestionBytes) + " bytes";
  }
  return "not a request that is understood here";
}

template <class Items>
json CountStates(const Items& items) {
  json counts = {{"done", 0}, {"failed", 0}, {"pending", 0}};
  for (const auto& item : items) {
    json& count = counts[analysis::StateText(item.state)];
    count = count.get<int64_t>() + 1;
  }
  return counts;
}

WhatIfStudy ReadRecordings(const fs::path& study) {
  WhatIfStudy read = ReadWhatIfStudy(study, StudyFolder::Open(study).plan());
  if (read.groups.empty()) {
    throw Error(study.string() + ": no training is done that could be replayed on other networks");
  }
  return read;
}

}  // namespace

struct StudyServer::Impl {
  Impl(const fs::path& study, const ServeOptions& given);

  void SetLimits();
  void AddRoutes();
  void Listen();
  bool FromHere(const httplib::Request& request) const;
  void Ask(const httplib::Request& request, httplib::Response& response);
  json StudyDocument() const;
  void End();

  const fs::path folder;
  ServeOptions options;  // with the port that was taken
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  WhatIf what_if;
  const Seconds reading;
  std::atomic<bool> stopped = false;
  std::once_flag ended;
  httplib::Server server;
};

StudyServer::Impl::Impl(const fs::path& study, const ServeOptions& given)
    : folder(study),
      options(given),
      what_if(ReadRecordings(study), given.threads),
      reading(std::chrono::steady_clock::now() - began) {
  SetLimits();
  AddRoutes();
  Listen();
}

void StudyServer::Impl::SetLimits() {
  server.set_socket_options(SetSocketOptions);
  server.set_payload_max_length(kMostQuestionBytes);
  server.set_read_timeout(kPatienceSeconds);
  server.set_write_timeout(kPatienceSeconds);
  server.set_keep_alive_timeout(1);
  server.set_idle_interval(kLook);
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"}});
  server.new_task_queue = [this] {  // the library owns what it gets
    return std::make_unique<Tasks>([this] {
             if (stopped) End();
           })
        .release();
  };
}

void StudyServer::Impl::AddRoutes() {
  server.set_pre_routing_handler([this](const auto& request, auto& response) {
    if (FromHere(request)) return httplib::Server::HandlerResponse::Unhandled;
    SetError(response, kForbidden, "Host and Origin have to be this machine's own name");
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_error_handler([](const auto&, auto& response) {
    if (!response.body.empty()) return;
    SetError(response, response.status, Refusal(response.status));
  });
  server.set_exception_handler([](const auto&, auto& response, std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      SetError(response, kServerError, error.what());
    }
  });
  server.Get("/", [this](const auto&, auto& response) {
    response.set_content(analysis::StudyHtml(ReadStudy(folder), {.live = true}),
                         "text/html; charset=utf-8");
  });
  server.Get("/api/study", [this](const auto&, auto& response) {  //
    SetJson(response, StudyDocument());
  });
  server.Get("/api/groups",
             [this](const auto&, auto& response) { SetJson(response, GroupsDocument(what_if)); });
  server.Post("/api/what-if",
              [this](const auto& request, auto& response) { Ask(request, response); });
}

void StudyServer::Impl::Listen() {
  const int wanted = options.port;
  if (wanted == 0) {
    options.port = server.bind_to_any_port(options.bind);
  } else if (!server.bind_to_port(options.bind, wanted)) {
    options.port = -1;
  }
  if (options.port > 0) return;
  throw Error("--bind, --port", options.bind + ", " + std::to_string(wanted),
              "an address of this machine with a port that is free (--port=0: any)");
}

// A page of another name could have the user's browser ask here (DNS rebinding), and a page of another origin, too.
bool StudyServer::Impl::FromHere(const httplib::Request& request) const {
  if (!IsLoopback(options.bind)) return true;
  const std::string host = request.get_header_value("Host");
  if (!IsLoopback(HostName(host))) return false;
  return !request.has_header("Origin") || request.get_header_value("Origin") == "http://" + host;
}

void StudyServer::Impl::Ask(const httplib::Request& request, httplib::Response& response) {
  const auto start = std::chrono::steady_clock::now();
  try {
    const auto answer = what_if.Answer(ParseQuestion(request.body), options.limit_seconds,
                                       [this] { return stopped.load(); });
    json document = ToJson(*answer);
    document["seconds"] = Seconds(std::chrono::steady_clock::now() - start).count();
    SetJson(response, document);
  } catch (const WhatIfStopped& stop) {
    SetError(response, kUnavailable, stop.what());
  } catch (const Error& error) {
    SetError(response, kBadRequest, error.what());
  } catch (const fabric::Error& error) {
    SetError(response, kBadRequest, error.what());
  }
}

json StudyServer::Impl::StudyDocument() const {
  const analysis::Study study = ReadStudy(folder);
  return {{"name", study.name},
          {"title", study.title},
          {"points", CountStates(study.points)},
          {"trainings", CountStates(study.trainings)}};
}

// The library forgets a stop that comes before it listens, and takes one alone.
void StudyServer::Impl::End() {
  if (server.is_running()) std::call_once(ended, [this] { server.stop(); });
}

StudyServer::StudyServer(const fs::path& study, const ServeOptions& options)
    : impl_(std::make_unique<Impl>(study, options)) {}

StudyServer::~StudyServer() = default;

std::string StudyServer::Url() const {
  const ServeOptions& options = impl_->options;
  const bool six = options.bind.find(':') != std::string::npos;
  return "http://" + (six ? "[" + options.bind + "]" : options.bind) + ":" +
         std::to_string(options.port) + "/";
}

std::string StudyServer::Description() const {
  const WhatIfStudy& study = impl_->what_if.study();
  return fmt::format("{} recorded trainings, {} groups, read in {:.2f} s", study.recordings.size(),
                     study.groups.size(), impl_->reading.count());
}

void StudyServer::Run() {
  if (!impl_->stopped) impl_->server.listen_after_bind();
}

void StudyServer::Stop() {
  impl_->stopped = true;
  impl_->End();
}

int Serve(const fs::path& study, const ServeOptions& options,
          const volatile std::sig_atomic_t& stop) {
  StudyServer server(study, options);
  fmt::print(stderr, "{}\n", server.Description());
  if (!IsLoopback(options.bind)) {
    fmt::print(stderr, "warning: --bind={}: everyone who reaches this address may ask\n",
               options.bind);
  }
  fmt::print(stderr, "{} (Ctrl-C ends it)\n", server.Url());
  std::jthread watch([&](const std::stop_token& ended) {
    while (stop == 0 && !ended.stop_requested()) std::this_thread::sleep_for(kLook);
    server.Stop();
  });
  server.Run();
  return 0;
}

}  // namespace legacy
