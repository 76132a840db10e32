#include "trainer/federated/partition.h"

#include <array>

#include "base/error.h"
#include "trainer/federated/partition_rules.h"

namespace legacy {

std::span<const PartitionRule> PartitionRules() {
  static const OptionSpec kLeast = {
      "least", "10", "0 to 10^9", "samples that every client has at least; 0: some may have none"};
  static const std::array<PartitionRule, 9> kRules = {{
      {{"iid",
        "shuffled, and cut into parts that differ by at most one sample",
        "",
        {{"samples", "0", "0 to 10^9", "samples of each client; 0: an even part"},
         {"replace", "off", "on, off", "each client draws from the whole set, with replacement"}}},
       partitions::Iid},
      {{"dirichlet",
        "shares of each class are Dirichlet over the clients",
        "Yurochkin et al., ICML 2019; Li et al., ICDE 2022",
        {{"alpha", "0.5", "1e-6 to 1e6", "concentration; small ones give few classes a client"},
         {"balance", "on", "on, off", "clients with an even part of all samples get no more"},
         kLeast}},
       partitions::DirichletByClass},
      {{"dirichlet-client",
        "equal sizes; shares of classes are Dirichlet at each client",
        "Hsu, Qi, Brown, 2019",
        {{"alpha", "0.5", "1e-6 to 1e6", "concentration"},
         {"prior", "data", "data, uniform", "mean shares of the classes"}}},
       partitions::DirichletByClient},
      {{"shards",
        "samples sorted by label, cut into equal shards, some of them for each client",
        "McMahan et al., AISTATS 2017",
        {{"per_client", "2", "1 to 10^6", "shards of a client"}}},
       partitions::Shards},
      {{"labels",
        "some labels for each client; a label is cut evenly among its clients",
        "Li et al., ICDE 2022",
        {{"per_client", "2", "1 to the number of classes", "labels of a client"}}},
       partitions::Labels},
      {{"quantity",
        "sizes differ, labels as they come",
        "Li et al., ICDE 2022",
        {{"alpha", "0.5", "1e-6 to 1e6", "concentration of the sizes"},
         {"lognormal", "0", "0 to 10", "deviation of the sizes' logarithm, in place of alpha"},
         kLeast}},
       partitions::Quantity},
      {{"power-law",
        "some labels for each client, and lognormal sizes",
        "Li et al., MLSys 2020",
        {{"labels", "2", "1 to the number of classes", "neighbouring labels of a client"},
         {"sigma", "2", "0 to 10", "deviation of the sizes' logarithm"},
         {"least", "5", "0 to 10^9", "samples of each of its labels that every client has"}}},
       partitions::PowerLaw},
      {{"natural",
        "read from a file of pairs",
        "",
        {{"file", "", "CSV with the columns sample,client",
          "samples that it leaves out have none"}}},
       partitions::Natural},
      {{"groups",
        "the data set's own: a speaking role, a user",
        "",
        {{"least", "1", "1 to 10^9", "samples that a group must have"}}},
       partitions::Groups},
  }};
  return kRules;
}

void CheckPartition(const std::string& text) {
  const Stage stage = ParseOneStage(text);
  const PartitionRule& rule = FindRow("partition", stage.name, PartitionRules());
  rule.make(OptionReader(stage, rule.info.options), SampleLabels(), 1, 0);
}

std::unique_ptr<Partition> MakePartition(const std::string& text, const SampleLabels& data,
                                         int64_t clients, uint64_t seed) {
  const Stage stage = ParseOneStage(text);
  const PartitionRule& rule = FindRow("partition", stage.name, PartitionRules());
  if (clients < 1) throw Error("clients", std::to_string(clients), "at least 1");
  if (data.samples < 1) throw Error("training samples", "none", "at least 1");
  auto partition = rule.make(OptionReader(stage, rule.info.options), data, clients, seed);
  if (partition->Holders() == 0) {
    throw Error("partition", text, "one in which some client has samples");
  }
  return partition;
}

}  // namespace legacy
