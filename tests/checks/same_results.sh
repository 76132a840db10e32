#!/bin/sh
# Checks that two builds give the same results, to the byte:  same_results.sh BEFORE AFTER [FOLDER]
# BEFORE and AFTER are folders of programs, such as build/release/bin of two checkouts. Each build
# runs the cases below in FOLDER/before and FOLDER/after (default: a new temporary folder), and all
# CSV files are compared. A build takes some three minutes.
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

cases() {
  bin=$1
  all=$("$bin/legacy-scenario" --help |
    sed -n 's/.*policies to compare, on the same batches: \(.*\) \[.*/\1/p' | tr -d ' ')
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
  for collective in ring-allreduce halving-doubling-allreduce double-tree-allreduce \
    direct-allreduce hierarchical-allreduce in-network-allreduce ring-allgather direct-allgather \
    hierarchical-allgather all-to-all broadcast parameter-server sharded-parameter-server \
    sparse-tree scatter-reduce-allgather; do
    "$bin/legacy-network" --bandwidth=10Gbps --delay=1us --group=4 --collective=$collective \
      --workers=8 --bytes=64KB --quiet --csv=network-$collective.csv \
      --links=links-$collective.csv --finish=finish-$collective.csv
  done
  "$bin/legacy-network" --bandwidth=10Gbps --delay=1us --fidelity=flow --quiet --csv=pattern.csv \
    --pattern=poisson:load=0.5,cdf=websearch,flows=200 --fct=fct.csv
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
