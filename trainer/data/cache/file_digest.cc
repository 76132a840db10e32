#include "trainer/data/cache/file_digest.h"

#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files/plain_file.h"

namespace legacy {
namespace {

// A Digest takes bytes and returns their digest.
class Digest {
 public:
  explicit Digest(const std::string& algorithm) : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    const EVP_MD* method = EVP_get_digestbyname(algorithm.c_str());
    if (method == nullptr || EVP_DigestInit_ex(context_.get(), method, nullptr) != 1) {
      throw Error("digest", algorithm, "sha256 or md5, where this machine's OpenSSL allows it");
    }
  }

  void Add(const void* bytes, size_t count) { EVP_DigestUpdate(context_.get(), bytes, count); }

  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &length);
    std::string hex;
    for (unsigned i = 0; i < length; ++i) {
      constexpr char kDigits[] = "0123456789abcdef";
      hex += {kDigits[digest[i] >> 4], kDigits[digest[i] & 15]};
    }
    return hex;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
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
