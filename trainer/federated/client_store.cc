#include "trainer/federated/client_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files/own_file.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMagic = 0x4C43474C;  // "LGCL"

struct RecordHeader {
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t client = 0;
  uint64_t bytes = 0;
  uint32_t checksum = 0;
  uint32_t zero = 0;
};
static_assert(sizeof(RecordHeader) == 32);

uint32_t Checksum(ByteSpan bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string ReasonOf(int error) { return std::generic_category().message(error); }

// Writes all of it at the offset. Returns 0 or the error.
int WriteAt(int file, ByteSpan bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return 0;
}

// Fills `bytes` from the offset. Returns whether the file has that many.
bool ReadAt(int file, std::span<std::byte> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return true;
}

}  // namespace

size_t ClientStore::KeyHash::operator()(const Key& key) const {
  return std::hash<int64_t>()(key.client * 8 + static_cast<int64_t>(key.kind));
}

ClientStore::ClientStore(fs::path folder, int64_t memory)
    : folder_(std::move(folder)), memory_(memory) {}

ClientStore::~ClientStore() { Close(); }

fs::path ClientStore::LogOf(uint64_t number) const {
  return folder_ / ("clients-" + std::to_string(number) + ".log");
}

void ClientStore::Open(bool create) {
  if (create) unlink(LogOf(number_).c_str());  // a file that a killed process left there, or a link
  std::string reason;
  file_ = OpenOwnFile(LogOf(number_), O_RDWR | (create ? O_CREAT | O_EXCL : 0), reason);
  if (file_ < 0) Fail(create ? "cannot be written" : "cannot be read", reason);
}

void ClientStore::Close() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

void ClientStore::Fail(const char* what, const std::string& reason) const {
  throw Error(LogOf(number_).string() + ": " + what + ": " + reason);
}

std::optional<Bytes> ClientStore::Get(int64_t client, StateKind kind) {
  const std::lock_guard lock(mutex_);
  const Key key = {client, kind};
  if (const auto held = held_.find(key); held != held_.end()) {
    order_.splice(order_.begin(), order_, held->second.used);
    return held->second.bytes;
  }
  const auto place = index_.find(key);
  if (place == index_.end()) return std::nullopt;
  Bytes bytes = Read(key, place->second);
  Hold(key, bytes, false);
  return bytes;
}

void ClientStore::Put(int64_t client, StateKind kind, Bytes bytes) {
  const std::lock_guard lock(mutex_);
  const Key key = {client, kind};
  Forget(key);
  Hold(key, std::move(bytes), true);
}

void ClientStore::Drop(int64_t client, StateKind kind) {
  const std::lock_guard lock(mutex_);
  const Key key = {client, kind};
  Forget(key);
  if (const auto place = index_.find(key); place != index_.end()) {
    live_ -= place->second.bytes + sizeof(RecordHeader);
    index_.erase(place);
  }
}

void ClientStore::Forget(const Key& key) {
  const auto held = held_.find(key);
  if (held == held_.end()) return;
  held_bytes_ -= std::ssize(held->second.bytes);
  order_.erase(held->second.used);
  held_.erase(held);
}

void ClientStore::Hold(const Key& key, Bytes bytes, bool changed) {
  held_bytes_ += std::ssize(bytes);
  order_.push_front(key);
  held_[key] = {std::move(bytes), changed, order_.begin()};
  Shrink();
}

void ClientStore::Shrink() {
  while (held_bytes_ > memory_ && !order_.empty()) {
    const Key key = order_.back();
    const Held& held = held_.at(key);
    if (held.changed) Append(key, held.bytes);
    Forget(key);
  }
}

ClientStore::Place ClientStore::Append(const Key& key, ByteSpan bytes) {
  if (file_ < 0) Open(true);
  const RecordHeader header = {.kind = static_cast<uint32_t>(key.kind),
                               .client = static_cast<uint64_t>(key.client),
                               .bytes = bytes.size(),
                               .checksum = Checksum(bytes)};
  int error = WriteAt(file_, std::as_bytes(std::span(&header, 1)), end_);
  if (error == 0) error = WriteAt(file_, bytes, end_ + sizeof header);
  if (error != 0) Fail("cannot be written", ReasonOf(error));
  const Place place = {end_, bytes.size()};
  end_ += sizeof header + bytes.size();
  live_ += sizeof header + bytes.size();
  if (const auto before = index_.find(key); before != index_.end()) {
    live_ -= before->second.bytes + sizeof header;
  }
  index_[key] = place;
  return place;
}

