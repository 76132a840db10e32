#include "scenarios/codec/property_check.h"

#include "base/error.h"
#include "base/programs/apart.h"

namespace legacy {
namespace {

constexpr unsigned kHangs = 60;  // seconds after which a check is stopped

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
  try {
    return {name, true, RunApart(kHangs, check)};
  } catch (const std::exception& error) {
    return {name, false, error.what()};
  }
}

}  // namespace legacy
