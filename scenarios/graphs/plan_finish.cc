// Operations of ranks become roles, collectives and messages.
#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/hash.h"
#include "scenarios/graphs/chakra_reader.h"
#include "scenarios/graphs/collective_specs.h"
#include "scenarios/graphs/plan_maker.h"

namespace legacy::graphs {
namespace {

using fabric::CollectiveAlgorithm;
using fabric::OperationKind;
using fabric::StepOperation;

// Returns whether two operations may be one of a role, whose ranks have own times, peers and
// collectives.
bool AreAlike(const StepOperation& a, const StepOperation& b) {
  return a.kind == b.kind && a.stream == b.stream && a.label == b.label &&
         a.communicator == b.communicator && a.issue == b.issue && a.tag == b.tag &&
         a.bytes == b.bytes && a.earliest.empty() == b.earliest.empty() && a.after == b.after &&
         a.name == b.name;
}

uint64_t HashOf(const std::vector<StepOperation>& operations) {
  uint64_t hash = operations.size();
  const auto add = [&hash](uint64_t value) { hash = Mix64(hash ^ value); };
  for (const StepOperation& operation : operations) {
    add(static_cast<uint64_t>(operation.kind) << 32 | static_cast<uint32_t>(operation.stream));
    add(static_cast<uint64_t>(operation.bytes));
    add(std::hash<std::string>()(operation.name));
    for (const int before : operation.after) add(static_cast<uint64_t>(before));
  }
  return hash;
}

template <class Value>
void Append(std::vector<Value>& values, const std::vector<Value>& rank) {
  values.insert(values.end(), rank.begin(), rank.end());
}

// Leaves one value for all ranks of a role where their values are equal.
template <class Value>
void Shorten(std::vector<Value>& values) {
  if (values.size() > 1 &&
      std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) {
    values.resize(1);
  }
}

bool HasOneSize(CollectiveType type) {
  return type == CollectiveType::kAllReduce || type == CollectiveType::kReduceScatter ||
         type == CollectiveType::kReduceScatterBlock;
}

}  // namespace

void PlanMaker::EndRank() {
  rank_.Finish();
  counts_.dropped += rank_.Dropped();
  groups_.EndFile();
  AddUses();
  AddMessages();
  AddRole();
}

// Adds the rank's part in collectives, in the order of its operations.
void PlanMaker::AddUses() {
  std::ranges::sort(uses_, {}, [this](const Use& use) { return rank_.PlaceOf(use.node); });
  std::map<std::pair<int, int64_t>, int64_t> issued;
  for (const Use& use : uses_) {
    const int64_t place = rank_.PlaceOf(use.node);
    const std::string where = rank_.Where(place);
    const std::tuple<int, int64_t, int64_t> key =
        use.own ? std::tuple(-1, int64_t{*use.own->collective}, int64_t{0})
                : std::tuple(use.group, use.tag, issued[{use.group, use.tag}]++);
    const auto [found, added] = instance_of_.emplace(key, static_cast<int>(instances_.size()));
    try {
      if (added) instances_.push_back(MakeInstance(use, where));
      Join(instances_[found->second], use);
    } catch (const Error& e) {
      throw e.Within(where + ": ");
    }
    rank_.Operations()[place].collective = {found->second};
  }
}

// Sets the algorithm of a collective that is not one of ours.
void PlanMaker::SetAlgorithm(const Use& use, fabric::CollectiveSpec& spec) const {
  switch (use.type) {
    case CollectiveType::kAllReduce:
    case CollectiveType::kBarrier:
      spec.algorithm = options_.all_reduce;
      return;
    case CollectiveType::kAllGather:
      spec.algorithm = options_.all_gather;
      return;
    case CollectiveType::kReduceScatter:
    case CollectiveType::kReduceScatterBlock:
      spec.algorithm = options_.reduce_scatter;
      return;
    case CollectiveType::kAllToAll:
      spec.algorithm = CollectiveAlgorithm::AllToAll;
      return;
    case CollectiveType::kBroadcast:
      spec.algorithm = CollectiveAlgorithm::Broadcast;
      return;
    case CollectiveType::kReduce:
    case CollectiveType::kGather:
    case CollectiveType::kScatter:
      spec.algorithm = CollectiveAlgorithm::AllToAllV;
      return;
  }
}

PlanMaker::Instance PlanMaker::MakeInstance(const Use& use, const std::string& where) const {
  Instance instance;
  instance.first = use;
  instance.where = where;
  fabric::CollectiveSpec& spec = instance.spec;
  if (use.own) {
    spec = ReadSpec(use.own->algorithm, use.own->spec);
  } else {
    SetAlgorithm(use, spec);
  }
  spec.members = groups_.At(use.group).members;
  const size_t members = spec.members.empty() ? ranks_ : spec.members.size();
  if (!use.own && spec.algorithm == CollectiveAlgorithm::AllToAllV && members > kMostPaired) {
    throw Error(ToString(use.type), std::to_string(members) + " ranks",
                "at most " + std::to_string(kMostPaired));
  }
  spec.bytes.assign(members, 0);
  instance.taking.assign(members, false);
  instance.left = static_cast<int>(members);
  return instance;
}

// Adds a rank to a collective.
void PlanMaker::Join(Instance& instance, const Use& use) const {
  const TraceGroup& group = groups_.At(use.group);
  if (use.type != instance.first.type || use.group != instance.first.group ||
      use.root != instance.first.root) {
    throw Error::Refusal(std::string("is ") + ToString(use.type) + ", and the same collective is " +
                         ToString(instance.first.type) +
                         (use.type == instance.first.type ? " with another group or root" : "") +
                         " at " + instance.where);
  }
  if (use.own && (use.own->algorithm != instance.first.own->algorithm ||
                  use.own->spec != instance.first.own->spec)) {
    throw Error::Refusal("is carried out otherwise than at " + instance.where);
  }
  if (HasOneSize(use.type) && !use.own && use.bytes != instance.first.bytes) {
    throw Error("comm_size", std::to_string(use.bytes),
                std::to_string(instance.first.bytes) + ", as at " + instance.where);
  }
  const int place = group.PlaceOf(rank_.rank());
  if (instance.taking[place]) throw Error::Refusal("its rank takes part in that collective twice");
  instance.taking[place] = true;
  --instance.left;
  const auto members = static_cast<int64_t>(instance.taking.size());
  const bool gathered = use.type == CollectiveType::kAllGather && options_.gathered_sizes;
  instance.spec.bytes[place] = gathered && !use.own
                                   ? use.bytes / members + (place < use.bytes % members ? 1 : 0)
                                   : use.bytes;
}

// Matches the messages of this rank with those of earlier ones.
void PlanMaker::AddMessages() {
  for (int64_t place = 0; place < rank_.Count(); ++place) {
    const StepOperation& operation = rank_.Operations()[place];
    const bool send = operation.kind == OperationKind::Send;
    if (!send && operation.kind != OperationKind::Receive) continue;
    counts_.messages += send ? 1 : 0;
    const int peer = operation.peer[0];
    const MessageKey key = {send ? rank_.rank() : peer, send ? peer : rank_.rank(), operation.tag};
    std::vector<MessageEnd>& ends = ends_[key];
    if (!ends.empty() && ends.back().send != send) {
      ends.pop_back();
      if (ends.empty()) ends_.erase(key);
    } else {
      ends.push_back({send, rank_.rank(), static_cast<int>(place), rank_.IdOf(place)});
    }
  }
}

// Returns whether the rank's operations are those of a role. A collective is one operation of a
// role: ranks that run the same collectives in other orders are of another role.
bool PlanMaker::Fits(size_t role) const {
  const std::vector<StepOperation>& operations = rank_.Operations();
  if (!std::ranges::equal(plan_.roles[role].operations, operations, AreAlike)) return false;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind != OperationKind::Collective) continue;
    const auto known = places_[role].find(operations[i].collective[0]);
    if (known != places_[role].end() && known->second != static_cast<int>(i)) return false;
  }
  return true;
}