Bytes ClientStore::Read(const Key& key, const Place& place) const {
  RecordHeader header;
  Bytes bytes(place.bytes);
  const bool whole = ReadAt(file_, std::as_writable_bytes(std::span(&header, 1)), place.offset) &&
                     ReadAt(file_, bytes, place.offset + sizeof header);
  if (!whole || header.magic != kMagic || header.kind != static_cast<uint32_t>(key.kind) ||
      header.client != static_cast<uint64_t>(key.client) || header.bytes != bytes.size() ||
      header.checksum != Checksum(bytes)) {
    throw Error(LogOf(number_).string() + ": offset " + std::to_string(place.offset) +
                ": the state of client " + std::to_string(key.client) + " is damaged");
  }
  return bytes;
}

void ClientStore::WriteChanged() {
  std::vector<Key> keys;
  for (const auto& [key, held] : held_) {
    if (held.changed) keys.push_back(key);
  }
  std::ranges::sort(keys);
  for (const Key& key : keys) {
    Held& held = held_.at(key);
    Append(key, held.bytes);
    held.changed = false;
  }
}

// Copies the live records to the next log.
void ClientStore::BeginLog() {
  std::vector<std::pair<Key, Place>> records(index_.begin(), index_.end());
  std::ranges::sort(records, {}, [](const auto& record) { return record.second.offset; });
  ClientStore next(folder_, 0);
  next.number_ = number_ + 1;
  for (const auto& [key, place] : records) next.Append(key, Read(key, place));
  if (next.file_ < 0) next.Open(true);
  std::swap(number_, next.number_);
  std::swap(file_, next.file_);
  std::swap(end_, next.end_);
  std::swap(live_, next.live_);
  std::swap(index_, next.index_);
}

void ClientStore::Save(StateWriter& out) {
  constexpr size_t kKept = 3;
  const std::lock_guard lock(mutex_);
  WriteChanged();
  if (end_ > 2 * live_) BeginLog();
  if (file_ >= 0 && fsync(file_) != 0) Fail("cannot be written", ReasonOf(errno));
  saved_.push_back(number_);
  if (saved_.size() > kKept) saved_.erase(saved_.begin());
  for (uint64_t old = saved_.front(); old-- > 0;) {
    std::error_code ignored;
    if (!fs::remove(LogOf(old), ignored)) break;
  }
  out.Number(number_);
  out.Number(end_);
  std::vector<std::pair<Key, Place>> records(index_.begin(), index_.end());
  std::ranges::sort(records, {}, [](const auto& record) { return record.first; });
  out.Number(records.size());
  for (const auto& [key, place] : records) {
    out.Number(static_cast<uint64_t>(key.client));
    out.Number(static_cast<uint64_t>(key.kind));
    out.Number(place.offset);
    out.Number(place.bytes);
  }
}

void ClientStore::Load(StateReader& in) {
  constexpr uint64_t kMost = uint64_t{1} << 60;
  const std::lock_guard lock(mutex_);
  Close();
  held_.clear();
  order_.clear();
  index_.clear();
  held_bytes_ = 0;
  live_ = 0;
  number_ = in.Number("log of the clients", kMost);
  end_ = in.Number("bytes of the clients' log", kMost);
  const uint64_t count = in.Number("states of clients", in.Left() / 32);
  for (uint64_t i = 0; i < count; ++i) {
    const auto client = static_cast<int64_t>(in.Number("client", kMost));
    const auto kind = static_cast<StateKind>(
        in.Number("kind of a state", static_cast<uint64_t>(StateKind::kBatchNorm)));
    const Place place = {in.Number("offset of a state", end_), in.Number("bytes of a state", end_)};
    if (place.bytes + sizeof(RecordHeader) > end_ - place.offset) {
      throw Error("state of client " + std::to_string(client) + ": after the end of the log");
    }
    index_[{client, kind}] = place;
    live_ += place.bytes + sizeof(RecordHeader);
  }
  saved_ = {number_};
  if (end_ == 0) return;
  Open(false);
  struct stat status;
  if (fstat(file_, &status) != 0) Fail("cannot be read", ReasonOf(errno));
  if (static_cast<uint64_t>(status.st_size) < end_) {
    throw Error(LogOf(number_).string() + ": it has " + std::to_string(status.st_size) +
                " bytes, and the checkpoint needs " + std::to_string(end_));
  }
  // Records that were written after the checkpoint are not part of it.
  if (ftruncate(file_, static_cast<off_t>(end_)) != 0) Fail("cannot be written", ReasonOf(errno));
}

void ClientStore::Remove() {
  const std::lock_guard lock(mutex_);
  Close();
  const uint64_t first = saved_.empty() ? number_ : saved_.front();
  for (uint64_t log = first; log <= number_; ++log) {
    std::error_code ignored;
    fs::remove(LogOf(log), ignored);
  }
}

int64_t ClientStore::states() const {
  const std::lock_guard lock(mutex_);
  int64_t count = std::ssize(index_);
  for (const auto& [key, held] : held_) count += index_.contains(key) ? 0 : 1;
  return count;
}

int64_t ClientStore::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

int64_t ClientStore::log_bytes() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(end_);
}

}  // namespace legacy
