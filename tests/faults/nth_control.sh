#!/bin/bash
# The n-th-failure run finds what goes wrong: each thing that can is planted once.
#   nth_control.sh GRANARY
set -u
for plant in 'bytes:WRONG: planted' 'crash:died of signal 6' 'message:says not what failed' 'leak:left behind'; do
    said=$(GRANARY_NTH_PLANT=${plant%%:*} "$1" torture nth --scenario put_get --process client --fail kill --first 220 --last 220)
    status=$?
    [ $status != 7 ] || { echo "skipped: ptrace is not permitted"; exit 77; }
    if [ $status != 1 ] || ! grep -q "${plant#*:}" <<<"$said" || ! grep -q 'again: granary torture nth' <<<"$said"; then
        echo "FAILED: ${plant%%:*} was not found: status $status: $said" >&2
        exit 1
    fi
done