// Adds the rank to the role with the same operations, or makes one.
void PlanMaker::AddRole() {
  std::vector<StepOperation>& operations = rank_.Operations();
  counts_.operations += rank_.Count();
  files_.push_back(rank_.file());
  const uint64_t hash = HashOf(operations);
  const auto [first, last] = roles_.equal_range(hash);
  const auto mark = [&](size_t role) {
    role_of_.push_back(role);
    for (size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].kind != OperationKind::Collective) continue;
      places_[role].emplace(operations[i].collective[0], static_cast<int>(i));
    }
  };
  for (auto known = first; known != last; ++known) {
    if (!Fits(known->second)) continue;
    fabric::StepRole& role = plan_.roles[known->second];
    role.ranks.push_back(rank_.rank());
    mark(known->second);
    for (size_t i = 0; i < operations.size(); ++i) {
      Append(role.operations[i].duration, operations[i].duration);
      Append(role.operations[i].earliest, operations[i].earliest);
      Append(role.operations[i].collective, operations[i].collective);
      Append(role.operations[i].peer, operations[i].peer);
    }
    return;
  }
  roles_.emplace(hash, plan_.roles.size());
  places_.emplace_back();
  mark(plan_.roles.size());
  plan_.roles.push_back({{rank_.rank()}, std::move(operations)});
}

