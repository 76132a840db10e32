#include "trainer/data/cache/file_digest.h"

#include <nettle/nettle-meta.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files/plain_file.h"

namespace legacy {
namespace {

// A Digest takes bytes and returns their digest.
class Digest {
 public:
  explicit Digest(const std::string& algorithm) {
    if (algorithm == "sha256") {
      method_ = &nettle_sha256;
    } else if (algorithm == "md5") {
      method_ = &nettle_md5;
    } else {
      throw Error("digest", algorithm, "sha256, md5");
    }
    state_.resize(method_->context_size);
    method_->init(state_.data());
  }

  void Add(const void* bytes, size_t count) {
    method_->update(state_.data(), count, static_cast<const uint8_t*>(bytes));
  }

  std::string Hex() {
    std::vector<uint8_t> digest(method_->digest_size);
    method_->digest(state_.data(), digest.size(), digest.data());
    std::string hex;
    for (const uint8_t byte : digest) {
      constexpr char kDigits[] = "0123456789abcdef";
      hex += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return hex;
  }

 private:
  const nettle_hash* method_ = nullptr;
  std::vector<uint8_t> state_;
};

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kYoungAge = 2 * kSecond;

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

}  // namespace

std::string FileDigest(const std::filesystem::path& file, const std::string& algorithm) {
  Digest digest(algorithm);
  std::ifstream in = OpenToRead(file.string());
  if (!in) throw Error("cannot read " + file.string());
  std::vector<char> buffer(1u << 16);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0) {
    digest.Add(buffer.data(), static_cast<size_t>(in.gcount()));
  }
  return digest.Hex();
}

std::string TextDigest(std::string_view text) {
  Digest digest("sha256");
  digest.Add(text.data(), text.size());
  return digest.Hex();
}

FileStamp ShortStamp(const std::filesystem::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) {
    throw Error(file.string() + ": cannot be read: " + std::generic_category().message(errno));
  }
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  FileStamp stamp;
  stamp.bytes = static_cast<uint64_t>(status.st_size);
  const int64_t changed = Nanoseconds(status.st_mtim);
  if (changed >= 0 && changed < Nanoseconds(now) - kYoungAge) stamp.changed = changed;
  return stamp;
}

FileStamp FullStamp(const std::filesystem::path& file) {
  FileStamp stamp = ShortStamp(file);  // before the digest: a change in between makes it stale
  const std::string digest = FileDigest(file, "sha256");
  std::ranges::copy(digest, stamp.sha256.begin());
  return stamp;
}

bool SameInShort(const FileStamp& a, const FileStamp& b) {
  return a.changed != FileStamp::kYoung && a.changed == b.changed && a.bytes == b.bytes;
}

}  // namespace legacy
