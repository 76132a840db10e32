#include "scenarios/study/what_if/serve.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "analysis/study/report/html.h"
#include "base/error.h"
#include "scenarios/http/http_server.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/what_if/json.h"
#include "scenarios/study/what_if/recorded_study.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using WallSeconds = std::chrono::duration<double>;

constexpr auto kLook = std::chrono::milliseconds(100);
constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kUnavailable = 503;

bool IsLoopback(const std::string& address) {
  in_addr four{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return address == "localhost" || address == "::1";
}

// Returns the host of "127.0.0.1:8717" or "[::1]:8717", without the port; "" for any other text.
std::string HostName(const std::string& host) {
  const bool six = host.starts_with("[");
  const size_t end = std::min(host.find(six ? ']' : ':'), host.size());
  if (six && end == host.size()) return "";
  const std::string_view port = std::string_view(host).substr(six ? end + 1 : end);
  const bool digits = port.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (!port.empty() && (port.front() != ':' || port.size() == 1 || !digits)) return "";
  const std::string name = host.substr(six ? 1 : 0, six ? end - 1 : end);
  return six == (name.find(':') != std::string::npos) ? name : "";
}

HttpResponse JsonResponse(const json& document, int status = 200) {
  return {status, "application/json",
          document.dump(-1, ' ', false, json::error_handler_t::replace)};
}

HttpResponse ErrorResponse(const HttpRefusal& refusal) {
  return JsonResponse({{"error", refusal.reason}}, refusal.status);
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
  if (read.groups.empty() && read.refused.empty()) {
    throw Error(study.string() + ": no training is done that could be replayed on other networks");
  }
  return read;
}

}  // namespace

struct StudyServer::Impl {
  Impl(const fs::path& study, const ServeOptions& given);

  bool FromHere(const HttpRequest& request) const;
  HttpResponse Respond(const HttpRequest& request, const HttpServer::Gone& gone);
  HttpResponse Ask(const HttpRequest& request, const HttpServer::Gone& gone);
  json StudyDocument() const;

  const fs::path folder;
  const ServeOptions options;
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  WhatIf what_if;
  const WallSeconds reading;
  std::atomic<bool> stopped = false;
  HttpServer server;
};

StudyServer::Impl::Impl(const fs::path& study, const ServeOptions& given)
    : folder(study),
      options(given),
      what_if(ReadRecordings(study), given.threads),
      reading(std::chrono::steady_clock::now() - began),
      server(
          {.bind = given.bind, .port = given.port},
          [this](const HttpRequest& request, const HttpServer::Gone& gone) {
            return Respond(request, gone);
          },
          ErrorResponse) {}

HttpResponse StudyServer::Impl::Respond(const HttpRequest& request, const HttpServer::Gone& gone) {
  if (!FromHere(request)) {
    return ErrorResponse({kForbidden, "Host and Origin have to be this machine's own name"});
  }
  const bool get = request.method == "GET" || request.method == "HEAD";
  if (get && request.path == "/") {
    return {200, "text/html; charset=utf-8",
            analysis::StudyHtml(ReadStudy(folder), {.live = true})};
  }
  if (get && request.path == "/api/study") return JsonResponse(StudyDocument());
  if (get && request.path == "/api/groups") return JsonResponse(GroupsDocument(what_if));
  if (request.method == "POST" && request.path == "/api/what-if") return Ask(request, gone);
  return ErrorResponse(
      {kNotFound, "there is: GET /, GET /api/study, GET /api/groups, POST /api/what-if"});
}

// Returns true for requests from this machine. Without this check, a page under another name (DNS
// rebinding), or of another origin, could ask through the user's browser.
bool StudyServer::Impl::FromHere(const HttpRequest& request) const {
  if (!IsLoopback(options.bind)) return true;
  const std::string* host = request.Header("host");
  const std::string* origin = request.Header("origin");
  if (host == nullptr || !IsLoopback(HostName(*host))) return false;
  return origin == nullptr || *origin == "http://" + *host;
}

HttpResponse StudyServer::Impl::Ask(const HttpRequest& request, const HttpServer::Gone& gone) {
  const auto start = std::chrono::steady_clock::now();
  try {
    const WhatIfQuestion question = ParseQuestion(request.body);
    const auto answer =
        what_if.Answer(question, options.limit_seconds, [&] { return stopped || gone(); });
    json document = ToJson(*answer);
    document["unread"] = what_if.Unread(question);
    document["seconds"] = WallSeconds(std::chrono::steady_clock::now() - start).count();
    return JsonResponse(document);
  } catch (const WhatIfStopped& stop) {
    return ErrorResponse({kUnavailable, stop.what()});
  } catch (const Error& error) {
    return ErrorResponse({kBadRequest, error.what()});
  }
}

json StudyServer::Impl::StudyDocument() const {
  const analysis::Study study = ReadStudy(folder);
  return {{"name", study.name},
          {"title", study.title},
          {"points", CountStates(study.points)},
          {"trainings", CountStates(study.trainings)}};
}

StudyServer::StudyServer(const fs::path& study, const ServeOptions& options)
    : impl_(std::make_unique<Impl>(study, options)) {}

StudyServer::~StudyServer() = default;

std::string StudyServer::Url() const {
  const ServeOptions& options = impl_->options;
  const bool six = options.bind.find(':') != std::string::npos;
  return "http://" + (six ? "[" + options.bind + "]" : options.bind) + ":" +
         std::to_string(impl_->server.port()) + "/";
}

std::string StudyServer::Description() const {
  const WhatIfStudy& study = impl_->what_if.study();
  std::string text =
      fmt::format("{} recorded trainings, {} groups, read in {:.2f} s", study.recordings.size(),
                  study.groups.size(), impl_->reading.count());
  for (const WhatIfRefused& refused : study.refused) {
    text +=
        fmt::format("\n{}: {}: {}", refused.planned_by ? "planned alone" : "not to be asked about",
                    refused.label, refused.reason);
  }
  return text;
}

void StudyServer::Run() { impl_->server.Run(); }

void StudyServer::Stop() {
  impl_->stopped = true;
  impl_->server.Stop();
}

int Serve(const fs::path& study, const ServeOptions& options, const StopFlag& stop) {
  StudyServer server(study, options);
  fmt::print(stderr, "{}\n", server.Description());
  if (!IsLoopback(options.bind)) {
    fmt::print(stderr, "warning: --bind={}: everyone who reaches this address may ask\n",
               options.bind);
  }
  fmt::print(stderr, "{} (Ctrl-C ends it)\n", server.Url());
  const StopScope scope(kSecondsToStopChildren);
  std::jthread watch([&](const std::stop_token& ended) {
    while (stop == 0 && !ended.stop_requested()) std::this_thread::sleep_for(kLook);
    server.Stop();
  });
  server.Run();
  return 0;
}

}  // namespace legacy
