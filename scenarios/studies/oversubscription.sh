#!/bin/sh
# What an oversubscribed fat-tree does to time-to-accuracy: one training, recorded once, timed on every network of a grid.
#
#   sh scenarios/studies/oversubscription.sh OUT [PROGRAMS]
#
# OUT gets results.csv (a row a method and network), tables.md and two pictures (with gnuplot). PROGRAMS is the folder of
# legacy-scenario, legacy-replay and legacy-report (default: build/release/bin). Runs that are there already are kept, so
# an interrupted study goes on where it stopped.
set -eu
out=${1:?usage: oversubscription.sh OUT [PROGRAMS]}
programs=${2:-build/release/bin}
mkdir -p "$out/runs"

recorded=$out/recorded
if [ ! -f "$recorded/summary.json" ]; then
  "$programs/legacy-scenario" --policies=dense,topk,legacy-layer,legacy-phase --seeds=3 --record --fidelity=flow \
    --stragglers=none --pictures=off --out="$recorded" --overwrite
fi

# One replay, and its report as rows of results.csv: the network, then columns of the report by their names.
replay() {
  fidelity=$1 rate=$2 ratio=$3 placement=$4 stragglers=$5
  run=$out/runs/$(echo "$fidelity-$rate-$ratio-$placement-$stragglers" | tr ':,=' '___')
  if [ ! -f "$run/summary.json" ]; then
    echo "$fidelity, $rate, oversubscription $ratio, $placement, stragglers $stragglers" >&2
    "$programs/legacy-replay" "$recorded" --topo="fat-tree:k=4,oversubscription=$ratio" --bandwidth="$rate" \
      --placement="$placement" --stragglers="$stragglers" --fidelity="$fidelity" --pictures=off --out="$run" \
      --overwrite >"$run.log" 2>&1 || { cat "$run.log" >&2; exit 1; }
  fi
  "$programs/legacy-report" "$run" --format=csv --no-pictures 2>/dev/null |
    awk -F, -v network="$rate,$ratio,$placement,$(echo "$stragglers" | tr , ' '),$fidelity" '
      BEGIN { count = split("policy,time_to_accuracy_seconds_mean,time_to_accuracy_seconds_deviation," \
                            "speedup_over_dense_mean,step_seconds_mean,communication_seconds,wait_seconds," \
                            "final_accuracy_mean,traffic_ratio_mean,drops,marks,retransmit_timeouts,fresh_steps," \
                            "busiest_link,busiest_utilisation", names, ",") }
      NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; next }
      { line = network
        for (i = 1; i <= count; i++) {
          value = $place[names[i]]
          if (value + 0 == value && value != int(value)) value = sprintf("%.6g", value)
          line = line "," value
        }
        print line }'
}

results=$out/results.csv
{
  printf 'bandwidth,oversubscription,placement,stragglers,fidelity,policy,tta_seconds,tta_deviation,speedup_over_dense,'
  printf 'step_seconds,communication_seconds,wait_seconds,final_accuracy,traffic_ratio,drops,marks,time_outs,'
  printf 'fresh_steps,busiest_link,busiest_utilisation\n'
  for rate in 1Gbps 10Gbps; do
    for placement in packed random:1; do
      for stragglers in none fixed:count=2,factor=1.5; do
        for ratio in 1 2 4 8; do
          replay flow "$rate" "$ratio" "$placement" "$stragglers"
          replay packet "$rate" "$ratio" "$placement" "$stragglers"
        done
      done
    done
  done
} >"$results.part"
mv "$results.part" "$results"

# Time-to-accuracy in ms with packets, and by how much flows differ from it.
awk -F, '
  NR == 1 { next }
  { network = $1 " | " $3 " | " $4 " | " $2
    if (!(network in seen)) { seen[network] = 1; networks[++n] = network }
    if (!($6 in known)) { known[$6] = 1; methods[++m] = $6 }
    value[network, $6, $5] = $7 }
  END {
    printf "| links | placement | stragglers | oversubscription |"
    for (i = 1; i <= m; i++) printf " %s |", methods[i]
    printf "\n|---|---|---|---|"
    for (i = 1; i <= m; i++) printf "---|"
    printf "\n"
    for (k = 1; k <= n; k++) {
      printf "| %s |", networks[k]
      for (i = 1; i <= m; i++) {
        packet = value[networks[k], methods[i], "packet"]
        flow = value[networks[k], methods[i], "flow"]
        if (packet == "" || flow == "") printf " not reached |"
        else printf " %.0f (%+.1f %%) |", 1000 * packet, 100 * (flow / packet - 1)
      }
      printf "\n"
    }
  }' "$results" >"$out/tables.md"

# Blocks of lines, each named "placement/fidelity/method": gnuplot's `index`.
awk -F, '
  NR > 1 && $1 == "1Gbps" && $4 == "none" {
    name = $3 "/" $5 "/" $6
    if (!(name in block)) names[++n] = name
    block[name] = block[name] $2 " " $7 " " $9 "\n"
  }
  END { for (i = 1; i <= n; i++) printf "# %s\n%s\n\n", names[i], block[names[i]] }' "$results" >"$out/curves.dat"

command -v gnuplot >/dev/null || { echo "no gnuplot: no pictures" >&2; exit 0; }
picture() {  # NAME, COLUMN of curves.dat with its factor, LABEL, AXIS
  gnuplot <<END
set terminal svg size 900,400 font 'sans,12' background 'white'
set output '$out/$1.svg'
set multiplot layout 1,2
set logscale x 2
set xtics (1, 2, 4, 8)
set xrange [0.9:8.9]
$4
set grid
set key top left
set xlabel 'oversubscription (lines: flows, points: packets)'
set ylabel '$3'
data = '$out/curves.dat'
methods = 'dense topk legacy-layer legacy-phase'
do for [placement in 'packed random:1'] {
  set title '1 Gbit/s, '.placement
  plot for [i=1:4] data index placement.'/flow/'.word(methods, i) using 1:($2) with lines lc i title word(methods, i), \\
       for [i=1:4] data index placement.'/packet/'.word(methods, i) using 1:($2) with points pt 7 ps 0.6 lc i notitle
}
END
}
# shellcheck disable=SC2016  # columns of gnuplot, not of the shell
picture time '$2*1000' 'time to 85 % accuracy, ms' 'set logscale y'
# shellcheck disable=SC2016
picture speedup '$3' 'speed-up over dense' 'set yrange [0:*]'
