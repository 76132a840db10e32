#include "trainer/clock/layout.h"

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "base/settings.h"

namespace legacy {
namespace {

constexpr int kMostRanks = 65536;
constexpr int kMostChunks = 1024;

}  // namespace

ParallelLayout ParseParallel(const std::string& text, const std::string& key) {
  if (text == "none") return {};
  Settings settings = Settings::FromText("parallel:" + text, key);
  ParallelLayout layout{.tensor = settings.Int("tp", 1, 1, kMostRanks),
                        .pipeline = settings.Int("pp", 1, 1, kMostRanks),
                        .context = settings.Int("cp", 1, 1, kMostRanks),
                        .expert = settings.Int("ep", 1, 1, kMostRanks)};
  layout.sequence = ParseSwitch(settings.Text("sequence", "on"), key + ": sequence");
  layout.overlap =
      ParseChoice<SumOverlap>(settings.Text("overlap", "on"), key + ": overlap", kSumOverlapTexts);
  settings.RejectUnread();
  return layout;
}

StageOrder ParseStageOrder(const std::string& text, const std::string& key) {
  using fabric::PipelineSchedule;
  const std::string interleaved = "interleaved:";
  if (text.starts_with(interleaved)) {
    return {.chunks = static_cast<int>(
                ParseInteger(text.substr(interleaved.size()), key, 2, kMostChunks))};
  }
  if (text == "1f1b") return {};
  if (text == "gpipe") return {.schedule = PipelineSchedule::GPipe};
  if (text == "zb-h1") return {.schedule = PipelineSchedule::ZeroBubbleH1};
  throw Error(key, text, "1f1b, interleaved:V with V chunks a stage, gpipe or zb-h1");
}

int DataRanks(const ParallelLayout& layout, int ranks) {
  const int divide = layout.tensor * layout.pipeline;
  if (ranks % divide != 0) {
    throw Error("training.workers", std::to_string(ranks),
                "a multiple of " + std::to_string(divide) + ", the ranks of tp times pp");
  }
  const int data = ranks / divide;
  for (const auto& [name, parts] : {std::pair{"cp=", layout.context}, {"ep=", layout.expert}}) {
    if (data % parts == 0) continue;
    throw Error("clock.parallel", name + std::to_string(parts),
                "a divisor of the " + std::to_string(data) + " ranks that tp and pp leave");
  }
  return data;
}

std::vector<int> RanksOfStage(const ParallelLayout& layout, int ranks, int stage) {
  const int each = ranks / layout.pipeline;
  std::vector<int> members(static_cast<size_t>(each));
  for (int i = 0; i < each; ++i) members[static_cast<size_t>(i)] = stage * each + i;
  return members;
}

std::vector<fabric::CollectiveSpec> InStage(const ParallelLayout& layout, int ranks, int stage,
                                            std::vector<fabric::CollectiveSpec> groups) {
  if (!layout.Divides()) return groups;
  return Interleaved(std::move(groups), layout.tensor, stage * (ranks / layout.pipeline));
}

std::vector<fabric::CollectiveSpec> Interleaved(std::vector<fabric::CollectiveSpec> groups,
                                                int parts, int first) {
  std::vector<fabric::CollectiveSpec> all;
  for (int part = 0; part < parts; ++part) {
    for (const fabric::CollectiveSpec& group : groups) {
      fabric::CollectiveSpec& spec = all.emplace_back(group);
      spec.members.clear();
      for (size_t i = 0; i < spec.bytes.size(); ++i) {
        const int data = group.members.empty() ? static_cast<int>(i) : group.members[i];
        spec.members.push_back(first + part + data * parts);
      }
    }
  }
  return all;
}

std::vector<std::vector<int>> GroupsInStage(const ParallelLayout& layout, int ranks, int stage,
                                            RankAxis axis) {
  const int stride = axis == RankAxis::kTensor ? 1 : layout.tensor;
  const int size = axis == RankAxis::kTensor    ? layout.tensor
                   : axis == RankAxis::kContext ? layout.context
                                                : layout.expert;
  std::vector<std::vector<int>> groups;
  for (const int rank : RanksOfStage(layout, ranks, stage)) {
    if (rank / stride % size != 0) continue;  // it is in the group of one before
    std::vector<int>& group = groups.emplace_back();
    for (int i = 0; i < size; ++i) group.push_back(rank + i * stride);
  }
  return groups;
}

std::vector<std::vector<OperationRange>> CutIntoStages(const ParallelLayout& layout,
                                                       const StageOrder& order,
                                                       std::span<const OperationCost> operations) {
  const auto stages = static_cast<size_t>(layout.pipeline);
  const size_t parts = stages * static_cast<size_t>(order.chunks);
  if (parts == 1) return {{{0, operations.size()}}};
  std::vector<size_t> begins;  // of each block
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].block == std::ssize(begins)) begins.push_back(i);
  }
  if (begins.size() < parts) {
    throw Error("clock.parallel", std::to_string(parts) + " parts of the model",
                "at most " + std::to_string(begins.size()) + ", the model's blocks");
  }
  const auto begin_of = [&](size_t part) {
    if (part == 0) return size_t{0};
    return part == parts ? operations.size() : begins[part * begins.size() / parts];
  };
  std::vector<std::vector<OperationRange>> ranges(stages);
  for (size_t part = 0; part < parts; ++part) {
    ranges[part % stages].emplace_back(begin_of(part), begin_of(part + 1));
  }
  return ranges;
}

}  // namespace legacy
