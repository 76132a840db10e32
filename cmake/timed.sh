#!/bin/sh
# Runs a command of the build, and writes what processor time it took to FOLDER/TARGET/OUTPUT: what ./waf build --timings
# adds up. Arguments: FOLDER TARGET OUTPUT, then the command.
timing=$1/$2/${3#*.dir/}
[ "$3" != "${3#*.dir/}" ] || timing=$1/$2/${3##*/}
shift 3
"$@"
status=$?
[ -d "${timing%/*}" ] || mkdir -p "${timing%/*}"
times >"$timing"
exit $status
