#!/bin/bash
# clock.sh [JUMPS]: the wall clock of an instance jumps a year ahead and back while it works: nothing ends early, hangs or is
# lost.
. "$(dirname "$0")/../lib.sh"

jumps=${1:-4}
library=$(find /usr/lib -name libfaketimeMT.so.1 2>/dev/null | head -n 1)
[ -n "$library" ] || { echo "skipped: faketime is not installed"; exit 77; }

echo "+0" >"$work/clock"
set_clock() { echo "$1" >"$work/clock.new" && mv "$work/clock.new" "$work/clock"; }
faked() {
    env LD_PRELOAD="$library" FAKETIME_TIMESTAMP_FILE="$work/clock" FAKETIME_NO_CACHE=1 \
        FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 "$@"
}

faked granary up --executors 2 --memory 64M --spill-dir "$work/spill" >/dev/null
remember_prefix
granary session create idle --idle 1h
first=$(granary put "$birds")
head -c 30M /dev/urandom >"$work/large"
large=$(granary put "$work/large")
granary move --from memory --to disk "$large"

# A graph that has a quarter of an hour, from the moment in which it was accepted, and does not end before it is told to; and
# work beside it.
cat >"$work/long.json" <<JSON
{"nodes": {"w": {"op": "exec", "command": ["sh", "-c", "echo \$\$ >'$work/shell'; until [ -e '$work/end' ]; do sleep 0.1; done"], "timeout_ms": 900000}},
 "targets": ["w"]}
JSON
cat >"$work/short.json" <<'JSON'
{"nodes": {"n": {"op": "random", "shape": [400, 1000], "seed": 1}, "s": {"op": "std", "input": "n", "axes": [0]}},
 "targets": ["s"]}
JSON
granary run --timeout 15m --keep long "$work/long.json" >/dev/null &
long=$!
for _ in $(seq 300); do
    granary graphs long 2>/dev/null | grep -q running && break
    sleep 0.05
done
jump() {
    for _ in $(seq "$jumps"); do
        set_clock "+365d"
        granary put "$birds" >/dev/null || fail "put a year ahead"
        at=$((RANDOM * 400))
        granary read --bytes $at:$((at + 16777216)) "$large" >/dev/null || fail "read a part"
        set_clock "-365d"
        granary put "$birds" >/dev/null || fail "put a year ago"
        granary get "$first" | cmp - "$birds" || fail "get a year ago"
    done
}
for i in 1 2 3 4; do
    granary run --discard --json "$work/short.json" >"$work/short.$i" || fail "run $i"
done &
jump
wait $! || fail "a graph under a clock that jumps"
for i in 2 3 4; do
    same "$work/short.1" "$work/short.$i"
done
touch "$work/end"
wait "$long" || fail "a graph that had time"

# Room is made, of slices of before, too; a session that was idle for no hour is there.
set_clock "-365d"
for i in 1 2 3 4; do
    granary put "$work/large" >/dev/null || fail "no room for object $i: $(granary stat)"
done
granary session has idle || fail "the idle session has gone"
granary fsck >/dev/null || fail "$(granary fsck)"
! grep -h DAEMON-DIED "$work"/i/log/*.log || fail "a daemon died"
granary down >/dev/null
shell=$(cat "$work/shell") # faketime made these for that program, which was killed or ended before it removed them
rm -f "/dev/shm/faketime_shm_$shell" "/dev/shm/sem.faketime_sem_$shell"
