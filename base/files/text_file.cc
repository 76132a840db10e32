#include "base/files/text_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/files/plain_file.h"
#include "base/words.h"

namespace legacy {

namespace {

struct CloseGzip {
  void operator()(gzFile file) const { gzclose(file); }
};

using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

// `option` is the option that the file was given for; "": a topology.
[[noreturn]] void ThrowUnreadable(const std::string& option, const std::string& path,
                                  const std::string& reason) {
  if (option.empty()) {
    throw Error("topology", path, "a readable file, or a topology's name" + reason);
  }
  throw Error(option, path, "a file that can be read" + reason);
}

std::string SystemReason(int error) { return std::string(" (") + std::strerror(error) + ")"; }

// Names in a file are written to files that are UTF-8. A text that is not UTF-8 is taken for
// Latin-1, in which every byte is a character.
std::string ToUtf8(std::string text) {
  if (IsUtf8(text)) return text;
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      encoded += c;
      continue;
    }
    encoded += static_cast<char>(0xC0 | byte >> 6);
    encoded += static_cast<char>(0x80 | (byte & 0x3F));
  }
  return encoded;
}

}  // namespace

std::string ReadText(const std::string& path, size_t most_bytes, const std::string& option) {
  errno = 0;
  if (!MayRead(path) && errno == 0) {
    ThrowUnreadable(option, path, " (it is no plain file)");
  }
  const GzipFile file(errno == 0 ? gzopen(path.c_str(), "rb") : nullptr);
  if (!file) {
    ThrowUnreadable(
        option, path,
        errno == ENOENT ? NoteOfMissing(path) : SystemReason(errno == 0 ? ENOMEM : errno));
  }
  std::string text;
  size_t held = 0;
  while (true) {
    constexpr size_t kChunk = size_t{1} << 18;
    text.resize(held + kChunk);
    const int read = gzread(file.get(), text.data() + held, kChunk);
    if (read < 0) {
      int code = 0;
      const std::string reason = gzerror(file.get(), &code);
      const bool system = code == Z_ERRNO;
      ThrowUnreadable(option, path,
                      system ? SystemReason(errno) : " (gzip: " + OneLine(reason) + ")");
    }
    held += static_cast<size_t>(read);
    if (held > most_bytes) {
      throw Error(path + ": size", "more than " + std::to_string(most_bytes) + " bytes",
                  "at most that, unpacked");
    }
    if (read == 0) {
      // Only the last call reports a packed file that ends too early.
      int code = 0;
      const std::string reason = gzerror(file.get(), &code);
      if (code == Z_BUF_ERROR) {
        ThrowUnreadable(option, path, " (gzip: it ends too early)");
      }
      text.resize(held);
      // Readers would take it for the end of the text, and leave out what follows.
      if (const size_t end = text.find('\0'); end != std::string::npos) {
        const auto line = 1 + std::count(text.begin(), text.begin() + end, '\n');
        throw Error(path + ":" + std::to_string(line) + ": a NUL, which no text has");
      }
      return ToUtf8(std::move(text));
    }
  }
}

}  // namespace legacy
