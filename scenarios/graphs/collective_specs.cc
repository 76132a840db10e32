#include "scenarios/graphs/collective_specs.h"

#include <span>

#include "base/archive.h"
#include "base/error.h"
#include "ns3-module/wire/fields.h"

namespace legacy::graphs {

using fabric::CollectiveAlgorithm;
using fabric::CollectiveSpec;

CollectiveType TypeOf(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::RingAllGather:
    case CollectiveAlgorithm::DirectAllGather:
    case CollectiveAlgorithm::HierarchicalAllGather:
    case CollectiveAlgorithm::RecursiveDoublingAllGather:
    case CollectiveAlgorithm::BruckAllGather:
      return CollectiveType::kAllGather;
    case CollectiveAlgorithm::RingReduceScatter:
    case CollectiveAlgorithm::HalvingReduceScatter:
    case CollectiveAlgorithm::HopRingReduceScatter:
    case CollectiveAlgorithm::HopHalvingReduceScatter:
      return CollectiveType::kReduceScatter;
    case CollectiveAlgorithm::AllToAll:
    case CollectiveAlgorithm::AllToAllV:
      return CollectiveType::kAllToAll;
    case CollectiveAlgorithm::Broadcast:
      return CollectiveType::kBroadcast;
    default:
      return CollectiveType::kAllReduce;
  }
}

std::string SpecBytes(const CollectiveSpec& spec) {
  CollectiveSpec rest = spec, plain;
  rest.members.clear();
  rest.bytes.clear();
  plain.algorithm = spec.algorithm;
  StateWriter out, empty;
  ToArchive(out, rest);
  ToArchive(empty, plain);
  const Bytes bytes = out.Take();
  if (bytes == empty.Take()) return "";
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

CollectiveSpec ReadSpec(const std::string& algorithm, const std::string& bytes) {
  CollectiveSpec spec;
  if (!bytes.empty()) {
    StateReader in(std::as_bytes(std::span(bytes)));
    FromArchive(in, spec);
    in.ExpectEnd();
    if (spec.protocol > fabric::Protocol::Simple || spec.order > fabric::PeerOrder::Index ||
        spec.gpus > fabric::GpuGeneration::Hopper || !spec.members.empty() || !spec.bytes.empty()) {
      throw Error::Refusal("the bytes of a collective are none of ours");
    }
  }
  spec.algorithm = fabric::ParseCollective(algorithm);
  return spec;
}

std::vector<int64_t> PairsToRoot(const std::vector<int64_t>& bytes, int root) {
  std::vector<int64_t> pairs(bytes.size() * bytes.size(), 0);
  for (size_t s = 0; s < bytes.size(); ++s) pairs[s * bytes.size() + root] = bytes[s];
  return pairs;
}

std::vector<int64_t> PairsFromRoot(int64_t bytes, int members, int root) {
  std::vector<int64_t> pairs(static_cast<size_t>(members) * members, 0);
  for (int d = 0; d < members; ++d) {
    const int64_t part = bytes / members + (d < bytes % members ? 1 : 0);
    pairs[static_cast<size_t>(root) * members + d] = part;
  }
  return pairs;
}

}  // namespace legacy::graphs
