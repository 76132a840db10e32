#include "trainer/data_fetch.h"

#include <archive.h>
#include <archive_entry.h>
#include <curl/curl.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <set>

namespace legacy {
namespace {

namespace fs = std::filesystem;

// A file under a temporary name, removed unless it was renamed.
class PartFile {
 public:
  explicit PartFile(const fs::path& final_name) : final_(final_name), part_(final_name) {
    part_ += ".part";
    fs::create_directories(final_.parent_path());
  }
  ~PartFile() {
    std::error_code ignored;
    fs::remove(part_, ignored);
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const fs::path& path() const { return part_; }
  void Keep() const { fs::rename(part_, final_); }

 private:
  fs::path final_;
  fs::path part_;
};

struct Download {
  std::ofstream out;
  const std::string& url;
  const FetchProgress& progress;
};

size_t Write(char* bytes, size_t size, size_t count, void* user) {
  auto& out = static_cast<Download*>(user)->out;
  out.write(bytes, static_cast<std::streamsize>(size * count));
  return out ? size * count : 0;
}

int Report(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  const auto& download = *static_cast<Download*>(user);
  if (download.progress) download.progress(download.url, done, total);
  return 0;
}

bool MeansNoNetwork(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT;
}

void DownloadTo(const std::string& url, const fs::path& file, const FetchProgress& progress) {
  constexpr long kConnectSeconds = 20;
  constexpr long kStallSeconds = 60;  // gives up after so long below 1 kB/s
  Download download{std::ofstream(file, std::ios::binary), url, progress};
  if (!download.out) throw Error("cannot write " + file.string());
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  std::array<char, CURL_ERROR_SIZE> message{};
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, 1000L);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, message.data());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, Write);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &download);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, Report);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &download);
  const CURLcode code = curl_easy_perform(curl.get());
  download.out.close();
  if (code == CURLE_OK && download.out) return;
  const std::string reason = message[0] != '\0' ? message.data() : curl_easy_strerror(code);
  if (MeansNoNetwork(code)) throw NetworkError("no network: " + url + ": " + reason);
  throw Error("download of " + url + " failed: " + reason);
}

void CheckDigest(const RemoteFile& source, const fs::path& file) {
  const size_t colon = source.digest.find(':');
  const std::string algorithm = source.digest.substr(0, colon);
  const std::string found = FileDigest(file, algorithm);
  const std::string expected = source.digest.substr(colon + 1);
  if (found != expected) throw Error(source.url + ": " + algorithm + " digest", found, expected);
}

// The archive's current entry into `file`.
void WriteEntry(archive* input, const fs::path& archive_file, const fs::path& file) {
  constexpr size_t kChunk = 1u << 16;
  std::vector<char> buffer(kChunk);
  std::ofstream out(file, std::ios::binary);
  la_ssize_t got = 0;
  while ((got = archive_read_data(input, buffer.data(), kChunk)) > 0) out.write(buffer.data(), got);
  if (got < 0) throw Error(archive_file.string() + ": " + archive_error_string(input));
  out.close();
  if (!out) throw Error("cannot write " + file.string());
}

// Entries are taken by the last part of their name and nothing else is written, so that no archive
// can write elsewhere.
void Unpack(const fs::path& archive_file, const CatalogEntry& entry, const fs::path& folder) {
  const std::unique_ptr<archive, int (*)(archive*)> input(archive_read_new(), archive_read_free);
  archive_read_support_filter_gzip(input.get());
  archive_read_support_format_tar(input.get());
  constexpr size_t kBlock = 1u << 16;
  if (archive_read_open_filename(input.get(), archive_file.c_str(), kBlock) != ARCHIVE_OK) {
    throw Error(archive_file.string() + ": " + archive_error_string(input.get()));
  }
  std::set<std::string> wanted(entry.files.begin(), entry.files.end());
  archive_entry* item = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(input.get(), &item)) == ARCHIVE_OK) {
    const char* path = archive_entry_pathname(item);
    const std::string name = fs::path(path != nullptr ? path : "").filename().string();
    if (archive_entry_filetype(item) != AE_IFREG || wanted.erase(name) == 0) continue;
    const PartFile part(folder / name);
    WriteEntry(input.get(), archive_file, part.path());
    part.Keep();
  }
  if (status != ARCHIVE_EOF) {
    throw Error(archive_file.string() + ": " + archive_error_string(input.get()));
  }
  if (!wanted.empty())
    throw Error(archive_file.string(), "no " + *wanted.begin(), "a complete archive");
}

std::string LastPart(const std::string& url) { return url.substr(url.rfind('/') + 1); }

bool AllThere(const CatalogEntry& entry, const fs::path& folder) {
  return std::all_of(entry.files.begin(), entry.files.end(),
                     [&](const std::string& name) { return fs::exists(folder / name); });
}

}  // namespace

std::string FileDigest(const fs::path& file, const std::string& algorithm) {
  const EVP_MD* method = EVP_get_digestbyname(algorithm.c_str());
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  if (method == nullptr || EVP_DigestInit_ex(context.get(), method, nullptr) != 1) {
    throw Error("digest", algorithm, "sha256 or md5, where this machine's OpenSSL allows it");
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error("cannot read " + file.string());
  std::vector<char> buffer(1u << 16);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0) {
    EVP_DigestUpdate(context.get(), buffer.data(), static_cast<size_t>(in.gcount()));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &length);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += {kDigits[digest[i] >> 4], kDigits[digest[i] & 15]};
  }
  return hex;
}

void FetchData(const CatalogEntry& entry, const fs::path& data_root,
               const FetchProgress& progress) {
  const fs::path folder = data_root / entry.folder;
  for (const RemoteFile& source : entry.sources) {
    const fs::path file = folder / LastPart(source.url);
    if (source.archive ? AllThere(entry, folder) : fs::exists(file)) continue;
    const PartFile part(file);
    DownloadTo(source.url, part.path(), progress);
    CheckDigest(source, part.path());
    if (source.archive) {
      Unpack(part.path(), entry, folder);
    } else {
      part.Keep();
    }
  }
}

}  // namespace legacy
