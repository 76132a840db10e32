#include "scenarios/study/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files/own_file.h"
#include "base/files/whole_file.h"
#include "base/files/yaml.h"
#include "base/programs/program.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefinition = "study.yaml";
constexpr const char* kDatabase = "study.sqlite";
constexpr const char* kJournals = "journal";
constexpr auto kLockPause = std::chrono::milliseconds(20);

void Rename(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw Error(to.string() + ": cannot be written: " + error.message());
}

void CreateDatabase(const fs::path& path, const analysis::Study& study) {
  const fs::path partial = path.string() + ".partial";
  for (const char* part : {"", "-journal", "-wal", "-shm"}) fs::remove(partial.string() + part);
  { analysis::StudyStore::Create(partial, study); }  // closed before it gets its final name
  Rename(partial, path);
}

void RequireSamePlan(const fs::path& path, const analysis::Study& stored,
                     const analysis::Study& planned) {
  bool same = stored.points.size() == planned.points.size() &&
              stored.trainings.size() == planned.trainings.size();
  for (size_t t = 0; same && t < planned.trainings.size(); ++t) {
    same = stored.trainings[t].id == planned.trainings[t].id;
  }
  for (size_t p = 0; same && p < planned.points.size(); ++p) {
    same = stored.points[p].training == planned.points[p].training;
  }
  if (!same) {
    throw Error::Refusal(
        (path / kDatabase).string() + ": its trainings are not those that " +
        (path / kDefinition).string() +
        " asks for: the definition or the program has changed since; run it into another "
        "folder");
  }
}

// Sets one key of the scenario, as in "SECTION.KEY=VALUE".
void Set(YAML::Node& root, const std::string& setting) {
  const size_t equals = setting.find('=');
  const size_t dot = setting.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals) {
    throw Error("--set", setting, "SECTION.KEY=VALUE, as in network.delay=50us");
  }
  const std::string section = setting.substr(0, dot);
  std::string key = setting.substr(dot + 1, equals - dot - 1);
  YAML::Node parent = root["scenario"][section];
  const size_t inner = section == "methods" ? key.find('.') : std::string::npos;
  if (inner != std::string::npos) {  // methods.NAME.FIELD
    parent.reset(parent[key.substr(0, inner)]);
    key.erase(0, inner + 1);
  }
  parent[key] = setting.substr(equals + 1);
}

}  // namespace

StudyFolder::StudyFolder(fs::path path, StudyPlan plan)
    : path_(std::move(path)), plan_(std::move(plan)), empty_(EmptyStudy(plan_)) {}

StudyFolder StudyFolder::Create(const fs::path& path, StudyPlan plan) {
  const fs::path file = path / kDefinition;
  if (fs::exists(file)) {
    if (ReadWholeFile(file) == plan.definition.text) {
      throw Error::Refusal(path.string() + ": this study is there already; continue with: " +
                           CommandOf("legacy-study") + " resume " + path.string());
    }
    throw Error::Refusal(
        path.string() +
        ": another study is there; choose another --out, or continue with that one: " +
        CommandOf("legacy-study") + " resume " + path.string());
  }
  ReplaceFile(file, plan.definition.text);
  StudyFolder folder(path, std::move(plan));
  folder.NeedDatabase();
  return folder;
}

StudyFolder StudyFolder::Open(const fs::path& path) {
  const fs::path file = path / kDefinition;
  if (!fs::exists(file)) {
    throw Error::Refusal(path.string() + ": no study is there (it has no " + kDefinition + ")");
  }
  return {path, PlanStudy(ParseStudy(ReadWholeFile(file), file.string()))};
}

void StudyFolder::NeedDatabase() const {
  if (!fs::exists(path_ / kDatabase)) CreateDatabase(path_ / kDatabase, empty_);
  RequireSamePlan(path_, analysis::StudyStore::Open(path_ / kDatabase).Read(), empty_);
}

