#!/bin/sh
# Each check finds its mistakes in small trees with one mistake each.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

new_tree() {
  rm -rf "$tree"
  for folder in analysis base compress/cpu ns3-module/fabric ns3-module/model scenarios/network \
    scenarios/training \
    tests/analysis tests/compress trainer/clock trainer/torch; do
    mkdir -p "$tree/$folder"
  done
  write compress/a.cc '#include <vector>'
}

# write FILE LINES: writes a file of the tree.
write() {
  file=$tree/$1
  shift
  printf '%s\n' "$@" >"$file"
}

# expect pass|fail SCRIPT WHAT: runs a check on the tree.
expect() {
  if "$here/$2" "$tree" >"$tree/output" 2>&1; then result=pass; else result=fail; fi
  [ "$result" = "$1" ] || {
    echo "$2: $3: expected $1, got $result" && cat "$tree/output"
    failures=$((failures + 1))
  }
}

allowed() { new_tree && write "$1" "#include $2" && expect pass includes.sh "$1 includes $2"; }
refused() { new_tree && write "$1" "#include $2" && expect fail includes.sh "$1 includes $2"; }

allowed compress/b.cc '"compress/b.h"'
allowed tests/compress/b.cc '"tests/compress/oracle.h"'
allowed ns3-module/fabric/b.cc '"units.h"'
allowed ns3-module/model/b.cc '"ns3/packet.h"'
allowed ns3-module/model/b.cc '"fabric/units.h"'
allowed tests/analysis/b.cc '"base/random.h"'
allowed trainer/torch/b.cc '<torch/torch.h>'
refused trainer/b.cc '<torch/torch.h>'
refused trainer/b.cc '"trainer/torch/training.h"'
allowed scenarios/training/b.cc '"trainer/torch/training.h"'
refused scenarios/b.cc '"trainer/torch/training.h"'
allowed analysis/b.cc '"base/error.h"'
allowed scenarios/b.cc '"trainer/trainer.h"'
refused compress/b.cc '"ns3-module/fabric/topology/topology.h"'
refused compress/b.cc '"trainer/torch/data/dataset.h"'
refused compress/b.cu '<torch/torch.h>'
refused tests/compress/b.cc '<ATen/ATen.h>'
allowed ns3-module/fabric/b.cc '"base/error.h"'
refused ns3-module/fabric/b.cc '"base/random.h"'
refused ns3-module/fabric/b.cc '"ns3/core-module.h"'
allowed ns3-module/model/b.cc '"base/error.h"'
refused ns3-module/model/b.cc '"base/files/json.h"'
refused trainer/b.cc '<ns3/packet.h>'
refused trainer/b.cc '"scenarios/options/scenario.h"'
refused analysis/b.cc '"compress/codec.h"'
refused base/b.cc '"compress/codec.h"'
refused trainer/clock/b.cc '<torch/torch.h>'
refused trainer/clock/b.cc '"trainer/torch/training.h"'
allowed trainer/b.cc '"trainer/clock/clock.h"'
refused ns3-module/fabric/b.cc '"model/packet-engine.h"'
refused scenarios/b.cc '<torch/torch.h>'
refused scenarios/b.cc '<pybind11/pybind11.h>'
refused scenarios/network/b.cc '"scenarios/python/bindings.h"'
allowed scenarios/b.cc '"scenarios/network/engines/engines.h"'
allowed scenarios/network/b.cc '"ns3-module/fabric/engine/engine.h"'
refused scenarios/network/b.cc '"trainer/clock/clock.h"'
refused scenarios/network/b.cc '"compress/codec.h"'
refused scenarios/network/b.cc '"scenarios/options/scenario.h"'

new_tree
for number in $(seq 44); do write "compress/b$number.cc" '#include <vector>'; done
expect pass includes.sh '45 sources in a folder'
write compress/c.cc '#include <vector>'
expect fail includes.sh '46 sources in a folder'

