// Requests and responses of HTTP/1.1 (RFC 9112), as far as a server for pages and questions needs
// them: one request for each connection, no chunks, no ranges, no encodings. Anything more, larger
// or ambiguous is refused before a body is read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace legacy {

// HttpLimits bound what a client may send.
struct HttpLimits {
  size_t line = 2048;      // bytes of the request line
  size_t head = 16 << 10;  // bytes of request line and headers together
  size_t headers = 64;     // header lines
  size_t body = 64 << 10;  // bytes
};

// An HttpRequest is a whole request.
struct HttpRequest {
  std::string method;
  // Path of the target, without its query.
  std::string path;
  // Headers, with names in small letters.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // Returns the header's value, or nullptr. `name` is in small letters.
  const std::string* Header(std::string_view name) const;
};

// An HttpResponse is an answer.
struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

// An HttpRefusal is a refusal with its reason, before any handler sees the request.
struct HttpRefusal {
  int status = 400;
  std::string reason;
};

// An HttpReader takes a request as it arrives, in pieces of any size. It keeps at most
// HttpLimits::head and body bytes.
class HttpReader {
 public:
  enum class State { kMore, kDone, kRefused };

  explicit HttpReader(const HttpLimits& limits = {}) : limits_(limits) {}

  // Takes the next bytes. Bytes after a whole request are dropped.
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
  size_t searched_ = 0;  // leading bytes of `head_` that do not contain its end
  size_t length_ = 0;    // length of the body
  HttpRequest request_;
  HttpRefusal refusal_;
};

// Returns the bytes of a response. The connection is closed after it.
std::string HttpText(const HttpResponse& response, bool with_body = true);

}  // namespace legacy
