#!/bin/bash
# granary metrics: OpenMetrics whatever the daemons do, and what it says of them.
. "$(dirname "$0")/lib.sh"

# told: what the instance tells, once it is found to be OpenMetrics
told() {
    granary metrics >"$work/raw" || fail "granary metrics: exit status $?"
    python3 "$GRANARY_SOURCE/tests/support/py/openmetrics.py" <"$work/raw" >"$work/told" || fail "not OpenMetrics"
}

# tells LINE: a line of it, as a regular expression
tells() {
    grep -qE -- "^$1\$" "$work/told" || fail "no '$1' in: $(cat "$work/told")"
}

# up STORE SCHED EXECUTOR
up() {
    told
    tells "granary_up\{process=\"store\"\} $1"
    tells "granary_up\{process=\"sched\"\} $2"
    tells "granary_up\{process=\"executor\"\} $3"
}

# No instance, and names that are none.
up 0 0 0
expect 2 'instance' granary metrics --instance 'a b'
expect 2 'openmetrics or prometheus' granary metrics --format json

granary up --memory 64M --executors 2 >"$work/out"
remember_prefix
up 1 1 1
tells 'granary_store_capacity_bytes 67108864'
tells 'granary_executor_busy\{slot="1",node="0",pid="[0-9]+"\} 0'

# What is done is counted, in sessions with any name.
head -c 100000 /dev/zero >"$work/zeros"
granary put "$work/zeros" >"$work/id"
granary put --session 'say "hi" \o/' "$work/zeros" >"$work/id" 2>"$work/err"
told
tells 'granary_store_seals_total\{session="default"\} 1'
tells 'granary_store_seals_total\{session="say \\"hi\\" \\\\o/"\} 1'
tells 'granary_store_objects 2'
python3 - "$work/told" <<'END' || fail "the parts of memory are not the capacity together"
import sys
rows = dict(line.rsplit(" ", 1) for line in open(sys.argv[1]) if not line.startswith("#"))
parts = [int(value) for name, value in rows.items() if name.startswith("granary_store_memory_bytes")]
sys.exit(len(parts) != 6 or sum(parts) != int(rows["granary_store_capacity_bytes"]))
END

# What is timed outlives the clients that did it, and goes through disk and back.
id=$(granary put "$work/zeros")
granary move --to disk --from memory "$id" >"$work/out"
granary get "$id" >"$work/out"
same "$work/zeros" "$work/out"
told
for timed in seal get get_wait room_wait restore spill; do
    tells "granary_${timed}_seconds_count [1-9][0-9]*"
    tells "granary_${timed}_seconds_bucket\{le=\"\+Inf\"\} [1-9][0-9]*"
done

# What the scheduler counts; amounts are a second old at most.
granary run libclient/examples/birdstrikes.json >"$work/out" 2>&1
told
tells 'granary_sched_graphs_submitted_total 1'
tells 'granary_sched_graphs_succeeded_total 1'
tells 'granary_sched_subtasks_failed_total 0'
subtasks=$(granary graph --json "$(granary graphs --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["key"])')" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["done"])')
tells "granary_sched_subtasks_succeeded_total $subtasks"
tells "granary_subtask_run_seconds_count $subtasks"
tells 'granary_subtask_queue_seconds_count [1-9][0-9]*'
for _ in $(seq 100); do
    told
    grep -qx 'granary_sched_graphs 1' "$work/told" && break
    sleep 0.05
done
tells 'granary_sched_graphs 1'
tells 'granary_sched_executors 2'

# The older format, as Prometheus's own tool reads it.
if command -v promtool >/dev/null; then
    granary metrics --format prometheus | promtool check metrics || fail "promtool finds something"
fi
granary metrics --format prometheus | grep -q '^# TYPE granary_store_seals_total counter$' || fail "no older format"

# A scheduler that can have no page serves; that of the one before it is not told for it.
sched_pid() { grep -o '^[0-9]*' "$work/i/sched.lock"; }
mkdir "$work/i/sched.page.new"
kill -9 "$(sched_pid)"
granary graphs >"$work/out" # it waits for the next one
up 1 1 1
grep -q '^granary_sched_' "$work/told" && fail "a dead scheduler's page is told as the living one's"
grep -q 'PAGE.*granary metrics' "$work/i/log/sched.log" || fail "the log does not say that there is no page"
rmdir "$work/i/sched.page.new"
# A page that is cut, or another's, is left out.
for damage in 'truncate -s 100' 'truncate -s 0' 'cp tests/integration/cli/lib.sh'; do
    rm -f "$work/i/sched.page"
    $damage "$work/i/sched.page"
    up 1 1 1
done

# Daemons that are stopped, and dead: nobody may start them again.
pid_of() { grep -o "\"$1_pid\": [0-9]*" "$work/i/instance.json" | grep -o '[0-9]*$'; }
sched=$(sched_pid) store=$(pid_of store)
halt "$sched"
up 1 0 1
tells 'granary_process_stopped\{process="sched"\} 1'
kill -CONT "$sched"
halt "$store"
up 0 1 1
tells 'granary_process_stopped\{process="store"\} 1'
tells 'granary_store_objects [1-9]'
kill -CONT "$store"
pids="$(grep -o '"[a-z]*_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$') $(pgrep -f -- "--instance $work/i")"
halt "$(pid_of supervisor)"
kill -9 "$sched"
# Nobody waits for it: it is a zombie, and its descriptor tells when.
python3 -c 'import os, select, sys; select.select([os.pidfd_open(int(sys.argv[1]))], [], [])' "$sched"
up 1 0 1
# shellcheck disable=SC2086
kill -9 $pids 2>/dev/null || true
for pid in $pids; do
    await ended "$pid"
done
up 0 0 0
tells 'granary_store_seals_total\{session="default"\} [1-9]'
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
up 0 0 0
