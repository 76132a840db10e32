// Groups of ranks that run collectives together, as files of traces name them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace legacy::graphs {

// The file of groups that is written beside a trace.
inline constexpr const char* kGroupsFile = "comm_group.json";

// A TraceGroup is the ranks of one group, in the order of its collectives.
struct TraceGroup {
  std::string name;
  std::vector<int> members;  // empty: all ranks

  // Returns the place of a rank among the members; -1: it is none of them.
  int PlaceOf(int rank) const;
};

// TraceGroups are the groups that a file of groups, and the metadata nodes of one trace, define.
class TraceGroups {
 public:
  explicit TraceGroups(int ranks) : ranks_(ranks) {}

  // Reads a JSON file: {"1": [0, 1, 2, 3], ...}. Throws Error naming file and group where a rank is
  // in a group twice, or there is no such rank.
  void AddFile(const std::string& path);
  // Reads what a metadata node defines: [{"pg_name": "0", "ranks": [0, 1]}, ...], which may be a
  // text in a list; no ranks are all ranks. A text without such a list defines none. Throws Error
  // as AddFile does.
  void AddMetadata(const std::string& text);

  // Returns the number of a group, the same for the same name and members; "" is the group of all
  // ranks, and so is "0" where no group is defined. Throws Error with those that there are.
  int Find(const std::string& name) const;
  const TraceGroup& At(int number) const { return groups_[number]; }
  int Count() const { return static_cast<int>(groups_.size()); }
  // Forgets the names that metadata nodes defined, of which each rank has its own.
  void EndFile() { local_.clear(); }

 private:
  int NumberOf(const std::string& name, std::vector<int> members);
  void CheckMembers(const std::string& name, const std::vector<int>& members) const;

  int ranks_;
  std::vector<TraceGroup> groups_ = {{"", {}}};
  std::map<std::string, int> given_;  // of the file of groups
  std::map<std::string, int> local_;  // of the present trace
};

}  // namespace legacy::graphs
