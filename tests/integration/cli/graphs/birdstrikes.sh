#!/bin/bash
# The main job: the right answer, and the same bytes whatever the chunking, the executors, the memory and who dies.
. "$(dirname "$0")/../lib.sh"

top=libclient/examples/birdstrikes.json
damaging=libclient/examples/damaging.json

granary up --executors 2 >/dev/null
granary run --discard --csv $top >"$work/top.csv"
head -n 3 "$work/top.csv" | diff - <(printf '%s\n' 'Wildlife Species,n,total,mean_speed' \
    'Canada goose,190,15389869,143.89473684210526' \
    'Unknown bird - large,436,10359212,176.79083094555875') || fail "costliest species"
[ "$(wc -l <"$work/top.csv")" = 11 ] || fail "ten rows"

granary run --discard $top >"$work/top.txt"
grep -qE 'Canada goose +190 +15389869 +143.894737' "$work/top.txt" || fail "table: $(cat "$work/top.txt")"

granary run --discard --csv $damaging >"$work/damaging.csv"
grep -qx 'Climb,318,16764772,7043545' "$work/damaging.csv" || fail "climb: $(cat "$work/damaging.csv")"
grep -qx 'Approach,409,10475657,3644483' "$work/damaging.csv" || fail "approach"
grep -qx 'Taxi,2,0,0' "$work/damaging.csv" || fail "taxi"

granary run --discard --arrow "$work/top.arrow" $top
granary down >/dev/null

# 1.2 MB in 20 KB chunks: 60 of them. 1 MiB of memory is less than the data.
for executors in 1 2 5; do
    granary up --executors $executors --memory 1M >/dev/null
    granary run --discard --csv --chunk-bytes 20000 $top | cmp - "$work/top.csv" || fail "$executors executors"
    granary run --discard --arrow "$work/again.arrow" --chunk-bytes 20000 $top
    same "$work/again.arrow" "$work/top.arrow"
    granary run --discard --csv --chunk-bytes 20000 $damaging | cmp - "$work/damaging.csv" || fail "$executors executors"
    granary down >/dev/null
done

# An executor is killed as soon as it has work, again and again, while the job runs.
granary up --executors 2 >/dev/null
victim() { granary status --json | grep -o '"pid": [0-9]*, "numa_node"' | grep -o '[0-9]*' | head -n 1; }
for _ in 1 2 3; do
    granary run --discard --csv --chunk-bytes 5000 $top >"$work/killed.csv" &
    run=$!
    kill -9 "$(victim)"
    wait $run || fail "a killed executor failed the run"
    same "$work/killed.csv" "$work/top.csv"
done
granary down >/dev/null
