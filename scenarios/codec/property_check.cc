#include "scenarios/codec/property_check.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace legacy {
namespace {

constexpr unsigned kHangs = 60;  // seconds after which a check is stopped

CheckedProperty Try(const std::string& name, const std::function<std::string()>& check) {
  try {
    return {name, true, check()};
  } catch (const std::exception& error) {
    return {name, false, error.what()};
  } catch (...) {
    return {name, false, "it threw something other than a std::exception"};
  }
}

}  // namespace

void Expect(bool holds, const std::function<std::string()>& text) {
  if (!holds) throw Violated(text());
}

bool Refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error&) {
    return true;
  }
  return false;
}

Bytes Mutated(Bytes bytes, RandomStream& stream) {
  for (uint32_t flips = stream.Below(4); flips > 0 && !bytes.empty(); --flips) {
    bytes[stream.Below(static_cast<uint32_t>(bytes.size()))] ^=
        static_cast<std::byte>(1u << stream.Below(8));
  }
  if (stream.Below(3) == 0) bytes.resize(stream.Below(static_cast<uint32_t>(bytes.size()) + 8));
  if (stream.Below(8) == 0) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(stream.Below(256));
  }
  return bytes;
}

CheckedProperty TryApart(const std::string& name, const std::function<std::string()>& check) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("check: cannot open a pipe to a child process");
  const pid_t child = fork();
  if (child < 0) throw Error("check: cannot start a child process");
  if (child == 0) {
    alarm(kHangs);
    const CheckedProperty found = Try(name, check);
    const std::string text = (found.holds ? "+" : "-") + found.detail;
    const bool told = write(ends[1], text.data(), text.size()) == std::ssize(text);
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {name, false,
            signal == SIGALRM ? fmt::format("it did not end in {} s", kHangs)
                              : fmt::format("it ended by signal {}", signal)};
  }
  if (text.empty()) return {name, false, "it ended the program"};
  return {name, text.front() == '+', text.substr(1)};
}

}  // namespace legacy
