#include "scenarios/graphs/trace_import.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/files/plain_file.h"
#include "base/parse.h"
#include "base/words.h"
#include "scenarios/graphs/chakra_format.h"
#include "scenarios/graphs/chakra_reader.h"
#include "scenarios/graphs/goal_reader.h"

namespace legacy::graphs {
namespace {

namespace fs = std::filesystem;

// A RankFile is one of NAME.RANK.et or NAME.RANK.json.
struct RankFile {
  std::string name;
  int rank = 0;
  fs::path path;
};

bool IsChakraFile(const fs::path& path) {
  return path.extension() == chakra::kExtension || path.extension() == ".json";
}

bool HasDifferences(const fs::path& path) { return path.extension() == chakra::kDifferences; }

// Returns what a file's name says; nothing where it is not such a name.
std::optional<RankFile> RankFileOf(const fs::path& path) {
  if (!IsChakraFile(path) && !HasDifferences(path)) return std::nullopt;
  const std::string stem = path.stem().string();
  const size_t dot = stem.rfind('.');
  const std::string digits = dot == std::string::npos ? "" : stem.substr(dot + 1);
  constexpr size_t kMostDigits = 7;
  if (digits.empty() || digits.size() > kMostDigits ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return RankFile{stem.substr(0, dot), static_cast<int>(std::stoi(digits)), path};
}

// Returns the files of a folder whose names begin with `name`, by rank. Throws Error where these
// are not all ranks of one trace.
std::vector<fs::path> FilesOf(const fs::path& folder, const std::string& name) {
  std::map<std::string, std::map<int, fs::path>> traces;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::optional<RankFile> file = RankFileOf(entry.path());
    if (!file || (!name.empty() && file->name != name)) continue;
    const auto [known, added] = traces[file->name].emplace(file->rank, file->path);
    if (!added) {
      throw Error::Refusal(file->path.string() + ": is of the same rank as " +
                           known->second.filename().string());
    }
  }
  if (traces.empty()) {
    if (!name.empty()) {
      throw Error((folder / name).string() + ": cannot be read (no such file or folder, and no " +
                  "files " + Shown(std::string_view(name)) + ".RANK.et or .json)");
    }
    throw Error::Refusal(folder.string() + ": has no files NAME.RANK.et or .json");
  }
  if (traces.size() > 1) {
    std::vector<std::string> names;
    for (const auto& [other, files] : traces) names.push_back((folder / other).string());
    throw Error(folder.string() + ": has several traces", folder.string(), Join(names, ", "));
  }
  std::vector<fs::path> files;
  for (const auto& [rank, path] : traces.begin()->second) {
    if (rank != static_cast<int>(files.size())) {
      throw Error::Refusal(folder.string() + ": has no file of rank " +
                           std::to_string(files.size()) + ", and one of rank " +
                           std::to_string(rank));
    }
    files.push_back(path);
  }
  if (std::ssize(files) > kMostTraceRanks) {
    throw Error(folder.string() + ": ranks", std::to_string(files.size()),
                "at most " + std::to_string(kMostTraceRanks));
  }
  return files;
}

// Returns the groups of a file, or of that in the trace's folder which exporters write.
TraceGroups GroupsOf(const std::string& file, const fs::path& folder, int ranks) {
  TraceGroups groups(ranks);
  std::error_code failed;
  const fs::path beside = folder / kGroupsFile;
  if (!file.empty()) {
    groups.AddFile(file);
  } else if (fs::is_regular_file(beside, failed)) {
    groups.AddFile(beside.string());
  }
  return groups;
}

// Returns the file from which one of differences differs.
const fs::path& WholeOf(const std::vector<fs::path>& files, const std::string& differences) {
  const int64_t first = FirstRankOf(differences);
  if (first >= std::ssize(files) || files[first].extension() != chakra::kExtension) {
    throw Error::Refusal(differences + ": differs from a file of rank " + std::to_string(first) +
                         ", which is not there");
  }
  return files[first];
}

ImportedPlan ImportChakra(const std::vector<fs::path>& files, const std::string& groups,
                          const ImportOptions& options) {
  const int ranks = static_cast<int>(files.size());
  PlanMaker maker(GroupsOf(groups, files.front().parent_path(), ranks), ranks, options);
  const ChakraUse use = {[&maker](const PlanFields& plan) { maker.Take(plan); },
                         [&maker](const TraceNode& node) { maker.Take(node); }};
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string path = files[rank].string();
    maker.BeginRank(rank, path);
    if (files[rank].extension() == ".json") {
      ReadChakraJson(path, use);
    } else if (HasDifferences(files[rank])) {
      ReadChakra(WholeOf(files, path).string(), use, path);
    } else {
      ReadChakra(path, use);
    }
    maker.EndRank();
  }
  return maker.Finish();
}

ImportedPlan ImportGoal(const std::string& path, const std::string& groups,
                        const ImportOptions& options) {
  if (!groups.empty()) throw Error("--groups", groups, "nothing for GOAL, which has no groups");
  std::optional<PlanMaker> maker;
  bool inside = false;  // a rank
  const GoalUse use = {[&](int ranks) { maker.emplace(TraceGroups(ranks), ranks, options); },
                       [&](int rank) {
                         if (std::exchange(inside, true)) maker->EndRank();
                         maker->BeginRank(rank, path + ": rank " + std::to_string(rank));
                       },
                       [&](const TraceNode& node) {
                         try {
                           maker->Take(node);
                         } catch (const Error& e) {
                           throw e.Within(path + ": ");
                         }
                       }};
  ReadGoal(path, use);
  maker->EndRank();
  return maker->Finish();
}

}  // namespace

ImportedPlan ImportTrace(const std::string& path, const std::string& groups,
                         const ImportOptions& options) {
  std::error_code failed;
  const fs::path place = path;
  if (fs::is_directory(place, failed)) return ImportChakra(FilesOf(place, ""), groups, options);
  if (!fs::exists(place, failed)) {
    const fs::path folder = place.parent_path().empty() ? fs::path(".") : place.parent_path();
    if (!fs::is_directory(folder, failed)) {
      throw Error(path + ": cannot be read" + NoteOfMissing(path));
    }
    return ImportChakra(FilesOf(folder, place.filename().string()), groups, options);
  }
  if (IsChakraFile(place)) return ImportChakra({place}, groups, options);
  return ImportGoal(path, groups, options);
}

}  // namespace legacy::graphs
