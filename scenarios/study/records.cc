#include "scenarios/study/records.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/json.h"
#include "base/files/output_file.h"
#include "base/files/own_file.h"
#include "base/files/whole_file.h"
#include "scenarios/run/manifest.h"
#include "scenarios/study/work.h"
#include "trainer/clock/record.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostRecordBytes = size_t{1} << 28;  // of a record, and of one of its files

fs::path RecordOf(const fs::path& records, const PlannedTraining& training) {
  return records / (training.id + ".tar.xz");
}

[[noreturn]] void Fail(const fs::path& record, archive* archive) {
  const char* reason = archive_error_string(archive);
  throw Error(record.string() + ": " + (reason != nullptr ? reason : "no archive"));
}

// Writes the current entry of `input` into `file`.
void UnpackEntry(const fs::path& record, archive* input, const fs::path& file) {
  OutputFile output(file, OutputFile::Mode::kCreate);
  std::array<char, 1 << 16> buffer;
  size_t bytes = 0;
  la_ssize_t got = 0;
  while ((got = archive_read_data(input, buffer.data(), buffer.size())) > 0) {
    bytes += static_cast<size_t>(got);
    if (bytes > kMostRecordBytes) {
      throw Error(record.string(),
                  "a file of more than " + std::to_string(kMostRecordBytes) + " bytes",
                  "records of trainings");
    }
    output.Write({buffer.data(), static_cast<size_t>(got)});
  }
  if (got < 0) Fail(record, input);
  output.Close();
}

// Unpacks a record into `folder`. Its files have plain names, so that none is written elsewhere.
void Unpack(const fs::path& record, const fs::path& folder) {
  const std::string bytes = ReadWholeFile(record, kMostRecordBytes);
  const std::unique_ptr<archive, int (*)(archive*)> input(archive_read_new(), archive_read_free);
  archive_read_support_filter_xz(input.get());
  archive_read_support_format_tar(input.get());
  if (archive_read_open_memory(input.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
    Fail(record, input.get());
  }
  archive_entry* entry = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(input.get(), &entry)) == ARCHIVE_OK) {
    const char* path = archive_entry_pathname(entry);
    const std::string name = path != nullptr ? path : "";
    const bool plain = archive_entry_filetype(entry) == AE_IFREG && !name.starts_with('.') &&
                       name.find('/') == std::string::npos;
    if (name.empty() || !plain) throw Error(record.string(), name, "plain files without folders");
    UnpackEntry(record, input.get(), folder / name);
  }
  if (status != ARCHIVE_EOF) Fail(record, input.get());
}

void CheckIsOf(const fs::path& record, const fs::path& run, const PlannedTraining& training) {
  const std::string id = TrainingHash(TrainingDocument(ReadRecordedRun(run.string())->Defaults()));
  if (id == training.id) return;
  throw Error::Refusal(record.string() + ": it is the record of training " + id + ", and not of " +
                       training.id);
}

void TakeRecord(const fs::path& record, const fs::path& study, const PlannedTraining& training) {
  const fs::path run = TrainingFolder(study, training);
  const fs::path partial = run.string() + ".record";
  MakeFolderIn(study, "trainings");
  CheckFoldersIn(study, fs::path("trainings") / partial.filename() / "file");
  fs::remove_all(partial);
  MakeFolderIn(study, fs::path("trainings") / partial.filename());
  try {
    Unpack(record, partial);
    CheckIsOf(record, partial, training);
    fs::rename(partial, run);
  } catch (...) {
    fs::remove_all(partial);
    throw;
  }
}

la_ssize_t Append(archive*, void* text, const void* bytes, size_t count) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), count);
  return static_cast<la_ssize_t>(count);
}

// Returns a manifest without folders and other options that a resumed run may change: a record does
// not say where it was made.
std::string ManifestOfRecord(const std::string& text, const fs::path& file) {
  nlohmann::json manifest = ParseJson(text, file.string());
  for (const ScenarioOption& option : OptionsOf(Scenario())) {
    const auto section = manifest["configuration"].find(option.Section());
    if (!option.Has(kMayResume) || section == manifest["configuration"].end()) continue;
    section->erase(option.NameInSection());
  }
  return manifest.dump(2) + "\n";
}

// Returns the files of `run` as a record. Equal files give equal bytes.
std::string Packed(const fs::path& run) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string packed;
  const std::unique_ptr<archive, int (*)(archive*)> output(archive_write_new(), archive_write_free);
  const auto need = [&](la_ssize_t status) {
    if (status < ARCHIVE_OK) Fail(run, output.get());
  };
  need(archive_write_add_filter_xz(output.get()));
  need(archive_write_set_format_ustar(output.get()));
  need(archive_write_set_bytes_in_last_block(output.get(), 1));  // no padding
  need(archive_write_open(output.get(), &packed, nullptr, Append, nullptr));
  for (const fs::path& file : files) {
    std::string text = ReadWholeFile(file);
    if (file.filename() == "manifest.json") text = ManifestOfRecord(text, file);
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                         archive_entry_free);
    archive_entry_set_pathname(entry.get(), file.filename().c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    need(archive_write_header(output.get(), entry.get()));
    need(archive_write_data(output.get(), text.data(), text.size()));
  }
  need(archive_write_close(output.get()));
  return packed;
}

}  // namespace

int64_t StudyRecords::Take() const {
  int64_t taken = 0;
  if (records_.empty()) return taken;
  for (const PlannedTraining& training : folder_.plan().trainings) {
    const fs::path record = RecordOf(records_, training);
    if (!training.refused.empty() || IsTrained(folder_.path(), training)) continue;
    if (!fs::exists(record)) continue;
    TakeRecord(record, folder_.path(), training);
    ++taken;
  }
  return taken;
}

void StudyRecords::Keep() const {
  if (records_.empty()) return;
  for (const PlannedTraining& training : folder_.plan().trainings) {
    const fs::path record = RecordOf(records_, training);
    if (!training.refused.empty() || !IsTrained(folder_.path(), training)) continue;
    if (fs::exists(record)) continue;
    MakeFolder(records_);
    ReplaceFile(record, Packed(TrainingFolder(folder_.path(), training)));
  }
}

}  // namespace legacy
