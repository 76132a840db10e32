#!/bin/sh
# Runs a command of the build, and writes its processor time to FOLDER/TARGET/OUTPUT.
# ./waf build --timings adds these up. Arguments: FOLDER TARGET OUTPUT, then the command.
timing=$1/$2/${3#*.dir/}
[ "$3" != "${3#*.dir/}" ] || timing=$1/$2/${3##*/}
shift 3
"$@"
status=$?
[ -d "${timing%/*}" ] || mkdir -p "${timing%/*}"
times >"$timing"
exit $status
