#!/bin/sh
# Runs a study by a real Slurm, on a cluster of this machine alone in a temporary folder: the
# database must equal that of a local run. Needs root, munge and slurm-wlm:  slurm_study.sh BUILD
# Exits with 77 (skipped) if one of them is missing.
set -eu
study=$1/bin/legacy-study
for program in munged slurmctld slurmd sbatch sqlite3; do
  command -v "$program" >/dev/null || { echo "skipped: there is no $program" && exit 77; }
done
[ "$(id -u)" = 0 ] || { echo 'skipped: slurmd needs root' && exit 77; }

tree=$(mktemp -d)
pids=
finish() {
  for pid in $pids; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$tree"
}
trap finish EXIT
mkdir "$tree/state" "$tree/spool"

cat >"$tree/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$tree/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$tree/state
SlurmdSpoolDir=$tree/spool
SlurmctldPidFile=$tree/slurmctld.pid
SlurmdPidFile=$tree/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$tree/slurm.conf"

head -c 128 /dev/urandom >"$tree/munge.key"
chmod 400 "$tree/munge.key"
chmod 755 "$tree"
munged --foreground --force --key-file="$tree/munge.key" --socket="$tree/munge.socket" \
  --pid-file="$tree/munge.pid" --log-file="$tree/munge.log" --seed-file="$tree/munge.seed" \
  >"$tree/munged.out" 2>&1 &
pids="$pids $!"
sleep 1
slurmctld -D -f "$SLURM_CONF" >"$tree/slurmctld.log" 2>&1 &
pids="$! $pids"
slurmd -D -f "$SLURM_CONF" >"$tree/slurmd.log" 2>&1 &
pids="$! $pids"
for second in $(seq 30); do
  sinfo --noheader --format=%T 2>/dev/null | grep -q idle && break
  sleep 1
  [ "$second" -lt 30 ] || { cat "$tree"/*.log && exit 1; }
done

cat >"$tree/study.yaml" <<END
study: {name: small, baseline: dense}
scenario:
  training: {dataset: glyphs, model: lenet5, workers: 4, batch: 2, steps: 4, warmup_steps: 1,
             evaluate_every: 2, train_limit: 32, test_limit: 16}
  compression: {policies: [dense, topk]}
  network: {topology: star, stragglers: none}
  run: {seeds: 2}
grid:
  bandwidth: [10Mbps, 100Mbps, 1Gbps, 10Gbps]
  fidelity: [analytic, flow]
END
"$study" run "$tree/study.yaml" --out="$tree/local"
"$study" run "$tree/study.yaml" --out="$tree/slurm" --launcher=slurm --jobs=3 --slurm-args=--time=10
cat "$tree"/slurm/slurm/*.log
for run in local slurm; do sqlite3 "$tree/$run/study.sqlite" .dump | sort >"$tree/$run.sql"; done
cmp "$tree/local.sql" "$tree/slurm.sql"

# srun also starts ranks: two, each with its share.
"$study" run "$tree/study.yaml" --out="$tree/srun" --launcher=slurm --submit=off
for phase in trainings points; do
  srun --ntasks=2 --overcommit "$study" work "$tree/srun" --phase=$phase
done
"$study" collect "$tree/srun"
sqlite3 "$tree/srun/study.sqlite" .dump | sort >"$tree/srun.sql"
cmp "$tree/local.sql" "$tree/srun.sql"
echo 'the same database by Slurm, by srun and here'
