#include "scenarios/checkpoint/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files/own_file.h"
#include "compress/state_section.h"
#include "scenarios/checkpoint/fields.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJournalSection = "journal";

// Reads bytes from `offset` until `out` is full. Returns false if the file has fewer.
bool ReadAt(int file, uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = pread(file, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

uint64_t SizeOf(int file) {
  struct stat status;
  return fstat(file, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

}  // namespace

JournalWriter::JournalWriter(const fs::path& path, const StepSource& source)
    : file_(path, OutputFile::Mode::kAppend) {
  if (fs::file_size(path) > 0) return;
  const std::vector<Unit> layers(source.Layers().begin(), source.Layers().end());
  const std::vector<Unit> units(source.Units().begin(), source.Units().end());
  const std::vector<OperationCost> costs(source.Costs().begin(), source.Costs().end());
  StateWriter record;
  ToArchive(record, layers, units, costs, source.Report());
  WriteRecord(record.Take());
}

void JournalWriter::Write(const JournalStep& step) {
  StateWriter record;
  ToArchive(record, step);
  WriteRecord(record.Take());
}

// Writes a record with its length in front, in a single call.
void JournalWriter::WriteRecord(const Bytes& record) {
  StateWriter whole;
  whole.Blob(record);
  const Bytes bytes = whole.Take();
  file_.Write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

JournalSource::JournalSource(fs::path path, std::span<const Metric> metrics,
                             std::function<void()> wait)
    : path_(std::move(path)), metrics_(metrics), wait_(std::move(wait)) {
  std::string reason;
  file_ = OpenOwnFile(path_, O_RDONLY | O_CREAT, reason);
  if (file_ < 0) throw Error(path_.string() + ": cannot be read: " + reason);
  const Bytes record = ReadRecord();
  StateReader in(record);
  FromArchive(in, layers_, units_, costs_, report_);
  in.ExpectEnd();
}

JournalSource::~JournalSource() {
  if (file_ >= 0) close(file_);
}

Bytes JournalSource::ReadRecord() {
  for (;; wait_()) {
    uint64_t length = 0;
    if (!ReadAt(file_, offset_, std::as_writable_bytes(std::span(&length, 1)))) continue;
    const uint64_t begin = offset_ + sizeof length;
    const uint64_t size = SizeOf(file_);
    if (begin > size || length > size - begin) continue;  // the rest is still being written
    Bytes record(length);
    if (!ReadAt(file_, begin, record)) continue;
    offset_ = begin + length;
    return record;
  }
}

StepOutcome JournalSource::Step(std::span<const int>) {
  const Bytes record = ReadRecord();
  StateReader in(record);
  FromArchive(in, step_);
  in.ExpectEnd();
  return std::move(step_.outcome);
}

Evaluation JournalSource::Evaluate() {
  if (!step_.evaluation) throw Error(path_.string() + ": a step has no evaluation");
  return *step_.evaluation;
}

void JournalSource::Save(SectionWriter& out) const {
  WriteSection(out, kJournalSection, [&](StateWriter& state) { state.Number(offset_); });
}

void JournalSource::Load(const SectionFile& in) {
  ReadSection(in, kJournalSection, [&](StateReader& state) { offset_ = state.Number(); });
}

}  // namespace legacy
