#!/usr/bin/env bash
# Adds one of each kind of docs/adding.md to a copy of the sources, builds them and uses what was
# added, and compares the number of files that were touched with the page: adding_test.sh ROOT
set -euo pipefail
root=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree
mkdir "$tree"
(cd "$root" && tar cf - --exclude=./build --exclude=./.git --exclude=./runs --exclude=./studies .) |
  tar xf - -C "$tree"
cd "$tree"
git init -q . && git add -A && git -c user.name=test -c user.email=test@localhost commit -qm tree

# added KIND: compares the files that were touched since the last call with the page's number.
added() {
  local touched expected
  git add -A
  touched=$(git diff --cached --name-only | wc -l)
  expected=$(awk -F'|' -v kind=" $1 " '$2 == kind { print $3 + 0 }' docs/adding.md)
  git -c user.name=test -c user.email=test@localhost commit -qm "$1"
  if [ "$touched" != "$expected" ]; then
    echo "docs/adding.md: $1: got '$expected' files; allowed: $touched" >&2
    exit 1
  fi
}

sed 's/kGaussian/kScratch/; s/Gaussian/Scratch/g; s/"gaussian"/"scratch"/' \
  compress/sparsifiers/gaussian.cc >compress/sparsifiers/scratch.cc
# It uses kernels of other methods, which have prices.
work='  WorkList EncodeWork(int64_t numel, const CodecContext\&) const override {'
prices='    return {{"norm", numel}};'
sed -i "s/^  std::string_view Name() const override.*/&\n$work\n$prices\n  }/" \
  compress/sparsifiers/scratch.cc
sed -i 's/^  kVariance = 21,/&\n  kScratch = 22,/' compress/message.h
added 'sparsifier'

sed 's/SignSgd/ScratchVote/g; s/"signsgd"/"scratch-vote"/' compress/schemes/signsgd.cc \
  >compress/schemes/scratch.cc
added 'scheme'

sed 's/Uniform/Scratch/g; s/"uniform"/"scratch-policy"/' compress/policies/uniform.cc \
  >compress/policies/scratch.cc
added 'policy'

sed 's/FedNova/Scratch/g; s/Normalised/&Again/g; s/"fednova"/"scratch-mean"/' \
  trainer/federated/aggregator_fednova.cc >trainer/federated/aggregator_scratch.cc
added 'aggregator'

cat >ns3-module/fabric/tasks/scratch-selection.cc <<'CODE'
#include "selection.h"

namespace legacy::fabric
{

SelectionRow ScratchSelectionRow()
{
    return {"scratch",
            "",
            "as uniform",
            false,
            [](Settings&, uint64_t seed, const SelectionInfo&)
            { return MakeSelection("uniform", seed, "scratch"); }};
}

} // namespace legacy::fabric
CODE
sed -i 's/^SelectionRow OortRow();.*/&\nSelectionRow ScratchSelectionRow();/
  s/^        OortRow()};/        OortRow(), ScratchSelectionRow()};/' \
  ns3-module/fabric/tasks/selection.cc
added 'selection of clients'

cat >ns3-module/fabric/topology/types-scratch.cc <<'CODE'
#include "types.h"

namespace legacy::fabric
{

Topology MakeScratch(TopologyBuild& build)
{
    return BuildStar(build.settings.Int("hosts", build.Needed(), 1, 64), build.TierOf("host"));
}

} // namespace legacy::fabric
CODE
sed -i 's/^Topology MakeNodes(TopologyBuild& build);/Topology MakeScratch(TopologyBuild\&);\n&/
  s/^         MakeNodes},/&\n        {{"scratch", "hosts", "host", "one switch"}, MakeScratch},/' \
  ns3-module/fabric/topology/types.cc
added 'kind of topology'

sed 's/NoControl/Scratch/g; s/"none"/"scratch"/' ns3-module/fabric/roce/none.cc \
  >ns3-module/fabric/roce/scratch.cc
sed -i 's/^RoceControlRow SwiftRow();/&\nRoceControlRow ScratchRow();/
  s/SwiftRow(), /&ScratchRow(), /' ns3-module/fabric/roce/controls.cc
added "congestion control of RoCEv2"

sed 's/Dctcp/ScratchTcp/g; s/"dctcp"/"scratch"/' ns3-module/fabric/tcp/dctcp.cc \
  >ns3-module/fabric/tcp/scratch.cc
sed -i 's/^TcpControlRow BbrRow();/&\nTcpControlRow ScratchTcpRow();/
  s/BbrRow()}/BbrRow(), ScratchTcpRow()}/' ns3-module/fabric/tcp/controls.cc
added 'congestion control of TCP'

# Copies have constants of the same names as their originals, so that they are compiled alone.
alone() {
  echo "set_source_files_properties(${*:2} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)" \
    >>"$1/CMakeLists.txt"
}
alone compress sparsifiers/scratch.cc schemes/scratch.cc policies/scratch.cc
alone ns3-module/fabric roce/scratch.cc tcp/scratch.cc
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O0 \
  -DLEGACY_TORCH=OFF -DLEGACY_NS3=OFF -DLEGACY_CUDA=OFF \
  -DLEGACY_BENCH=OFF >"$scratch/log" 2>&1 || { tail "$scratch/log"; exit 1; }
ninja -C build -j2 legacy-codec legacy-network legacy_clients >"$scratch/log" 2>&1 ||
  { grep -E 'error|FAILED' "$scratch/log"; exit 1; }
build/bin/legacy-codec check scratch scratch-vote >"$scratch/log" || { cat "$scratch/log"; exit 1; }
# use WORDS PROGRAM ARGUMENTS: runs a program, which has to end well and to print the words.
use() {
  "build/bin/$2" "${@:3}" >"$scratch/log" 2>&1 && grep -q "$1" "$scratch/log" ||
    { cat "$scratch/log"; exit 1; }
}
use '^scratch-policy ' legacy-codec list scratch-policy
run=(legacy-network --workers=4 --bytes=1MB --fidelity=flow)
use '4 hosts' "${run[@]}" --topo=scratch
use 'roce transport, scratch' "${run[@]}" --topo=star --transport=roce:cc=scratch
use '4 hosts' "${run[@]}" --topo=star --congestion=scratch
echo "one of each was added, built and used"
