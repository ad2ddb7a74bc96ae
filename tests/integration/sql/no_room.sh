#!/bin/bash
# Memory and disk are full of what other graphs keep: a query waits for room, and ends at once when it is interrupted; what makes
# room lets it go on. The scheduler's test_task_faults tells when it fails instead.
. "$(dirname "$0")/../cli/lib.sh"

granary up --executors 1 --memory 8M --spill-dir "$work/spill=4M" >/dev/null
remember_prefix
head -c 3000000 /dev/urandom >"$work/object"
object=$(granary put "$work/object")

# rows N: a query whose result has 2 MB, which nothing makes smaller
rows() { echo "SELECT hash(i + $1) a, hash(i + $1 + 7) b FROM range(125000) t(i)"; }
waits() { granary status | grep -q 'writing fails: EFULL' && granary why | grep -q 'waits for room to write'; }
# full: keep tables until one waits
kept=0
full() {
    while [ $kept -lt 20 ]; do
        kept=$((kept + 1))
        env --default-signal=INT granary sql --keep k$kept "$(rows $kept)" >/dev/null 2>"$work/err" & query=$!
        while kill -0 $query 2>/dev/null; do
            ! waits || return 0
        done
        wait $query || fail "k$kept: $(cat "$work/err")"
    done
    fail "20 tables of 2 MB fit into 12 MiB: $(granary status)"
}
full
expect 5 'the quota of this level is used up; .*; delete what is not needed .*, or give more disk or --memory' \
    granary put --timeout 1s "$work/object"
kill -INT $query
status=0
wait $query || status=$?
[ $status = 130 ] || fail "it was interrupted: $status"
grep -qx 'granary: sql: interrupted: its graph is cancelled, and nothing of it is kept' "$work/err" || fail "sql: $(cat "$work/err")"

# Whoever deletes an object lets it go on.
granary sql "$(rows 99)" >"$work/out" 2>&1 & query=$!
until waits; do kill -0 $query || fail "there was room: $(cat "$work/out")"; done
granary rm "$object"
wait $query || fail "there is room: $(cat "$work/out")"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
