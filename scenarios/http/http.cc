#include "scenarios/http/http.h"

#include <algorithm>
#include <charconv>

namespace legacy {
namespace {

constexpr int kBadRequest = 400;
constexpr int kNotAllowed = 405;
constexpr int kLengthRequired = 411;
constexpr int kTooLarge = 413;
constexpr int kLineTooLong = 414;
constexpr int kUnsupported = 415;
constexpr int kNoRanges = 416;
constexpr int kNoExpectation = 417;
constexpr int kHeadTooLarge = 431;
constexpr int kNoVersion = 505;

constexpr std::string_view kEnd = "\r\n\r\n";

bool IsAlnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// Returns true if the text is a token of RFC 9110, 5.6.2.
bool IsToken(std::string_view text) {
  const auto allowed = [](char c) {
    return IsAlnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

bool IsVisible(char c) { return c > ' ' && c < 0x7f; }

std::string Small(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

const char* StatusText(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case kNotAllowed:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case kLengthRequired:
      return "Length Required";
    case kTooLarge:
      return "Content Too Large";
    case kLineTooLong:
      return "URI Too Long";
    case kUnsupported:
      return "Unsupported Media Type";
    case kNoRanges:
      return "Range Not Satisfiable";
    case kNoExpectation:
      return "Expectation Failed";
    case kHeadTooLarge:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case kNoVersion:
      return "HTTP Version Not Supported";
    default:
      return "Bad Request";
  }
}

}  // namespace

const std::string* HttpRequest::Header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? nullptr : &found->second;
}

HttpReader::State HttpReader::Refuse(int status, std::string reason) {
  refusal_ = {status, std::move(reason)};
  return state_ = State::kRefused;
}

HttpReader::State HttpReader::Take(std::string_view bytes) {
  if (state_ != State::kMore) return state_;
  if (!in_body_) {
    // One byte more than is allowed shows that the head is too large.
    const size_t taken = std::min(bytes.size(), limits_.head + 1 - head_.size());
    const size_t before = head_.size();
    head_ += bytes.substr(0, taken);
    if (TakeHead() != State::kMore || !in_body_) return state_;
    bytes.remove_prefix(head_.size() - before);
    head_.clear();
  }
  request_.body += bytes.substr(0, length_ - request_.body.size());
  if (request_.body.size() == length_) state_ = State::kDone;
  return state_;
}

HttpReader::State HttpReader::TakeHead() {
  const size_t end = head_.find(kEnd, searched_);
  if (end == std::string::npos) {
    if (head_.size() > limits_.line && head_.find('\n') > limits_.line) {
      return Refuse(kLineTooLong,
                    "a request line has at most " + std::to_string(limits_.line) + " bytes");
    }
    if (head_.size() > limits_.head) {
      return Refuse(kHeadTooLarge, "request line and headers have at most " +
                                       std::to_string(limits_.head) + " bytes");
    }
    searched_ = head_.size() < kEnd.size() ? 0 : head_.size() - kEnd.size() + 1;
    return State::kMore;
  }
  head_.resize(end + kEnd.size());
  in_body_ = true;
  return ReadHead(std::string_view(head_).substr(0, end));
}

HttpReader::State HttpReader::ReadHead(std::string_view head) {
  for (bool first = true; first || !head.empty(); first = false) {
    const size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    if (first ? !ReadRequestLine(line) : !ReadHeader(line)) return state_;
  }
  CheckHeaders();
  return state_;
}

bool HttpReader::ReadRequestLine(std::string_view line) {
  const auto refuse = [this](int status, std::string reason) {
    Refuse(status, std::move(reason));
    return false;
  };
  if (line.size() > limits_.line) {
    return refuse(kLineTooLong,
                  "a request line has at most " + std::to_string(limits_.line) + " bytes");
  }
  const size_t method = line.find(' ');
  const size_t target = method == std::string_view::npos ? method : line.find(' ', method + 1);
  if (target == std::string_view::npos) return refuse(kBadRequest, "not a request line");
  const std::string_view path = line.substr(method + 1, target - method - 1);
  const std::string_view version = line.substr(target + 1);
  if (!IsToken(line.substr(0, method)) || !path.starts_with('/') ||
      !std::ranges::all_of(path, IsVisible)) {
    return refuse(kBadRequest, "not a request line");
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return refuse(kNoVersion, "the version has to be HTTP/1.1 or HTTP/1.0");
  }
  request_.method = line.substr(0, method);
  request_.path = path.substr(0, path.find('?'));
  return true;
}

bool HttpReader::ReadHeader(std::string_view line) {
  const size_t colon = line.find(':');
  const bool named = colon != std::string_view::npos && IsToken(line.substr(0, colon));
  const auto printable = [](char c) { return c == '\t' || static_cast<unsigned char>(c) >= ' '; };
  if (!named || !std::ranges::all_of(line, printable)) {
    Refuse(kBadRequest, "not a header line");
    return false;
  }
  if (request_.headers.size() == limits_.headers) {
    Refuse(kHeadTooLarge, "a request has at most " + std::to_string(limits_.headers) + " headers");
    return false;
  }
  request_.headers.emplace_back(Small(line.substr(0, colon)), Trimmed(line.substr(colon + 1)));
  return true;
}

// Refuses headers that would make the body's length ambiguous, or that would require more of the
// response than a handler returns.
bool HttpReader::CheckHeaders() {
  for (const char* once : {"host", "origin", "content-length"}) {
    const auto count =
        std::ranges::count(request_.headers, once, &std::pair<std::string, std::string>::first);
    if (count > 1) {
      Refuse(kBadRequest, std::string(once) + " is given twice");
      return false;
    }
  }
  constexpr struct {
    const char* name;
    int status;
    const char* reason;
  } kRefused[] = {
      {"transfer-encoding", kLengthRequired, "a body needs a Content-Length and no encoding"},
      {"content-encoding", kUnsupported, "a body is taken as it is: no Content-Encoding"},
      {"range", kNoRanges, "responses come whole: no Range"},
      {"expect", kNoExpectation, "no Expect: send the body with the request"}};
  for (const auto& refused : kRefused) {
    const std::string* value = request_.Header(refused.name);
    if (value == nullptr || Small(*value) == "identity") continue;
    Refuse(refused.status, refused.reason);
    return false;
  }
  const std::string* length = request_.Header("content-length");
  return length == nullptr || ReadLength(*length);
}

bool HttpReader::ReadLength(const std::string& text) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, length_);
  const bool digits =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) {
    Refuse(kBadRequest, "Content-Length is not a number");
    return false;
  }
  if (error != std::errc() || stop != end || length_ > limits_.body) {
    Refuse(kTooLarge, "a body has at most " + std::to_string(limits_.body) + " bytes");
    return false;
  }
  return true;
}

std::string HttpText(const HttpResponse& response, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " ";
  text += StatusText(response.status);
  text += "\r\nContent-Type: " + response.type;
  text += "\r\nContent-Length: " + std::to_string(response.body.size());
  text +=
      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY"
      "\r\nConnection: close\r\n\r\n";
  if (with_body) text += response.body;
  return text;
}

}  // namespace legacy
