#include "scenarios/network/validation/validation_cases.h"

#include <sstream>

#include "base/error.h"
#include "base/parse.h"

namespace legacy {
namespace {

constexpr bool kQuick = true;

void AddStars(std::vector<ValidationCase>& cases) {
  for (const char* options : {
           "workers=16 bytes=1MB",
           "workers=8 bytes=10MB",
           "workers=8 bytes=44.7MB",
           "workers=8 bytes=1MB bandwidth=1Gbps delay=10us",
           "workers=16 bytes=287KB bandwidth=1Gbps delay=10us",
           "workers=8 bytes=2MB bandwidth=100Gbps",
           "workers=8 bytes=1MB connections=cold",
           "workers=4 bytes=1MB bandwidth=1Gbps delay=10ms transport=wan",
           "workers=4 bytes=4MB bandwidth=1Gbps delay=10ms transport=wan connections=cold",
           "workers=8 bytes=2MB buckets=4",
           "workers=8 bytes=2MB compute=1ms stragglers=fixed:count=1,factor=1.5",
           "workers=8 bytes=2MB buckets=4 compute=2ms stragglers=lognormal:sigma=0.3",
           "workers=8 bytes=400KB collective=ring-allgather",
           "workers=8 bytes=10KB,200KB,50KB,400KB,0,100KB,20KB,80KB collective=ring-allgather",
           "workers=8 bytes=1MB collective=halving-doubling-allreduce",
           "workers=6 bytes=1MB collective=halving-doubling-allreduce",
           "workers=8 bytes=4MB collective=double-tree-allreduce",
           "workers=8 bytes=1MB collective=direct-allreduce",
           "workers=8 bytes=200KB collective=direct-allgather",
           "workers=8 bytes=1MB collective=hierarchical-allreduce",
           "workers=8 bytes=4MB collective=in-network-allreduce",
           "workers=8 bytes=1MB collective=broadcast",
           "workers=8 bytes=500KB collective=parameter-server",
           "workers=8 bytes=1MB collective=sharded-parameter-server",
           "workers=8 bytes=200KB collective=sparse-tree",
           "workers=8 bytes=1MB collective=scatter-reduce-allgather",
           "workers=8 bytes=1MB collective=all-to-all",
           "workers=16 bytes=2MB pattern=incast:4",
       }) {
    cases.push_back({std::string("topo=star ") + options});
  }
  cases.push_back({"topo=star workers=8 bytes=100KB", kQuick});
  cases.push_back({"topo=star workers=8 bytes=200KB collective=broadcast", kQuick});
  cases.push_back({"topo=star workers=8 bytes=100KB collective=parameter-server", kQuick});
}

void AddFatTrees(std::vector<ValidationCase>& cases) {
  for (const char* options : {
           "workers=16 bytes=2MB",
           "workers=16 bytes=2MB placement=strided",
           "workers=16 bytes=2MB placement=random:1",
           "workers=16 bytes=2MB placement=random:2",
           "workers=16 bytes=2MB placement=random:1 multipath=spray",
           "workers=8 bytes=44.7MB",
           "workers=16 bytes=2MB placement=random:1 buckets=4",
           "workers=16 bytes=2MB placement=random:1 compute=1ms stragglers=lognormal:sigma=0.3",
           "workers=16 bytes=1MB collective=halving-doubling-allreduce",
           "workers=16 bytes=1MB collective=halving-doubling-allreduce placement=random:1",
           "workers=16 bytes=4MB collective=double-tree-allreduce",
           "workers=16 bytes=1MB collective=direct-allreduce",
           "workers=16 bytes=100KB collective=direct-allgather",
           "workers=16 bytes=1MB collective=hierarchical-allreduce",
           "workers=16 bytes=1MB collective=hierarchical-allreduce placement=random:1",
           "workers=16 bytes=4MB collective=in-network-allreduce",
           "workers=16 bytes=1MB collective=broadcast",
           "workers=15 bytes=300KB collective=parameter-server",
           "workers=12 bytes=1MB collective=sharded-parameter-server",
           "workers=16 bytes=1MB collective=all-to-all",
           "workers=16 bytes=5MB pattern=permutation",
           "workers=16 bytes=5MB pattern=permutation seed=2",
           "workers=16 bytes=5MB pattern=permutation seed=3",
       }) {
    cases.push_back({std::string("topo=fat-tree ") + options});
  }
  cases.push_back({"topo=fat-tree workers=16 bytes=200KB placement=random:3", kQuick});
  cases.push_back({"topo=fat-tree workers=16 bytes=500KB pattern=permutation seed=4", kQuick});
}

void AddLeafSpines(std::vector<ValidationCase>& cases) {
  for (const char* ratio : {"1", "2", "4", "8"}) {
    const std::string topology =
        std::string("topo=leaf-spine:leaves=4,hosts=4,oversubscription=") + ratio + " workers=16 ";
    cases.push_back({topology + "bytes=1MB"});
    cases.push_back({topology + "bytes=1MB placement=strided"});
    cases.push_back({topology + "bytes=60KB collective=direct-allgather placement=random:1"});
    cases.push_back({topology + "bytes=2MB pattern=permutation"});
    cases.push_back({topology + "bytes=1MB collective=hierarchical-allreduce"});
  }
  cases.push_back(
      {"topo=leaf-spine:leaves=4,hosts=4,oversubscription=4 workers=16 bytes=200KB "
       "placement=strided",
       kQuick});
}

void AddOthers(std::vector<ValidationCase>& cases) {
  for (const char* options : {
           "topo=dumbbell:left=4,right=4 workers=8 bytes=2MB",
           "topo=dumbbell:left=4,right=4 workers=8 bytes=2MB placement=strided",
           "topo=dumbbell:left=4,right=4 workers=8 bytes=200KB collective=direct-allgather",
           "topo=dumbbell:left=4,right=4 workers=8 bytes=5MB pattern=permutation",
           "topo=torus:x=4,y=4 workers=16 bytes=1MB",
           "topo=torus:x=4,y=4 workers=16 bytes=1MB placement=random:1",
           "topo=torus:x=4,y=4 workers=16 bytes=500KB collective=all-to-all",
           "topo=dragonfly workers=16 bytes=1MB placement=random:1",
           "topo=ring workers=8 bytes=1MB",
           "topo=ring workers=8 bytes=500KB collective=all-to-all",
           "topo=rail-optimised:nodes=4,gpus=4 workers=16 bytes=1MB",
           "topo=rail-optimised:nodes=4,gpus=4 workers=16 bytes=1MB placement=strided",
           "topo=rail-optimised:nodes=4,gpus=4 workers=16 bytes=1MB "
           "collective=hierarchical-allreduce",
           "topo=nodes:nodes=4,gpus=4 workers=16 bytes=1MB",
           "topo=nodes:nodes=4,gpus=4 workers=16 bytes=1MB collective=hierarchical-allreduce",
           "topo=nodes:nodes=4,gpus=4 workers=16 bytes=1MB placement=random:1",
       }) {
    cases.push_back({options});
  }
  cases.push_back({"topo=torus:x=4,y=4 workers=16 bytes=200KB placement=random:2", kQuick});
}

}  // namespace

Experiment ExperimentOf(const ValidationCase& one, const std::vector<std::string>& fidelities) {
  ExperimentOptions options;
  options.fidelity = {Join(fidelities, ","), "--fidelity"};
  options.bandwidth = "10Gbps";
  options.delay = "1us";
  if (one.options.find("hierarchical") != std::string::npos) options.group = 4;
  std::istringstream words(one.options);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const auto& row = OptionNamed(ExperimentRows(), word.substr(0, equals), OptionNames::kFlags,
                                  "case " + one.options);
    row.set(options, row.flag, word.substr(equals + 1));
  }
  Experiment experiment = ParseExperiment(options, {});
  if (one.segment_bytes > 0) experiment.network.transport.segmentBytes = one.segment_bytes;
  return experiment;
}

std::vector<ValidationCase> FidelityCases() {
  std::vector<ValidationCase> cases;
  AddStars(cases);
  AddFatTrees(cases);
  AddLeafSpines(cases);
  AddOthers(cases);
  return cases;
}

}  // namespace legacy
