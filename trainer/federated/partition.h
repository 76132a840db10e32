// A partition says which training samples each client of federated learning has. Partitions are
// written as a name with options, "dirichlet:alpha=0.5", and are functions of the text, the number
// of clients, the samples and the seed alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compress/options.h"
#include "trainer/data/sample_labels.h"

namespace legacy {

// A Partition is immutable: any thread may ask.
class Partition {
 public:
  virtual ~Partition() = default;

  virtual int64_t Clients() const = 0;
  // Returns the number of clients that have a sample. The others take no part in a training.
  virtual int64_t Holders() const = 0;
  // Returns the number of samples of a client, which may be 0.
  virtual int64_t SizeOf(int64_t client) const = 0;
  // Returns the numbers of a client's samples.
  virtual std::vector<int64_t> SamplesOf(int64_t client) const = 0;
};

// A PartitionRule is a row of the table of partitions.
struct PartitionRule {
  MethodInfo info;
  // Makes the partition of `clients` >= 1 clients. Throws Error where the samples do not allow it.
  // Without samples it reads its options, and returns nothing.
  std::unique_ptr<Partition> (*make)(const OptionReader& options, const SampleLabels& data,
                                     int64_t clients, uint64_t seed);
};

// Returns the table.
std::span<const PartitionRule> PartitionRules();

// Throws Error naming `partition` where no data could be divided by `text`.
void CheckPartition(const std::string& text);

// Makes the partition that `text` names, in which clients may be without samples but not all are.
// Throws Error naming `partition`, the value and what is allowed.
std::unique_ptr<Partition> MakePartition(const std::string& text, const SampleLabels& data,
                                         int64_t clients, uint64_t seed);

}  // namespace legacy
