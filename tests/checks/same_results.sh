#!/bin/sh
# Checks that two builds give the same results, to the byte:  same_results.sh BEFORE AFTER [FOLDER]
# BEFORE and AFTER are folders of programs, such as build/release/bin of two checkouts. Each build
# runs the cases below in FOLDER/before and FOLDER/after (default: a new temporary folder), and all
# CSV files are compared. A build takes some four minutes.
set -eu
[ $# -ge 2 ] || { sed -n '2,5s/^# //p' "$0" >&2 && exit 2; }
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
before=$(CDPATH='' cd -- "$1" && pwd)
after=$(CDPATH='' cd -- "$2" && pwd)
folder=${3:-$(mktemp -d)}
mkdir -p "$folder/before" "$folder/after"
folder=$(CDPATH='' cd -- "$folder" && pwd)

tiny='--dataset=glyphs --model=lenet5 --workers=4 --batch=4 --steps=12 --train-limit=64
      --test-limit=32 --evaluate-every=4 --warmup-steps=2 --learning-rate=0.05 --pictures=off'
flow='--topo=star --fidelity=flow --networks=none --record=on'

# Leaves out columns named measured_*, which depend on this machine.
without_measured() {
  awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) keep[i] = $i !~ /^measured_/ }
    {
      line = ""
      for (i = 1; i <= NF; i++) if (keep[i]) line = line (line == "" ? "" : ",") $i
      print line
    }'
}

# scenario NAME ARGUMENTS: runs legacy-scenario into folder NAME.
scenario() {
  name=$1
  shift
  # shellcheck disable=SC2086
  "$bin/legacy-scenario" $tiny "--out=$name" "$@" >"$name.log" 2>&1
}

clients='--train-limit=200 --test-limit=40 --model=logistic --batch=8 --rounds=5
         --evaluate-every=2 --pictures=off'

# federated NAME ARGUMENTS: runs legacy-federated into folder NAME.
federated() {
  name=$1
  shift
  # shellcheck disable=SC2086
  "$bin/legacy-federated" $clients "--out=$name" "$@" >"$name.log" 2>&1
}

# plan NAME ARGUMENTS: plans rounds into folder NAME.
plan() {
  name=$1
  shift
  "$bin/legacy-federated" plan --rounds=8 --tasks=on --quiet "--out=$name" "$@" >"$name.log" 2>&1
}

# network NAME ARGUMENTS: times a collective, or what the arguments name in its place.
network() {
  name=$1
  shift
  "$bin/legacy-network" --bandwidth=10Gbps --delay=1us --quiet "--csv=network-$name.csv" "$@" \
    >"network-$name.log"
}

federated_cases() {
  federated served --record --clients=12 --per-round=4 \
    --policies=dense,topk,qsgd,redsync,legacy-both --selection=power-of-choice:d=6 \
    --algorithms=fedavg,scaffold,fedprox:mu=0.1 --dropout=0.1 --availability=bernoulli:p=0.7 \
    --price=0.05
  federated late --clients=12 --per-round=4 --policies=topk,lgreco --population=phones \
    --over-select=1.5 --deadline=factor:2 --downlink=delta:topk@5% --local=epochs:1-3 --seeds=2
  federated asynchronous --clients=12 --policies=dense,redsync --population=phones \
    --algorithms=fedbuff:k=3,fedasync --server=async:concurrency=6 --downlink=delta:qsgd@6
  federated exchanged --record --clients=5 --exchange=ring-allreduce --local=steps:6 \
    --algorithms=fedavg,diloco,diloco:fragments=2,overlap=1 \
    --policies=dense,topk,powersgd,lgreco
  for record in served exchanged; do
    "$bin/legacy-federated" replay $record --population=phones "--out=$record-on-phones" \
      >$record-on-phones.log 2>&1
  done
  "$bin/legacy-federated" partition --train-limit=400 --model=logistic --clients=20 \
    --out=partition >partition.log 2>&1
  plan planned --elements=44426 --clients=50 --population=phones --over-select=1.3 \
    --deadline=factor:2 --dropout=0.05
  plan planned-async --elements=44426 --clients=50 --server=async:concurrency=20,buffer=5
  plan planned-exchange --bytes=1MB --clients=8 --tasks=off --exchange=ring-allreduce
  plan planned-packets --bytes=100KB --clients=8 --per-round=4 --fidelity=packet
}

