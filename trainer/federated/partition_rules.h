// The rules of the table of partitions.
#pragma once

#include <cstdint>

#include "trainer/federated/partition.h"
#include "trainer/federated/partition_lists.h"

namespace legacy::partitions {

Made Iid(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t seed);
Made DirichletByClass(const OptionReader& options, const SampleLabels& data, int64_t clients,
                      uint64_t seed);
Made DirichletByClient(const OptionReader& options, const SampleLabels& data, int64_t clients,
                       uint64_t seed);
Made Shards(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t seed);
Made Labels(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t seed);
Made Quantity(const OptionReader& options, const SampleLabels& data, int64_t clients,
              uint64_t seed);
Made PowerLaw(const OptionReader& options, const SampleLabels& data, int64_t clients,
              uint64_t seed);
Made Natural(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t seed);
Made Groups(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t seed);

}  // namespace legacy::partitions
