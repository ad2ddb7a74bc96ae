#!/bin/bash
# Random kill -9 of clients and executors under load: the daemons live, the account balances, nothing is lost or damaged.
#   kills.sh [COUNT] [SEED]    default: 24 kills
count=${1:-24}
RANDOM=${2:-1}
. "$(dirname "$0")/../lib.sh"

top=libclient/examples/birdstrikes.json
granary up --executors 3 --memory 8M >/dev/null
granary run --discard --csv $top >"$work/top.csv"
store_pid=$(grep -o '"store_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*')
sched_pid=$(grep -o '"sched_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*')

# Objects that must survive all of it; more than memory holds, so that spilling goes on.
kept=()
for i in $(seq 12); do
    head -c $((900000 + i * 7777)) $birds >"$work/kept.$i"
    kept+=("$(granary put "$work/kept.$i")")
done

# The load: a job in a loop, whose every result must be right. A subtask that three executors died running is given up, by
# promise: that many may be killed beneath one on a slow machine.
(
    while [ ! -e "$work/stop" ]; do
        granary run --discard --csv --chunk-bytes 20000 $top >"$work/load.csv" 2>"$work/load.err" || {
            grep -q 'executors died running it' "$work/load.err" && continue
            { echo "run failed:"; cat "$work/load.err"; } >>"$work/wrong"
            break
        }
        cmp -s "$work/load.csv" "$work/top.csv" || echo "wrong bytes" >>"$work/wrong"
        echo run >>"$work/runs"
    done
) &
load=$!

executors() { granary status --json | grep -o '"pid": [0-9]*, "numa_node"' | grep -o '[0-9]*'; }
killed=0
while [ $killed -lt "$count" ] && [ ! -e "$work/wrong" ]; do
    if [ $((RANDOM % 2)) = 0 ]; then
        victim=$(executors | shuf -n 1 --random-source=<(yes "$RANDOM") || true)
        [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null && killed=$((killed + 1))
    else
        case $((RANDOM % 3)) in
        0) granary put $birds >/dev/null & ;;
        1) granary get "${kept[$((RANDOM % 12))]}" >/dev/null & ;;
        2) granary run --csv --chunk-bytes 50000 $top >/dev/null 2>&1 & ;;
        esac
        client=$!
        read -r -t "0.0$((RANDOM % 90 + 10))" <> <(:) || true
        kill -9 $client 2>/dev/null && killed=$((killed + 1))
        wait $client 2>/dev/null || true
    fi
done
touch "$work/stop"
wait $load
[ ! -e "$work/wrong" ] || fail "$(sort "$work/wrong" | uniq -c)"
! ended "$store_pid" && ! ended "$sched_pid" || fail "a daemon died"

lost=0
for i in $(seq 12); do
    granary get "${kept[$((i - 1))]}" | cmp -s - "$work/kept.$i" || lost=$((lost + 1))
done
granary stat --json >"$work/stat"
field() { grep -o "\"$1\": [0-9]*" "$work/stat" | grep -o '[0-9]*$'; }
sum=$(($(field free_bytes) + $(field reserved_bytes) + $(field writing_bytes) + $(field sealed_bytes) + $(field retiring_bytes) + $(field pooled_bytes)))
printf 'kills %d  runs %d  lost %d  account error %d\n' "$killed" "$(wc -l <"$work/runs")" "$lost" $((sum - $(field capacity_bytes)))
[ $lost = 0 ] && [ "$sum" = "$(field capacity_bytes)" ] || fail "lost objects or a wrong account: $(cat "$work/stat")"