network_cases() {
  for collective in ring-allreduce halving-doubling-allreduce double-tree-allreduce \
    direct-allreduce hierarchical-allreduce in-network-allreduce ring-allgather direct-allgather \
    hierarchical-allgather all-to-all broadcast parameter-server sharded-parameter-server \
    sparse-tree scatter-reduce-allgather; do
    network $collective --group=4 --collective=$collective --workers=8 --bytes=64KB \
      --links=links-$collective.csv --finish=finish-$collective.csv
  done
  network pattern --fidelity=flow --fct=fct.csv \
    --pattern=poisson:load=0.5,cdf=websearch,flows=200
  network sweep --sweep=bytes=1KB..1MB:x10 --sweep=topo=star,fat-tree --workers=8
  network roce --transport=roce:cc=dcqcn --workers=8 --collective=direct-allgather --bytes=200KB \
    --topo=leaf-spine:leaves=2,hosts=4,spines=2 --links=links-roce.csv
  network channels --channels=2 --protocol=ll128 --workers=8 --bytes=1MB --fidelity=flow,analytic
  network changing --workers=8 --bytes=1MB --changes='host3<>*@outage:from=100us,for=1ms' \
    --background=poisson:load=0.3 --fidelity=packet,flow
  network slow --workers=8 --bytes=1MB --compute=1ms --stragglers=lognormal:sigma=0.3 --repeat=4 \
    --topo="$root/topologies/rail-4x8.yaml" --fidelity=flow,analytic
  cat >jobs.yaml <<'END'
jobs:
  - {name: one, workers: 6, bytes: 1MB, repeat: 5, compute: 600us}
  - {name: two, workers: 8, placement: strided, bytes: 5MB, repeat: 2, compute: 2ms}
  - {name: three, hosts: [0, 15], collective: broadcast, bytes: 10MB, start: 500us}
END
  network jobs --jobs=jobs.yaml --topo=leaf-spine:leaves=4,hosts=4 --fidelity=flow,analytic
}

cases() {
  bin=$1
  all=$("$after/legacy-scenario" --policies=list | awk 'NR > 1 && NF == 4 { print $1 }' |
    paste -sd,)
  # shellcheck disable=SC2086
  {
    scenario policies $flow "--policies=$all" --gradient-steps=3
    scenario feedback-off $flow --policies=topk,sidco,gravac,lgreco,legacy-both \
      --error-feedback=off --seeds=1
    scenario per-layer $flow --policies=dense,topk,powersgd,fft --launches=per-layer \
      --device-profile=cpu-reference --seeds=1
    scenario equal-bytes $flow --policies=topk,legacy-layer,lgreco,accordion --volume=bytes \
      --seeds=1
  }
  scenario roce --policies=dense,topk --topo=leaf-spine --transport=roce:cc=dcqcn --fidelity=flow \
    --networks='slow:bandwidth=100Mbps;wan:transport=wan,delay=10ms'
  scenario packets --policies=dense,topk,legacy-both --seeds=1 --steps=4 --doctor=on \
    --stragglers=lognormal:sigma=0.3
  scenario servers --policies=dense,topk --topo=leaf-spine --aggregation=sharded-parameter-server \
    --fidelity=analytic --networks=none
  scenario changing --policies=dense,topk --phases=c1 --fidelity=flow --sync=backup:k=1 \
    --networks=none
  for shape in resnet50 gpt2-small; do
    "$bin/legacy-scenario" --layers=$shape --steps=6 --pictures=off \
      --policies=dense,topk,qsgd,powersgd,fft,lgreco,legacy-layer \
      --out=shape-$shape >shape-$shape.log 2>&1
  done
  for change in --topo=fat-tree:k=4 --bandwidth=100Mbps --allreduce=halving-doubling-allreduce \
    --launches=per-layer; do
    "$bin/legacy-replay" per-layer $change --pictures=off "--out=replay$change" \
      >"replay$change.log" 2>&1
  done
  for codec in dense fp16 topk topk+qsgd randomk dgc redsync sidco adacomp cat gaussian qsgd \
    maxmin terngrad natural sign onebit powersgd@2 fft signsgd variance ar-topk; do
    "$bin/legacy-codec" --bandwidth=10Gbps --gradient=small-cnn --codec=$codec --repeats=1 --quiet \
      --csv=- | without_measured >"codec-$codec.csv"
  done
  federated_cases
  network_cases
  for claim in f2 f8 g1 g6; do
    "$bin/legacy-study" run "$root/scenarios/claims/$claim.yaml" --out=study-$claim \
      >study-$claim.log 2>&1
    "$bin/legacy-study" export study-$claim --out=exported-$claim >>study-$claim.log 2>&1
  done
}

for build in before after; do
  (cd "$folder/$build" && if [ $build = before ]; then cases "$before"; else cases "$after"; fi)
done
# files FOLDER: prints the checksums of its CSV files.
files() { (cd "$1" && find . -name '*.csv' -exec sha256sum {} + | sort -k 2); }
files "$folder/before" >"$folder/before.sums"
files "$folder/after" >"$folder/after.sums"
diff "$folder/before.sums" "$folder/after.sums" || { echo "differ: see $folder" >&2 && exit 1; }
echo "$(wc -l <"$folder/before.sums") CSV files are the same"
