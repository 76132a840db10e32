#include "scenarios/graphs/trace_groups.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/json.h"
#include "base/files/whole_file.h"
#include "base/words.h"

namespace legacy::graphs {
namespace {

using nlohmann::json;

std::vector<int> RanksOf(const json& list, const std::string& name, int ranks) {
  const std::string where = "group " + Shown(std::string_view(name));
  if (!list.is_array()) throw Error(where, Shown(list), "a list of ranks");
  std::vector<int> members;
  for (const json& rank : list) {
    members.push_back(static_cast<int>(WholeNumber(rank, where + ": rank", 0, ranks - 1)));
  }
  return members;
}

}  // namespace

int TraceGroup::PlaceOf(int rank) const {
  if (members.empty()) return rank;
  const auto found = std::ranges::find(members, rank);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

void TraceGroups::CheckMembers(const std::string& name, const std::vector<int>& members) const {
  std::vector<int> sorted = members;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return;
  throw Error("group " + Shown(std::string_view(name)), "rank " + std::to_string(*twice) + " twice",
              "each rank once");
}

int TraceGroups::NumberOf(const std::string& name, std::vector<int> members) {
  CheckMembers(name, members);
  for (int i = 0; i < Count(); ++i) {
    if (groups_[i].name == name && groups_[i].members == members) return i;
  }
  groups_.push_back({name, std::move(members)});
  return Count() - 1;
}

void TraceGroups::AddFile(const std::string& path) {
  const json document = ParseJson(ReadWholeFile(path), path);
  if (!document.is_object()) {
    throw Error("--groups", path, "an object with a list of ranks for each group");
  }
  for (const auto& [name, list] : document.items()) {
    try {
      std::vector<int> members = RanksOf(list, name, ranks_);
      if (members.empty())
        throw Error("group " + Shown(std::string_view(name)), "no ranks", "one or more");
      given_[name] = NumberOf(name, std::move(members));
    } catch (const Error& e) {
      throw e.Within(path + ": ");
    }
  }
}

void TraceGroups::AddMetadata(const std::string& text) {
  const size_t first = text.find("[{"), last = text.rfind("}]");
  if (text.find("pg_name") == std::string::npos || first == std::string::npos ||
      last == std::string::npos || last < first) {
    return;
  }
  std::string list = text.substr(first, last + 2 - first);
  if (list.find("\\\"") != std::string::npos) std::erase(list, '\\');  // a text in a text
  const json document = ParseJson(list, "inputs.values");
  if (!document.is_array()) return;
  for (const json& group : document) {
    if (!group.is_object() || !group.contains("pg_name")) continue;
    const json& named = group["pg_name"];
    const std::string name = named.is_string() ? named.get<std::string>() : named.dump();
    const bool lists = group.contains("ranks") && !group["ranks"].empty();
    local_[name] =
        lists ? NumberOf(name, RanksOf(group["ranks"], name, ranks_)) : NumberOf(name, {});
  }
}

int TraceGroups::Find(const std::string& name) const {
  if (name.empty()) return 0;
  for (const auto* names : {&given_, &local_}) {
    if (const auto found = names->find(name); found != names->end()) return found->second;
  }
  if (name == "0" && given_.empty() && local_.empty()) return 0;
  std::string known;
  for (const auto* names : {&given_, &local_}) {
    for (const auto& [other, number] : *names)
      known += (known.empty() ? "" : ", ") + Shown(std::string_view(other));
  }
  throw Error("group", Shown(std::string_view(name)),
              known.empty() ? "none, as no groups are defined; --groups gives them" : known);
}

}  // namespace legacy::graphs
