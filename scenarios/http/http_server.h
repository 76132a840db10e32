// A server for a handful of users, which slow or hostile clients cannot block: one thread reads and
// writes all connections, and a few threads answer. Every connection has a time limit for the
// arrival of its whole request, and one for the delivery of its whole response. Where there are too
// many connections, the oldest that is not being answered is closed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "scenarios/http/http.h"

namespace legacy {

// HttpServerOptions configure the server.
struct HttpServerOptions {
  std::string bind = "127.0.0.1";
  int port = 0;  // port; 0: any port that is free
  int threads = 8;
  size_t connections = 256;
  double request_seconds = 10;   // limit from the connection to the request's last byte
  double response_seconds = 60;  // limit from the response's first byte to its last
  HttpLimits limits = {};
};

// An HttpServer serves one port.
class HttpServer {
 public:
  // Returns true once the client has closed its side of the connection, so that nobody waits for
  // the answer.
  using Gone = std::function<bool()>;
  // A Handler answers requests, from several threads at once. An exception becomes a response with
  // status 500.
  using Handler = std::function<HttpResponse(const HttpRequest&, const Gone&)>;
  // A Refuser answers requests that were refused before a handler saw them.
  using Refuser = std::function<HttpResponse(const HttpRefusal&)>;

  // Takes the port, which nobody else may share. Throws Error where the address is not this
  // machine's, or the port is not free.
  HttpServer(const HttpServerOptions& options, Handler handler, Refuser refuser);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // Serves until Stop. It returns at once where Stop came first.
  void Run();
  // Stops the server. Any thread may call it. Responses in progress are dropped, once their
  // handlers have returned.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace legacy