if command -v python3 >/dev/null; then
  # Three folders: rooms.py finds rings of any length, and rows of the page that are wrong.
  new_tree
  write compress/codec.h '#include "compress/cpu/vector.h"'
  write compress/cpu/vector.h '#include "base/a.h"'
  write base/a.h '#include <vector>'
  expect pass rooms.py 'folders that include others'
  write base/a.h '#include "compress/codec.h"'
  expect fail rooms.py 'three folders in a ring'
  write base/a.h '#include <vector>'
  mkdir "$tree/docs"
  # rows FOLDER ...: writes the page with a row for each folder, in that order.
  rows() {
    for folder; do
      shift
      set -- "$@" "| \`$folder/\` | what it holds | all of the above |"
    done
    write docs/ARCHITECTURE.md '| folder | holds | may include |' "$@"
  }
  rows base compress/cpu compress
  expect pass rooms.py 'rows that hold'
  rows base compress compress/cpu
  expect fail rooms.py 'a folder that includes one below'
  rows base compress
  expect fail rooms.py 'a folder without a name on the page'

  # types pass|fail WHAT LINES: a header with the lines next to one that defines legacy::Part.
  types() {
    expected=$1 what=$2
    shift 2
    new_tree
    write base/a.h '#include <vector>' 'namespace legacy {' 'struct Part {' '  int a;' '};' '}'
    write compress/b.h "$@"
    expect "$expected" includes.sh "$what"
  }
  types fail 'a type twice' 'namespace legacy {' 'class Part final : public Base {};' '}'
  types fail 'a template and a type' 'namespace legacy {' 'template <class T = int>' \
    'class alignas(8) Part {};' '}'
  types fail 'an enumeration and a type' 'namespace legacy {' 'enum class Part : char { kA };' '}'
  types fail 'a type twice after functions' 'namespace legacy {' \
    "inline char F() { if (true) { return '{'; } return \"}\"[0]; }  // {" 'struct Part {};' '}'
  types pass 'another namespace' 'namespace legacy::cpu {' 'struct Part {};' '}'
  types pass 'an unnamed namespace' 'namespace legacy { namespace {' 'struct Part {};' '} }'
  types pass 'a declaration' 'namespace legacy {' 'struct Part;' 'void F(struct Part&);' '}'
  types pass 'a member' 'namespace legacy {' 'struct Whole { struct Part {}; };' '}'
  types pass 'a specialisation' 'namespace legacy {' 'template <> struct Part<int> {};' '}'
  types pass 'a comment and a string' 'namespace legacy {' '/* struct Part {' \
    '*/ // struct Part {' 'constexpr char kText[] = R"(struct Part {)";' '}'

  # uses pass|fail WHAT LINES: a source with the lines, where base/a.h and base/c.h declare names.
  uses() {
    expected=$1 what=$2
    shift 2
    new_tree
    write base/a.h '#include <vector>' 'namespace legacy {' 'struct Part {' '  int a;' '};' \
      'Part Find(int a);' '}'
    write base/c.h '#include "base/a.h"' 'namespace legacy {' 'int Count();' '}'
    write base/d.cc '#include "base/a.h"' 'int a;'
    write compress/b.cc "$@"
    write compress/e.cc '#include "base/c.h"' 'int c;'
    expect "$expected" includes.sh "$what"
  }
  uses fail 'a type without its header' 'namespace legacy { const Part* part; }'
  uses fail 'a function without its header' '#include "base/a.h"' 'int a = legacy::Count();'
  uses pass 'a type by another header' '#include "base/c.h"' 'legacy::Part p{Count()};'
  uses pass 'a type of its own' 'namespace { struct Part { int b; } part; }'
  uses pass 'a member and a namespace of others' 'int a = b.Find(2) + other::Count();'
  uses pass 'a comment' '// See Find and Part.' 'int a;'

  types fail 'int64_t without <cstdint>' '#include "base/a.h"' 'int64_t x;'
  types pass 'int64_t with it' '#include <cstdint>' 'int64_t x;'
  write base/a.h '#include <cstdint>'
  write compress/b.h '#include "base/a.h"' 'std::vector<uint8_t> x;'
  expect pass includes.sh 'uint8_t with a header that includes <cstdint>'
fi

new_tree
expect pass paths.sh 'a clean tree'
# The path is in two pieces, so that this file is clean itself.
write compress/b.cc "// see /home""/someone/notes"
expect fail paths.sh 'a path of a home folder'

if command -v python3 >/dev/null; then
  long=$(printf '%101s' '' | tr ' ' x)
  new_tree
  write compress/page.md 'short' "| $long |"
  printf '#!/bin/sh\n: %s\n' "${long%xxx}" >"$tree/script"
  expect pass columns.py 'short lines, and a long row of a table'
  write README.md "$long"
  expect fail columns.py 'a long line of prose'
  write README.md '```yaml title="a.yaml"' 'a: 1' '```'
  expect pass columns.py 'code between fences'
  write README.md '```yaml a: 1' '```'
  expect fail columns.py 'code beside its fence'
  write README.md '```yaml' 'a: 1'
  expect fail columns.py 'a fence without an end'
  for script in script base/a.sh base/a.py; do
    new_tree
    write "$script" '#!/bin/sh' "# $long"
    expect fail columns.py "a long line of $script"
  done
fi

# The handbook: links inside docs/ to what is there, and every page in the navigation.
handbook() {
  new_tree && mkdir -p "$tree/docs" && write mkdocs.yml '  - A: a.md' && write docs/a.md "$2"
  expect "$1" ../../docs/check_links "the page '$2'"
}
if command -v python3 >/dev/null; then
  handbook pass '[a](a.md#part), [web](https://example.org)
# Part'
  handbook fail '[b](b.md)'
  handbook fail '[a](a.md#whole)'
  handbook fail '[code](../compress/a.cc)'
  handbook pass 'no link'
  handbook pass '    ./waf --run legacy-study run FILE'
  handbook fail '    legacy-study run FILE'
  write docs/b.md 'x' && expect fail ../../docs/check_links 'a page outside the navigation'
fi

if command -v clang-format >/dev/null; then
  new_tree
  printf 'BasedOnStyle: Google\n' >"$tree/.clang-format"
  expect pass format.sh 'formatted sources'
  write compress/b.cc 'int  main ( ) { }'
  expect fail format.sh 'unformatted sources'
fi

new_tree
write compress/b.cc '// What follows goes on.'
expect fail spelling.sh 'a word of the former dialect'
if command -v codespell >/dev/null; then
  write compress/b.cc '// What follows continues.'
  expect pass spelling.sh 'well-spelt sources'
fi
exit "$failures"
