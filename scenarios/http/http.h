// Requests and responses of HTTP/1.1 (RFC 9112) as far as a server for pages and questions needs
// them: one request a connection, no chunks, no ranges, no encodings. What is more, larger or
// ambiguous is refused before a body is read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace legacy {

struct HttpLimits {
  size_t line = 2048;      // bytes of the request line
  size_t head = 16 << 10;  // bytes of request line and headers together
  size_t headers = 64;     // header lines
  size_t body = 64 << 10;  // bytes
};

struct HttpRequest {
  std::string method;
  std::string path;                                          // of the target, without its query
  std::vector<std::pair<std::string, std::string>> headers;  // names in small letters
  std::string body;

  // The header's value, nullptr where it is not there. `name` in small letters.
  const std::string* Header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

// A refusal with its reason, before any handler sees the request.
struct HttpRefusal {
  int status = 400;
  std::string reason;
};

// Takes a request in as it arrives, in pieces of any size. It keeps at most HttpLimits::head and
// body bytes.
class HttpReader {
 public:
  enum class State { kMore, kDone, kRefused };

  explicit HttpReader(const HttpLimits& limits = {}) : limits_(limits) {}

  // What follows a whole request is dropped.
  State Take(std::string_view bytes);
  State state() const { return state_; }
  const HttpRequest& request() const { return request_; }
  const HttpRefusal& refusal() const { return refusal_; }

 private:
  State Refuse(int status, std::string reason);
  State TakeHead();
  State ReadHead(std::string_view head);
  bool ReadRequestLine(std::string_view line);
  bool ReadHeader(std::string_view line);
  bool CheckHeaders();
  bool ReadLength(const std::string& text);

  HttpLimits limits_;
  State state_ = State::kMore;
  bool in_body_ = false;
  std::string head_;
  size_t searched_ = 0;  // bytes of `head_` in which there is no end of it
  size_t length_ = 0;    // of the body
  HttpRequest request_;
  HttpRefusal refusal_;
};

// The bytes of a response. The connection is closed behind it.
std::string HttpText(const HttpResponse& response, bool with_body = true);

}  // namespace legacy
