#include "trainer/evaluation.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "trainer/tensor_state.h"

namespace legacy {
namespace {

Bytes BuffersOf(const Model& model) {
  StateWriter out;
  SaveBuffers(model, out);
  return out.Take();
}

void SetBuffers(Model& model, ByteSpan bytes) {
  StateReader in(bytes);
  LoadBuffers(model, in);
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

Evaluation EvaluateTogether(const BackendJob& job, int worker, const EvaluateParts& evaluate) {
  ProcessGroup& processes = job.processes;
  const bool owns = processes.Owns(worker);
  Model& replica = owns ? *job.replicas[worker] : job.model;
  Bytes buffers;
  if (!processes.Alone()) {
    buffers = BuffersOf(replica);
    const Bytes given = processes.Broadcast(buffers, processes.OwnerOf(worker));
    if (!owns) SetBuffers(replica, given);
  }
  const int64_t parts = job.task.Parts(job.options.evaluation_batch);
  std::vector<int64_t> own;
  for (int64_t p = processes.rank(); p < parts; p += processes.size()) own.push_back(p);
  std::vector<MetricSums> sums(own.size());
  replica.eval();
  evaluate(replica, own, sums);
  replica.train();
  if (!owns) SetBuffers(replica, buffers);
  return job.task.Conclude(GatherSums(processes, std::move(sums), parts));
}

}  // namespace legacy
