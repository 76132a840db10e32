// Downloads official files into the data root. Only a complete, checked file gets its final name.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.h"
#include "trainer/data/cache/file_digest.h"
#include "trainer/data/data_catalog.h"

namespace legacy {

// A NetworkError says that the host cannot be reached: there is no network or no name service, or a
// proxy blocks the way.
class NetworkError : public Error {
 public:
  using Error::Error;
};

// A FetchProgress receives a URL, the bytes so far and the bytes in all (0 where the server does
// not say), to show them to the user.
using FetchProgress = std::function<void(const std::string& url, int64_t done, int64_t total)>;

// Fills `data_root`/entry.folder with entry.files from entry.sources. Each source is downloaded to
// a temporary name and its digest is checked. From an archive only the files in entry.files are
// unpacked, wherever they lie in it. Each file is then renamed into place. A source whose files are
// all there is skipped. Throws Error where the set cannot be downloaded, and says how to get it;
// NetworkError, or Error on a server's refusal, a wrong digest, or an
// archive that lacks a file; temporary files are removed.
void FetchData(const CatalogEntry& entry, const std::filesystem::path& data_root,
               const FetchProgress& progress);

}  // namespace legacy
