// Official files are downloaded into the data root. Nothing but a complete, checked file ever gets
// its final name.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.h"
#include "trainer/data/data_catalog.h"

namespace legacy {

// A NetworkError says that the host cannot be reached: no network, no name service, a proxy in the
// way.
class NetworkError : public Error {
 public:
  using Error::Error;
};

// A FetchProgress is told for the user: a URL, bytes so far and in all (0 where the server does not
// say).
using FetchProgress = std::function<void(const std::string& url, int64_t done, int64_t total)>;

// Returns the hexadecimal digest of a file; `algorithm` is "sha256" or "md5".
std::string FileDigest(const std::filesystem::path& file, const std::string& algorithm);

// Fills `data_root`/entry.folder with entry.files from entry.sources. Each source is downloaded to
// a temporary name, its digest checked, an archive unpacked (only the files that we name, wherever
// they lie in it), and each file renamed into place. A source whose files are all there is skipped.
// Throws NetworkError, or Error on a server's refusal, a wrong digest, or an archive that lacks a
// file; temporary files are removed.
void FetchData(const CatalogEntry& entry, const std::filesystem::path& data_root,
               const FetchProgress& progress);

}  // namespace legacy
