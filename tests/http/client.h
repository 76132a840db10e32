// A client of a server on this machine, which sends any bytes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

namespace legacy::test {

class Connection {
 public:
  explicit Connection(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    [[maybe_unused]] const int failed =
        connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }
  Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Connection& operator=(Connection&&) = delete;
  ~Connection() {
    if (socket_ >= 0) close(socket_);
  }
  void Send(const std::string& text) const {
    [[maybe_unused]] const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Returns all bytes until the server closes the connection.
  std::string Receive() const {
    std::string text;
    char bytes[4096];
    while (true) {
      const ssize_t got = recv(socket_, bytes, sizeof(bytes), 0);
      if (got <= 0) return text;
      text.append(bytes, static_cast<size_t>(got));
    }
  }

 private:
  int socket_;
};

struct Reply {
  int status = 0;  // 0: no status came
  std::string head;
  std::string body;
};

// Sends "GET /path", header lines that end with CR LF, and a body.
inline Reply Ask(int port, const std::string& what, const std::string& headers = "",
                 const std::string& body = "") {
  const Connection connection(port);
  const bool host = headers.starts_with("Host:");
  connection.Send(what + " HTTP/1.1\r\n" + (host ? "" : "Host: localhost\r\n") + headers +
                  "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string text = connection.Receive();
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return {};
  return {std::atoi(text.c_str() + text.find(' ')), text.substr(0, end), text.substr(end + 4)};
}

}  // namespace legacy::test
