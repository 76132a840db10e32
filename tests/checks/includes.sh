#!/bin/sh
# Checks which folder includes which, and how large folders are:  includes.sh ROOT
# base/ includes nothing of ours, and ns3-module/fabric/ only the core of base/; LibTorch headers
# stay in trainer/torch/ and benchmarks, whose headers scenarios/training/ and the learners of
# federated clients alone may include; ns-3 headers stay in the ns-3 parts of ns3-module/;
# analysis/ knows only the format of run directories; scenarios/network/, scenarios/graphs/ and
# scenarios/codec/ know no training, and the latter no packets; Python's headers stay in
# scenarios/python/. Tests may include the headers that they test, and base/. No folder has more
# than 45 sources. The order of folders is that of docs/ARCHITECTURE.md, without rings (rooms.py).
# No two files define a type of one name in one namespace (type_names.py), and each reaches the
# headers of the names that it uses (reached_names.py; these three are skipped without Python 3).
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cd "$1"
status=0

{ grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.h' --include='*.cc' \
  --include='*.cu' --include='*.cuh' \
  analysis base compress ns3-module scenarios tests trainer || true; } | awk '
  # Sets what a folder (tests/X as X) may include: "ours" is a pattern of quoted paths, LibTorch and
  # ns-3 are yes or no.
  function rule(folder, ours, torch, ns3) {
    known[folder] = ours; torch_in[folder] = torch; ns3_in[folder] = ns3
  }
  BEGIN {
    fabric = "ns3-module/fabric"
    rule("base", "^base/")
    rule("compress", "^(base|compress)/")
    core = "base/(draws|error|hash|median|nearest|number|parse|settings|units|words|" \
      "files/(csv_file|plain_file|text_file|yaml_text))[.]h$"
    rule("ns3-module/fabric", "^(" core "|fabric/)")
    rule("ns3-module", "^(" core "|(fabric|model|helper|test|ns3)/)", 0, 1)
    rule("ns3-module/wire", "^(base|fabric|wire)/")
    rule("ns3-module/program", "^(base|fabric|helper|wire)/")
    rule("trainer", "^(base|compress|" fabric "|trainer)/")
    rule("trainer/torch", "^(base|compress|" fabric "|trainer)/", 1, 0)
    rule("trainer/bench", "^(base|compress|" fabric "|trainer)/", 1, 0)
    rule("trainer/clock", "^(base|compress|" fabric "|trainer/clock)/")
    rule("analysis", "^(analysis|base)/")
    rule("scenarios", "^(analysis|base|compress|" fabric "|ns3-module/wire|scenarios|trainer)/")
    rule("scenarios/network",
      "^(analysis|base|" fabric "|ns3-module/(helper|wire)|scenarios/network)/")
    rule("scenarios/codec", "^(analysis|base|compress|" fabric "|scenarios/codec|trainer/clock)/")
    rule("scenarios/graphs", "^(analysis|base|" fabric \
      "|ns3-module/wire|scenarios/(graphs|network)|trainer/clock)/")
    rule("scenarios/http", "^(base|scenarios/http)/")
    rule("scenarios/python", "^(analysis|base|compress|" fabric "|scenarios|trainer)/")
    alias["fabric"] = fabric
    alias["packet"] = "ns3-module"
    alias["network"] = "scenarios/network"
    alias["codec"] = "scenarios/codec"
    alias["graphs"] = "scenarios/graphs"
    alias["http"] = "scenarios/http"
    alias["fuzz"] = "scenarios"
    learns = "^(tests|trainer/torch|trainer/bench|scenarios/training|" \
      "scenarios/federated/trained_|scenarios/programs/legacy_calibrate)"
    most = 45
  }
  function folder_of(path, parts) {
    split(path, parts, "/")
    if (parts[1] == "tests" && parts[2] "/" parts[3] in known) return parts[2] "/" parts[3]
    if (parts[1] == "tests") return parts[2] in alias ? alias[parts[2]] : parts[2]
    if (parts[1] "/" parts[2] in known) return parts[1] "/" parts[2]
    return parts[1]
  }
  {
    path = $0; sub(/:.*/, "", path)
    place = $0; sub(/:[ \t]*#.*/, "", place)
    name = $0; sub(/^[^<"]*[<"]/, "", name); sub(/[>"].*/, "", name)
    folder = folder_of(path)
    room = path; sub(/\/[^\/]*$/, "", room)
    if (!(path in sources)) { sources[path]; size[room]++ }
    seen++
    bad = ""
    if (name ~ /^(torch|ATen|c10)\// && !torch_in[folder]) bad = "LibTorch"
    if (name ~ /^trainer\/torch\// && path !~ learns) bad = "LibTorch"
    if (name ~ /^ns3\// && !ns3_in[folder]) bad = "ns-3"
    if (name ~ /^(pybind11\/|Python\.h)/ && folder != "scenarios/python") bad = "Python"
    if ($0 ~ /#[ \t]*include[ \t]*"/ && name ~ /\//) {  # not a file of the same folder
      test = path ~ /^tests\// && name ~ /^(tests|base|ns3-module\/helper)\//
      seen_from = name
      if (folder == "ns3-module" || folder == fabric) sub(/^ns3-module\//, "", seen_from)
      if (!test && seen_from !~ known[folder]) bad = "this header"
    }
    if (bad != "") { print place ": " folder "/ may not include " bad ": " name; failed = 1 }
  }
  END {
    for (room in size) if (size[room] > most) {
      print room "/ has " size[room] " sources, allowed: " most; failed = 1
    }
    if (!seen) { print "no include found: wrong folder?"; failed = 1 }
    exit failed
  }' || status=1

if command -v python3 >/dev/null; then
  export PYTHONDONTWRITEBYTECODE=1  # the tree stays clean
  "$here/rooms.py" . || status=1
  "$here/type_names.py" . || status=1
  "$here/reached_names.py" . || status=1
  "$here/integer_types.py" . || status=1
fi
exit "$status"
