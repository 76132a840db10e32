// This is a server for a handful of users, which slow or hostile clients cannot hold up: one thread
// reads and writes all connections, a few threads answer. Every connection has a time in which its
// whole request has to arrive, and one in which its whole response has to be taken; where there are
// too many, the oldest for which nothing is computed is closed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "scenarios/http/http.h"

namespace legacy {

// HttpServerOptions configure the server.
struct HttpServerOptions {
  std::string bind = "127.0.0.1";
  int port = 0;  // 0: any port that is free
  int threads = 8;
  size_t connections = 256;
  double request_seconds = 10;   // limit from the connection to the request's last byte
  double response_seconds = 60;  // limit from the response's first byte to its last
  HttpLimits limits = {};
};

// An HttpServer serves one port.
class HttpServer {
 public:
  // A Handler answers requests, from several threads at once. What it throws is answered as status
  // 500.
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // A Refuser answers what was refused before a handler saw it.
  using Refuser = std::function<HttpResponse(const HttpRefusal&)>;

  // Takes the port, which nobody else may share. Throws Error where it is no address of this
  // machine, or not free.
  HttpServer(const HttpServerOptions& options, Handler handler, Refuser refuser);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // Serves until Stop; returns at once where that came before.
  void Run();
  // Stops the server. Any thread may call it; responses in work are dropped, once their handlers
  // have returned.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace legacy