std::string PlanMaker::Where(const MessageEnd& end) const {
  const StepOperation& operation = plan_.roles[role_of_[end.rank]].operations[end.place];
  return files_[end.rank] + ": " + NodeText(end.id, operation.name);
}

void PlanMaker::CheckMessageEnds() const {
  if (ends_.empty()) return;
  const auto& [key, ends] = *ends_.begin();
  const auto& [sender, receiver, tag] = key;
  const bool send = ends.front().send;
  throw Error::Refusal(Where(ends.front()) + ": " +
                       (send ? "sends to rank " + std::to_string(receiver)
                             : "receives from rank " + std::to_string(sender)) +
                       " with tag " + std::to_string(tag) + ", which never " +
                       (send ? "receives that" : "sends that"));
}

// Sets the root of a collective that has one, and the pairs of those that are messages to or from
// it.
void PlanMaker::SetRoot(Instance& instance) const {
  const Use& use = instance.first;
  fabric::CollectiveSpec& spec = instance.spec;
  if (use.own) return;
  const bool rooted = spec.algorithm == CollectiveAlgorithm::Broadcast ||
                      spec.algorithm == CollectiveAlgorithm::AllToAllV;
  if (!rooted) return;
  const int root = use.root < 0 ? 0 : groups_.At(use.group).PlaceOf(use.root);
  if (root < 0 || root >= static_cast<int>(spec.bytes.size())) {
    throw Error(instance.where + ": root", std::to_string(use.root), "a rank of its group");
  }
  spec.root = root;
  if (spec.algorithm != CollectiveAlgorithm::AllToAllV) return;
  spec.pairBytes = use.type == CollectiveType::kScatter
                       ? PairsFromRoot(spec.bytes[root], static_cast<int>(spec.bytes.size()), root)
                       : PairsToRoot(spec.bytes, root);
}

// Moves the collectives into the plan: those of ours in the plan's own order.
void PlanMaker::AddCollectives(ImportedPlan& imported) {
  plan_.collectives.resize(instances_.size());
  std::vector<int> number(instances_.size());
  for (size_t i = 0; i < instances_.size(); ++i) {
    Instance& instance = instances_[i];
    if (instance.left > 0) {
      const auto place = std::ranges::find(instance.taking, false) - instance.taking.begin();
      const std::vector<int>& members = instance.spec.members;
      throw Error::Refusal(instance.where + ": rank " +
                           std::to_string(members.empty() ? place : members[place]) +
                           " of its group takes no part in it");
    }
    SetRoot(instance);
    number[i] = instance.first.own ? *instance.first.own->collective : static_cast<int>(i);
    if (number[i] >= static_cast<int>(instances_.size())) {
      throw Error(instance.where + ": legacy_collective", std::to_string(number[i]),
                  "0 to " + std::to_string(instances_.size() - 1));
    }
    plan_.collectives[number[i]] = std::move(instance.spec);
  }
  imported.settled.assign(instances_.size(), own_.has_value());
  for (fabric::StepRole& role : plan_.roles) {
    for (StepOperation& operation : role.operations) {
      for (int& collective : operation.collective) collective = number[collective];
    }
  }
}

ImportedPlan PlanMaker::Finish() {
  ImportedPlan imported;
  CheckMessageEnds();
  AddCollectives(imported);
  for (fabric::StepRole& role : plan_.roles) {
    for (StepOperation& operation : role.operations) {
      Shorten(operation.duration);
      Shorten(operation.earliest);
      Shorten(operation.collective);
      Shorten(operation.peer);
    }
  }
  counts_.collectives = static_cast<int64_t>(instances_.size());
  imported.plan = std::move(plan_);
  imported.counts = counts_;
  fabric::CheckPlan(imported.plan);
  return imported;
}

}  // namespace legacy::graphs
