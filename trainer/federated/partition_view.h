// Figures of a partition: how many samples and labels clients have, and how far each of them is
// from the whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/federated/partition.h"

namespace legacy {

// A PartitionView has the figures of a partition.
struct PartitionView {
  int64_t clients = 0;
  int64_t without = 0;  // clients without samples, whom the means leave out
  int64_t least = 0;    // samples of a client
  double median = 0;
  int64_t most = 0;
  int64_t samples = 0;   // of all clients, each counted as often as clients have it
  int64_t left_out = 0;  // samples of the set that no client has
  double labels = 0;     // mean number of labels that a client has; 0 where there are none
  // Mean over clients of the total variation distance, [0, 1], between a client's shares of the
  // labels and those of the whole set.
  double distance = 0;
  std::vector<int64_t> sizes;                // samples of each client
  std::vector<double> distances;             // of each client; empty without labels
  std::vector<std::vector<int64_t>> counts;  // samples by client and label; empty without labels
};

// Looks at all clients of a partition of `data`.
PartitionView ViewPartition(const Partition& partition, const SampleLabels& data);

// Returns a row for each client as CSV: client, samples, distance and the samples of each label.
// Without labels the rows end with the samples.
std::string PartitionCsv(const PartitionView& view);

}  // namespace legacy
