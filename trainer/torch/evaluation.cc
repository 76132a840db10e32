#include "trainer/torch/evaluation.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace legacy {
namespace {

Bytes StateOf(const Model& model) {
  StateWriter out;
  model.SaveState(out);
  return out.Take();
}

void SetState(Model& model, ByteSpan bytes) {
  StateReader in(bytes);
  model.LoadState(in);
}

// Gathers the sums of all parts from those of each process.
std::vector<MetricSums> GatherSums(ProcessGroup& processes, std::vector<MetricSums> own,
                                   int64_t parts) {
  if (processes.Alone()) return own;
  StateWriter out;
  const auto put = [&](double number) { out.Number(std::bit_cast<uint64_t>(number)); };
  for (const MetricSums& sums : own) {
    put(sums.loss);
    put(sums.count);
    out.Number(sums.values.size());
    for (const double value : sums.values) put(value);
  }
  const std::vector<Bytes> gathered = processes.AllGather(out.Take());
  std::vector<StateReader> in(gathered.begin(), gathered.end());
  std::vector<MetricSums> all(static_cast<size_t>(parts));
  for (int64_t p = 0; p < parts; ++p) {
    StateReader& from = in[p % processes.size()];
    const auto get = [&] { return std::bit_cast<double>(from.Number()); };
    all[p].loss = get();
    all[p].count = get();
    all[p].values.resize(from.Number("metrics", from.Left()));
    std::ranges::generate(all[p].values, get);
  }
  return all;
}

}  // namespace

std::shared_ptr<Model> ModelOfPart(Model& model, int64_t part) {
  std::shared_ptr<Model> copy = model.ForEvaluation();
  if (!copy) return {std::shared_ptr<Model>(), &model};
  copy->SetDraws({.worker = static_cast<uint32_t>(part), .purpose = Purpose::kEvaluation});
  return copy;
}

Evaluation EvaluateTogether(const BackendJob& job, int worker, const EvaluateParts& evaluate) {
  ProcessGroup& processes = job.processes;
  const bool owns = processes.Owns(worker);
  Model& replica = owns ? *job.replicas[worker] : job.model;
  Bytes state;
  if (!processes.Alone()) {
    state = StateOf(replica);
    const Bytes given = processes.Broadcast(state, processes.OwnerOf(worker));
    if (!owns) SetState(replica, given);
  }
  const int64_t parts = job.task.Parts(job.options.evaluation_batch);
  std::vector<int64_t> own;
  for (int64_t p = processes.rank(); p < parts; p += processes.size()) own.push_back(p);
  std::vector<MetricSums> sums(own.size());
  replica.eval();
  evaluate(replica, own, sums);
  replica.train();
  if (!owns) SetState(replica, state);
  return job.task.Conclude(GatherSums(processes, std::move(sums), parts));
}

}  // namespace legacy
