#!/bin/sh
# Which folder may include what:  includes.sh ROOT
# compress/ and ns3-module/fabric/ know nothing of ours; LibTorch headers stay in trainer/, ns-3 headers in the ns-3
# parts of ns3-module/; analysis/ knows the run directory's format only; scenarios/network/ and scenarios/codec/ know no
# training, and the latter no packets; of trainer/ it may know what a round sends, which needs no LibTorch.
# Tests may include what they test, and the keyed random numbers.
set -eu
cd "$1"

{ grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.h' --include='*.cc' --include='*.cu' --include='*.cuh' \
  analysis compress files ns3-module scenarios tests trainer || true; } | awk '
  # What a folder (tests/X as X) may include: "ours" as a pattern of quoted paths, LibTorch and ns-3 as yes or no.
  function rule(folder, ours, torch, ns3) { known[folder] = ours; torch_in[folder] = torch; ns3_in[folder] = ns3 }
  BEGIN {
    everything = "^(analysis|compress|files|ns3-module/fabric|ns3-module/model|ns3-module/helper|scenarios|trainer)/"
    rule("compress", "^compress/")
    rule("files", "^(files/|compress/error\\.h$)")
    rule("ns3-module/fabric", "^ns3-module/fabric/")
    rule("ns3-module", "^((ns3-module/)?(fabric|model|helper|test)|ns3)/", 0, 1)
    rule("trainer", "^(trainer|compress|files|ns3-module/fabric)/", 1, 0)
    rule("analysis", "^(analysis/|files/|compress/error\\.h$)")
    rule("scenarios", everything)
    rule("scenarios/network", "^(analysis|compress|files|ns3-module/fabric|ns3-module/helper|scenarios/network)/")
    rule("scenarios/codec", "^((analysis|compress|files|ns3-module/fabric|scenarios/codec)/|(scenarios/network/(parse|rows|validation_table)|trainer/(step_work|transfers))\\.h$)")
    rule("scenarios/http", "^(scenarios/http/|compress/error\\.h$)")
    alias["fabric"] = "ns3-module/fabric"
    alias["packet"] = "ns3-module"
    alias["network"] = "scenarios/network"
    alias["codec"] = "scenarios/codec"
    alias["http"] = "scenarios/http"
    alias["fuzz"] = "scenarios"
  }
  function folder_of(path, parts) {
    split(path, parts, "/")
    if (parts[1] == "tests") return parts[2] in alias ? alias[parts[2]] : parts[2]
    if (parts[1] "/" parts[2] in known) return parts[1] "/" parts[2]
    return parts[1]
  }
  {
    path = $0; sub(/:.*/, "", path)
    place = $0; sub(/:[ \t]*#.*/, "", place)
    name = $0; sub(/^[^<"]*[<"]/, "", name); sub(/[>"].*/, "", name)
    folder = folder_of(path)
    seen++
    bad = ""
    if (name ~ /^(torch|ATen|c10)\// && !torch_in[folder]) bad = "LibTorch"
    if (name ~ /^ns3\// && !ns3_in[folder]) bad = "ns-3"
    local = name !~ /\//   # a neighbour
    test = path ~ /^tests\// && name ~ /^(tests\/|compress\/random\.h$)/
    if ($0 ~ /#[ \t]*include[ \t]*"/ && !local && !test && name !~ known[folder]) bad = "this header"
    if (bad != "") { print place ": " folder "/ may not include " bad ": " name; failed = 1 }
  }
  END {
    if (!seen) { print "no include found: wrong folder?"; failed = 1 }
    exit failed
  }'
