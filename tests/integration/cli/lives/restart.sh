#!/bin/bash
# The store is killed again and again: the supervisor starts the next one, which has everything the last one had, and
# whoever was at work goes on.
#   restart.sh [COUNT] [SEED]    default: 6 kills
count=${1:-6}
RANDOM=${2:-1}
. "$(dirname "$0")/../lib.sh"

top=libclient/examples/birdstrikes.json
store_pid() { sed -n 's/.*"store_pid": \([0-9]*\).*/\1/p' "$work/i/instance.json"; }
restarts() { granary status --json | sed -n 's/.*"name": "store", "pid": [0-9]*, "restarts": \([0-9]*\).*/\1/p'; }
pause() { read -r -t "$1" <> <(:) || true; }

granary up --executors 2 --memory 8M >/dev/null
remember_prefix
granary run --discard --csv $top >"$work/top.csv"
kept=()
for i in $(seq 12); do
    head -c $((900000 + i * 7777)) $birds >"$work/kept.$i"
    kept+=("$(granary put "$work/kept.$i")")
done
sched_pid=$(grep -o '"sched_pid": [0-9]*' "$work/i/instance.json")

for round in $(seq "$count"); do
    granary run --discard --csv --chunk-bytes 10000 $top >"$work/again.csv" &
    run=$!
    pause "0.$((RANDOM % 40 + 10))"
    kill -9 "$(store_pid)" || fail "round $round: no store"
    wait $run || fail "round $round: the run failed"
    same "$work/again.csv" "$work/top.csv"
    # The next kill must not look like a store that cannot live.
    pause 1
done
[ "$(restarts)" = "$count" ] || fail "restarts: $(restarts)"
[ "$(grep -o '"sched_pid": [0-9]*' "$work/i/instance.json")" = "$sched_pid" ] || fail "the scheduler died"
for i in $(seq 12); do
    granary get "${kept[$((i - 1))]}" | cmp - "$work/kept.$i" || fail "kept object $i"
done
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"

# A store that cannot live ends the instance, and the log says why; the objects wait for the next one.
granary up --executors 1 >/dev/null
remember_prefix
outlives=$(granary put "$work/kept.1")
log=$work/supervisor.log
supervisor=$(sed -n 's/.*"supervisor_pid": \([0-9]*\).*/\1/p' "$work/i/instance.json")
ln "$work/i/log/supervisor.log" "$log"
for _ in $(seq 1000); do
    ! ended "$supervisor" || break
    kill -SEGV "$(store_pid 2>/dev/null)" 2>/dev/null || true
    pause 0.02
done
grep -q 'DAEMON-DIES.*the store ended.*store.log' "$log" || fail "log: $(cat "$log")"
expect 3 'granary up' granary rm "$outlives"
granary up --executors 1 >/dev/null
granary get "$outlives" | cmp - "$work/kept.1" || fail "the object of a store that could not live"
granary down >/dev/null 2>&1 || true
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
