#include "trainer/data/data_fetch.h"

#include <archive.h>
#include <archive_entry.h>
#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/files/part_file.h"
#include "base/files/whole_file.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

struct Download {
  OutputFile& out;
  const RemoteFile& source;
  const FetchProgress& progress;
  int64_t bytes = 0;
  std::string failure;  // reason for which Write() stopped curl
};

size_t Write(char* bytes, size_t size, size_t count, void* user) {
  auto& download = *static_cast<Download*>(user);
  const size_t all = size * count;
  download.bytes += static_cast<int64_t>(all);
  if (download.bytes > download.source.bytes) {
    download.failure = "more than its " + std::to_string(download.source.bytes) + " bytes";
    return 0;
  }
  try {
    download.out.Write({bytes, all});
  } catch (const Error& error) {  // no exception may pass through curl, which is C
    download.failure = error.what();
    return 0;
  }
  return all;
}

int Report(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  const auto& download = *static_cast<Download*>(user);
  if (download.progress) download.progress(download.source.url, done, total);
  return 0;
}

bool MeansNoNetwork(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT;
}

// Returns the address's protocol: "https", or "file" for files of this machine.
std::string ProtocolOf(const std::string& url) {
  for (const char* protocol : {"https", "file"}) {
    if (url.starts_with(std::string(protocol) + "://")) return protocol;
  }
  throw Error("download", url, "an address that begins with https://");
}

void SetOptions(CURL* curl, Download& download) {
  constexpr long kConnectSeconds = 20;
  constexpr long kStallSeconds = 60;  // time below 1 kB/s after which the download is given up
  constexpr long kRedirects = 10;
  const std::string& url = download.source.url;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "legacy-data");  // some servers require one
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, ProtocolOf(url).c_str());
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kRedirects);
  curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(download.source.bytes));
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1000L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Write);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &download);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, Report);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &download);
}

void DownloadTo(OutputFile& file, const RemoteFile& source, const FetchProgress& progress) {
  Download download{file, source, progress, 0, {}};
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  std::array<char, CURL_ERROR_SIZE> message{};
  SetOptions(curl.get(), download);
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, message.data());
  const CURLcode code = curl_easy_perform(curl.get());
  if (code == CURLE_OK) return;
  const std::string reason = !download.failure.empty() ? download.failure
                             : message[0] != '\0'      ? message.data()
                                                       : curl_easy_strerror(code);
  if (MeansNoNetwork(code)) throw NetworkError("no network: " + source.url + ": " + reason);
  throw Error("download of " + source.url + " failed: " + reason);
}

void CheckDigest(const RemoteFile& source, const fs::path& file) {
  if (source.digest.empty()) {
    throw Error(source.url, "no published digest", "files that can be checked");
  }
  const size_t colon = source.digest.find(':');
  const std::string algorithm = source.digest.substr(0, colon);
  const std::string found = FileDigest(file, algorithm);
  const std::string expected = source.digest.substr(colon + 1);
  if (found != expected) throw Error(source.url + ": " + algorithm + " digest", found, expected);
}

// Writes the archive's current entry into `file`.
void WriteEntry(archive* input, const fs::path& archive_file, OutputFile& file) {
  constexpr size_t kChunk = 1u << 16;
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  std::vector<char> buffer(kChunk);
  la_ssize_t got = 0;
  int64_t bytes = 0;
  while ((got = archive_read_data(input, buffer.data(), kChunk)) > 0) {
    bytes += got;
    if (bytes > kMostBytes) {
      throw Error(archive_file.string(),
                  "a file of more than " + std::to_string(kMostBytes) + " bytes",
                  "data sets of the catalogue");
    }
    file.Write({buffer.data(), static_cast<size_t>(got)});
  }
  if (got < 0) throw Error(archive_file.string() + ": " + archive_error_string(input));
}

// Unpacks the entry's files. They are found by the last part of their name and nothing else is
// written, so that no archive can write outside `folder`.
void Unpack(const fs::path& archive_file, const CatalogEntry& entry, const fs::path& folder) {
  const std::unique_ptr<archive, int (*)(archive*)> input(archive_read_new(), archive_read_free);
  archive_read_support_filter_gzip(input.get());
  archive_read_support_format_tar(input.get());
  archive_read_support_format_zip(input.get());
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
    PartFile part(folder / name);
    WriteEntry(input.get(), archive_file, part.file());
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

void FetchData(const CatalogEntry& entry, const fs::path& data_root,
               const FetchProgress& progress) {
  if (!entry.instead.empty()) throw Error(entry.name, "nothing to download", entry.instead);
  const fs::path folder = data_root / entry.folder;
  for (const RemoteFile& source : entry.sources) {
    const fs::path file = folder / LastPart(source.url);
    if (source.archive ? AllThere(entry, folder) : fs::exists(file)) continue;
    MakeFolder(folder);
    PartFile part(file);
    DownloadTo(part.file(), source, progress);
    CheckDigest(source, part.path());
    if (source.archive) {
      Unpack(part.path(), entry, folder);
    } else {
      part.Keep();
    }
  }
}

}  // namespace legacy
