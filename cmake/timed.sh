#!/bin/sh
# Runs a command of the build, and writes what processor time it took to FOLDER/TARGET/OUTPUT: what ./waf build --timings
# adds up. Arguments: FOLDER TARGET OUTPUT, then the command.
folder=$1/$2
output=${3##*/}
shift 3
"$@"
status=$?
[ -d "$folder" ] || mkdir -p "$folder"
times >"$folder/$output"
exit $status
