#!/bin/bash
# The active of two schedulers is killed again and again under load: the other takes over. No result changes, and nothing
# that has finished runs again.
#   takeover.sh [COUNT] [SEED] [SCHEDULERS]    default: 6 kills; 1 scheduler is started anew by the supervisor instead
count=${1:-6}
RANDOM=${2:-1}
schedulers=${3:-2}
. "$(dirname "$0")/../lib.sh"

top=libclient/examples/birdstrikes.json
pause() { read -r -t "$1" <> <(:) || true; }
active() {
    grep -h active "$work"/i/schedulers/* 2>/dev/null | while read -r pid _; do
        ended "$pid" || echo "$pid"
    done | head -1 || true
}

granary up --executors 2 --memory 64M --schedulers "$schedulers" >/dev/null
remember_prefix
granary run --discard --csv $top >"$work/calm.csv"
[ "$(granary status --json | grep -o '"state": "standby"' | wc -l)" = $((schedulers - 1)) ] || fail "$(granary status)"

# The load: a job whose every result must be right, and programs that tell each time they run.
cat >"$work/runs.json" <<END
{"nodes": [{"name": "tell", "op": "exec", "command": ["/bin/sh", "-c", "echo \$GRANARY_INDEX >>$work/told"], "count": 60}],
 "targets": ["tell"]}
END
(
    while [ ! -e "$work/stop" ]; do
        granary run --discard --csv --chunk-bytes 20000 $top >"$work/load.csv" || { echo "run failed" >>"$work/wrong"; break; }
        cmp -s "$work/load.csv" "$work/calm.csv" || echo "wrong bytes" >>"$work/wrong"
        echo run >>"$work/runs"
    done
) &
load=$!
(
    while [ ! -e "$work/stop" ]; do
        : >"$work/told"
        granary run --discard "$work/runs.json" >/dev/null || { echo "programs failed" >>"$work/wrong"; break; }
        [ "$(sort -u "$work/told" | wc -l)" = 60 ] || echo "programs that did not run" >>"$work/wrong"
        sort "$work/told" | uniq -d >>"$work/again"
        echo programs >>"$work/runs"
    done
) &
programs=$!

slowest=0
for round in $(seq "$count"); do
    # Each lives longer than what the supervisor takes for a scheduler that cannot live.
    pause "$((schedulers == 1)).$((RANDOM % 40 + 60))"
    victim=$(active)
    [ -n "$victim" ] || fail "round $round: no scheduler is active"
    begin=$(date +%s%N)
    kill -9 "$victim"
    until next=$(active) && [ -n "$next" ] && [ "$next" != "$victim" ]; do
        [ $((($(date +%s%N) - begin) / 1000000)) -lt 60000 ] || fail "round $round: nobody took over"
        pause 0.002
    done
    took=$((($(date +%s%N) - begin) / 1000000))
    [ $took -le $slowest ] || slowest=$took
    [ ! -e "$work/wrong" ] || break
done
touch "$work/stop"
wait $load $programs
touch "$work/again"
printf 'kills %d  runs %d  run again %d  slowest takeover %d ms\n' "$count" "$(wc -l <"$work/runs")" "$(wc -l <"$work/again")" $slowest
[ ! -e "$work/wrong" ] || fail "$(sort "$work/wrong" | uniq -c)"
[ ! -s "$work/again" ] || fail "ran twice: $(tr '\n' ' ' <"$work/again")"
[ "$(granary status --json | grep -o '"name": "pool", "pid": [0-9]*, "restarts": 0' | wc -l)" = 1 ] || fail "the pool died: $(granary status)"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
