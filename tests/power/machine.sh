#!/bin/bash
# The machine restarts: every process is gone at once, and shared memory with them. What was promised for that is there,
# graphs that had not ended run on to the same results, and what is lost is said to be, with what to do.
#   machine.sh [COUNT] [SEED]    default: 1 restart
count=${1:-1}
RANDOM=${2:-1}
. "$(dirname "$0")/../integration/cli/lib.sh"
top=libclient/examples/birdstrikes.json
up() { granary up --executors 2 --memory 16M --spill-dir "$work/spill" >/dev/null; remember_prefix; }
pause() { read -r -t "$1" <> <(:) || true; }

# below PID...: these processes and all that they started
below() {
    local pid
    for pid in "$@"; do
        echo "$pid"
        # shellcheck disable=SC2046
        below $(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
    done
}
power_off() {
    local pids pid
    # shellcheck disable=SC2046
    pids=$(below $(sed -n 's/.*"supervisor_pid": \([0-9]*\).*/\1/p' "$work/i/instance.json"))
    # shellcheck disable=SC2086
    kill -STOP $pids 2>/dev/null || true # nobody sees another one go
    # shellcheck disable=SC2086
    kill -9 $pids 2>/dev/null || true
    for pid in $pids; do
        await ended "$pid"
    done
    find /dev/shm -maxdepth 1 -name "$(tail -n 1 "$work/prefixes")*" -delete
}

up
granary run --discard --csv --chunk-bytes 600 $top >"$work/calm.csv"
head -c 700000 $birds >"$work/o"
kept=$(granary put --persist "$work/o")
granary put "$work/o" >"$work/lost"
granary load birds $birds >/dev/null
ended=$(granary run $top 2>&1 >/dev/null | sed -n 's/.*object \([0-9a-f]*\)$/\1/p')
for _ in $(seq "$count"); do
    granary run --csv --chunk-bytes 600 $top >/dev/null 2>&1 &
    run=$!
    until running=$(granary graphs --state running | sed -n '2s/ .*//p') && [ -n "$running" ]; do :; done
    pause "0.$((RANDOM % 30 + 10))"
    power_off
    wait $run || true
    up
    granary await --timeout 60 "$running" >/dev/null
    if granary read "$running/costliest" --csv >"$work/again.csv" 2>"$work/err"; then
        same "$work/again.csv" "$work/calm.csv"
    else # it had ended before
        grep -q "it is lost: forget the graph" "$work/err" || fail "graph: $(cat "$work/err")"
    fi
    granary get "$kept" | same - "$work/o"
    expect 4 'not found' granary get "$(cat "$work/lost")"
    expect 4 'not found' granary get "$ended"
    expect 1 "load it again with --replace" granary sql "SELECT count(*) FROM birds"
    granary load --replace birds $birds >/dev/null
    granary run --discard --csv --chunk-bytes 600 $top | same - "$work/calm.csv"
    granary forget "$running"
    granary fsck >/dev/null
done
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
