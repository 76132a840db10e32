#include "scenarios/graphs/plan_maker.h"

#include <algorithm>

#include "base/error.h"
#include "scenarios/graphs/chakra_reader.h"
#include "scenarios/graphs/collective_specs.h"

namespace legacy::graphs {
namespace {

using fabric::OperationKind;
using fabric::StepOperation;

// Devices of a rank besides 0: its processor, its memory, and what replays collectives of which no
// more is known than how long they took.
constexpr int kCpu = 1, kMemory = 2, kReplay = 3;

// Returns the number of a rank that a node names. Throws Error naming the attribute.
int RankOf(const std::optional<int64_t>& rank, const char* name, int own, int ranks) {
  if (!rank) throw Error::Refusal(std::string("has no ") + name);
  if (*rank >= ranks || *rank == own) {
    throw Error(name, std::to_string(*rank),
                "0 to " + std::to_string(ranks - 1) + ", and not the rank itself");
  }
  return static_cast<int>(*rank);
}

// Returns the duration of a node by its arithmetic and its tensors.
TimeNs RooflineTime(const Roofline& roofline, const TraceNode& node) {
  const double seconds =
      std::max(static_cast<double>(node.operations) / roofline.operations_per_second,
               static_cast<double>(node.tensor_bytes) / roofline.bytes_per_second);
  return RoundedTime(1e9 * seconds);
}

}  // namespace

PlanMaker::PlanMaker(TraceGroups groups, int ranks, const ImportOptions& options)
    : ranks_(ranks), options_(options), groups_(std::move(groups)) {
  plan_.ranks = ranks;
}

PlanMaker::~PlanMaker() = default;

void PlanMaker::BeginRank(int rank, const std::string& file) {
  rank_.Begin(rank, file, options_.strict);
  uses_.clear();
  group_streams_.clear();
  groups_of_size_.clear();
}

void PlanMaker::Take(const PlanFields& plan) {
  if (plan.ranks != ranks_) {
    throw Error("legacy_ranks", std::to_string(plan.ranks),
                std::to_string(ranks_) + ", the number of files");
  }
  if (own_ && !(*own_ == plan)) {
    throw Error::Refusal("is of another plan than the files before it");
  }
  if (own_) return;
  if (!plan_.roles.empty() || rank_.Count() > 0) {
    throw Error::Refusal("is of a plan of ours, and the files before it are not");
  }
  own_ = plan;
  for (size_t i = 0; i < plan.streams.size(); ++i) {
    plan_.streams.push_back(
        {plan.streams[i], plan.ordered[i] != 0, static_cast<int>(plan.devices[i])});
  }
  plan_.communicators = plan.communicators;
  plan_.contention = plan.contention;
  plan_.hostLimit = static_cast<int>(plan.host_limit);
}

void PlanMaker::Take(const TraceNode& node) {
  ++counts_.nodes;
  try {
    if (!node.groups.empty()) groups_.AddMetadata(node.groups);
    rank_.Add(node, OperationOf(node));
  } catch (const Error& e) {
    const std::string place = NodeText(node) + ": ";
    throw std::string_view(e.what()).starts_with(place) ? e : e.Within(place);
  }
}

int PlanMaker::StreamNamed(const std::string& name, bool ordered, int device) {
  const auto found = std::ranges::find_if(
      plan_.streams, [&](const fabric::StepStream& stream) { return stream.name == name; });
  if (found != plan_.streams.end()) return static_cast<int>(found - plan_.streams.begin());
  plan_.streams.push_back({name, ordered, device});
  return static_cast<int>(plan_.streams.size()) - 1;
}

// Returns the stream of a group's collectives. Ranks that do the same in groups of one size have
// equal streams, whatever these groups are called.
int PlanMaker::StreamOfGroup(int group) {
  if (options_.one_stream) return StreamNamed("communication", true);
  const auto known = group_streams_.find(group);
  if (known != group_streams_.end()) return known->second;
  const std::vector<int>& members = groups_.At(group).members;
  std::string name = "all ranks";
  if (!members.empty()) name = "groups of " + std::to_string(members.size());
  const int number = ++groups_of_size_[members.size()];
  if (number > 1) name += " (" + std::to_string(number) + ")";
  return group_streams_[group] = StreamNamed(name, true);
}

TimeNs PlanMaker::DurationOf(const TraceNode& node) {
  const TimeNs recorded = node.duration.value_or(0);
  const bool sized = node.operations > 0 || node.tensor_bytes > 0;
  if (options_.roofline && sized && node.device != kCpu) {
    return RooflineTime(*options_.roofline, node);
  }
  counts_.timeless += recorded == 0 && sized && !node.own ? 1 : 0;
  return recorded;
}

void PlanMaker::SetSegment(const TraceNode& node, StepOperation& operation) {
  operation.duration = {DurationOf(node)};
  if (node.own) return;
  if (node.kind == NodeKind::kMemory) {
    operation.stream = StreamNamed("memory", false, kMemory);
  } else if (node.kind == NodeKind::kCollective && node.device != kCpu) {
    operation.stream = StreamNamed("collectives by duration", false, kReplay);
    ++counts_.replayed;
  } else if (node.device <= kCpu) {
    operation.stream =
        node.device == kCpu ? StreamNamed("cpu", false, kCpu) : StreamNamed("compute", false);
  } else {
    operation.stream = StreamNamed("device " + std::to_string(node.device), false, node.device);
  }
}

void PlanMaker::SetMessage(const TraceNode& node, StepOperation& operation) {
  const bool send = node.kind == NodeKind::kSend;
  operation.kind = send ? OperationKind::Send : OperationKind::Receive;
  operation.peer = {send ? RankOf(node.destination, "comm_dst", rank_.rank(), ranks_)
                         : RankOf(node.source, "comm_src", rank_.rank(), ranks_)};
  operation.tag = static_cast<int>(node.tag.value_or(0));
  if (send) {
    if (!node.bytes) throw Error::Refusal("has no comm_size");
    operation.bytes = *node.bytes;
  }
  if (node.own) return;
  operation.stream = !send                 ? StreamNamed("receives", false)
                     : options_.one_stream ? StreamNamed("communication", true)
                                           : StreamNamed("sends", false);
}

void PlanMaker::SetCollective(const TraceNode& node, StepOperation& operation) {
  if (!node.type) throw Error::Refusal("has no comm_type");
  const bool barrier = *node.type == CollectiveType::kBarrier;
  if (!node.bytes && !barrier) throw Error::Refusal("has no comm_size");
  if (node.group.empty() && !node.all_dimensions) {
    throw Error::Refusal(
        "involved_dim names some dimensions of ASTRA-sim's network, which are unknown here; give "
        "it a group (pg_name)");
  }
  Use use;
  use.node = static_cast<int>(rank_.Count());
  use.type = *node.type;
  use.group = groups_.Find(node.group);
  constexpr int64_t kBarrierBytes = 4;  // as PyTorch's, which sums one number
  use.bytes = barrier ? kBarrierBytes : *node.bytes;
  use.tag = node.tag.value_or(-1);
  const bool to_root =
      *node.type == CollectiveType::kReduce || *node.type == CollectiveType::kGather;
  const std::optional<int64_t>& root = to_root ? node.destination : node.source;
  use.root = root ? static_cast<int>(std::min<int64_t>(*root, ranks_)) : -1;
  use.own = node.own;
  if (groups_.At(use.group).PlaceOf(rank_.rank()) < 0) {
    throw Error::Refusal("rank " + std::to_string(rank_.rank()) + " is not in its group " +
                         groups_.At(use.group).name);
  }
  if (use.own && !use.own->collective) throw Error::Refusal("has no legacy_collective");
  operation.kind = OperationKind::Collective;
  operation.collective = {-1};
  if (!node.own) operation.stream = StreamOfGroup(use.group);
  uses_.push_back(std::move(use));
}

void PlanMaker::SetOwn(const TraceNode& node, StepOperation& operation) const {
  const OwnFields& own = *node.own;
  operation.stream = own.stream;
  operation.label = static_cast<fabric::SegmentLabel>(own.label);
  if (own.earliest) operation.earliest = {*own.earliest};
  operation.communicator = own.communicator;
  operation.issue = own.issue;
}

StepOperation PlanMaker::OperationOf(const TraceNode& node) {
  if (own_.has_value() != node.own.has_value()) {
    throw Error::Refusal(own_ ? "has no legacy_stream, as all nodes of this file have"
                              : "has attributes of ours, and the file's metadata has none");
  }
  StepOperation operation;
  operation.name = node.name;
  const bool communicates = node.kind == NodeKind::kSend || node.kind == NodeKind::kReceive ||
                            node.kind == NodeKind::kCollective;
  if (node.kind == NodeKind::kOther) {
    operation.kind = OperationKind::Barrier;
    if (!node.own) operation.stream = StreamNamed("compute", false);
  } else if (!communicates || node.device == kCpu ||
             (node.kind == NodeKind::kCollective && !node.type && !options_.strict)) {
    SetSegment(node, operation);  // of communication, what the processor does for it
  } else if (node.kind == NodeKind::kCollective) {
    SetCollective(node, operation);
  } else {
    SetMessage(node, operation);
  }
  if (node.own) SetOwn(node, operation);
  return operation;
}

}  // namespace legacy::graphs