std::string CompleteDefinition(const std::string& text, const fs::path& file,
                               const std::vector<std::string>& settings) {
  YAML::Node root;
  try {
    root = ParseYaml(text, file.string());
  } catch (const Error&) {
    return text;  // the reader of the definition reports the error
  }
  if (!root.IsMap() || (root["study"] && !root["study"].IsMap())) return text;
  const bool named = root["study"] && root["study"]["name"];
  if (named && settings.empty()) return text;
  if (!named) root["study"]["name"] = file.stem().string();
  for (const std::string& setting : settings) Set(root, setting);
  YAML::Emitter out;
  out << root;
  return std::string(out.c_str()) + "\n";
}

StudyLock::StudyLock(const fs::path& study, double seconds) {
  const fs::path path = study / "lock";
  std::string refused;
  file_ = OpenOwnFile(path, O_RDWR | O_CREAT, refused);
  if (file_ < 0) throw Error(path.string() + ": cannot be written: " + refused);
  using SteadyClock = std::chrono::steady_clock;
  const auto end = SteadyClock::now() + std::chrono::duration<double>(seconds);
  while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    if (reason == EWOULDBLOCK && SteadyClock::now() < end) {
      std::this_thread::sleep_for(kLockPause);
      continue;
    }
    if (reason == EINTR) continue;
    close(file_);
    throw Error::Refusal(study.string() +
                         (reason == EWOULDBLOCK
                              ? ": another legacy-study works on it; wait for its end, or "
                                "stop it and resume"
                              : ": cannot be locked: " + std::generic_category().message(reason)));
  }
}

StudyLock::~StudyLock() { close(file_); }

Changes Overlay(analysis::JournalEntries entries, analysis::Study& study) {
  Changes changes;
  const auto skip = [&](const std::string& what) {
    if (entries.skipped++ == 0) entries.first_skipped = what + " is not one of the study's";
  };
  const auto take = [](const auto& entry, auto& known, auto& changed) {
    const bool news = entry.state != known.state || entry.message != known.message;
    if (known.state == analysis::StudyState::kDone || !news) return;
    known = entry;
    changed.push_back(entry);
  };
  for (const analysis::StudyPoint& point : entries.points) {
    if (point.id >= std::ssize(study.points)) {
      skip("point " + std::to_string(point.id));
      continue;
    }
    take(point, study.points[static_cast<size_t>(point.id)], changes.points);
  }
  std::map<std::string, size_t> positions;
  for (size_t t = 0; t < study.trainings.size(); ++t) positions[study.trainings[t].id] = t;
  for (const analysis::StudyTraining& training : entries.trainings) {
    const auto found = positions.find(training.id);
    if (found == positions.end()) {
      skip("training " + training.id);
      continue;
    }
    take(training, study.trainings[found->second], changes.trainings);
  }
  study.notes.clear();
  if (entries.skipped > 0) {
    study.notes.push_back(
        "journals: " + std::to_string(entries.skipped) +
        " lines are no results and were skipped; the first: " + entries.first_skipped);
  }
  return changes;
}

analysis::Study ReadStudy(const fs::path& folder) {
  if (!fs::exists(folder / kDatabase)) {
    throw Error::Refusal(folder.string() + ": no study is there (it has no " + kDatabase + ")");
  }
  analysis::Study study = analysis::StudyStore::Open(folder / kDatabase).Read();
  Overlay(analysis::ReadJournals(folder / kJournals, study.metrics), study);
  return study;
}

Collector::Collector(const fs::path& folder)
    : journals_(folder / kJournals),
      store_(analysis::StudyStore::Open(folder / kDatabase)),
      study_(store_.Read()) {
  Collect();
}

void Collector::Collect() {
  const Changes changes = Overlay(analysis::ReadJournals(journals_, study_.metrics), study_);
  if (!changes.points.empty()) store_.Put(changes.points);
  if (!changes.trainings.empty()) store_.Put(changes.trainings);
}

}  // namespace legacy
