// Cache files keep what is made from data files, so that it is made only once: sections of numbers
// or bytes, with their length and a checksum, mapped into memory when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace legacy {

// A Section is a stretch of bytes together with what keeps them. It is aligned for numbers.
class Section {
 public:
  Section() = default;
  Section(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  // Takes the numbers.
  template <typename T>
  static Section Of(std::vector<T> numbers) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto kept = std::make_shared<const std::vector<T>>(std::move(numbers));
    return Section(kept, std::as_bytes(std::span(*kept)));
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // Returns the section as numbers; nothing where its length is not a multiple of theirs.
  template <typename T>
  std::optional<std::span<const T>> As() const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes_.size() % sizeof(T) != 0) return std::nullopt;
    return std::span(reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T));
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

// Writes a cache file next to `file` and renames it. `kind` says what it holds, in at most 31
// characters. Throws Error where it cannot be written.
void WriteCacheFile(const std::filesystem::path& file, const std::string& kind,
                    std::span<const Section> sections);

// Maps a cache file. Returns nothing where there is none, where it is of another kind, and where
// its length or its checksum is wrong.
std::optional<std::vector<Section>> ReadCacheFile(const std::filesystem::path& file,
                                                  const std::string& kind);

// Hands take() what make() makes of `files`. It is kept in `folder` under `name`, and read from
// there when the files are the same (size and time, else SHA-256), the cache is whole, and take()
// accepts its sections. Where the cache cannot be written, the sections stay in memory, and with
// folder "" nothing is kept. The last call of take() is with the sections that count. `name` and
// `kind` must tell apart everything that is made differently of the same files. Returns true where
// the cache was read. Throws what make() throws.
bool MakeOnce(const std::filesystem::path& folder, const std::string& name, const std::string& kind,
              const std::vector<std::filesystem::path>& files,
              const std::function<std::vector<Section>()>& make,
              const std::function<bool(std::span<const Section>)>& take);

}  // namespace legacy
