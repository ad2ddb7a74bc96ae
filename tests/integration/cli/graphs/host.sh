# Hosted functions: a program that stays answers calls. It is kept, and killed with what it did wrong; nothing is left of it.
. "$(dirname "$0")/../lib.sh"

export WIRE="$GRANARY_SOURCE/libclient/python/granary/_slot/wire.py"
program="$GRANARY_SOURCE/tests/integration/cli/graphs/host_program.py"

# graph REQUEST [MEMBERS]: one call, as a graph
graph() {
    printf '{"nodes": {"r": {"op": "call", "function": "host:call"%s, "params": {"command": "/usr/bin/python3\\n%s",
        "environment": "WIRE=%s\\nX=%s", "request": "%s"}}}, "targets": ["r"]}' "${2:+, $2}" "$program" "$WIRE" "${3:-}" "$1"
}

# ask REQUEST [MEMBERS [VARIABLE]]: what the program answers
ask() {
    graph "$@" >"$work/g.json"
    granary run "$work/g.json" 2>"$work/err" || fail "$1: $(cat "$work/err")"
}

# refused PATTERN REQUEST [MEMBERS]: the graph fails, and says so
refused() {
    local pattern=$1
    shift
    graph "$@" >"$work/g.json"
    ! granary run "$work/g.json" >/dev/null 2>"$work/err" || fail "$1 succeeds"
    grep -qE -- "$pattern" "$work/err" || fail "$1: no '$pattern' in: $(cat "$work/err")"
}

# is WANTED GIVEN
is() { [ "$1" = "$2" ] || fail "'$2' instead of '$1'"; }

granary up --executors 1 >/dev/null
remember_prefix
granary export "$GRANARY_BIN/../python/granary/host.so" >/dev/null

# one program for all calls, another one with another environment
first=$(ask pid)
is "$first" "$(ask pid)"
other=$(ask pid "" 1)
[ "$other" != "$first" ] || fail "one program for two environments"
is "$first" "$(ask pid)"
is "0 of 1 in default, r, $GRANARY_SOURCE" "$(ask where)"
is "what is nothing" "$(ask nothing)"
# what it prints is the subtask's log; what it fails of is said
graph print >"$work/g.json"
granary run --keep prints "$work/g.json" >/dev/null 2>&1
is "this is printed" "$(granary logs prints | grep printed)"
refused "a bad row" fail
refused "not yet" second
is "attempt 2" "$(ask second '"retries": 1')"

# it ends, and the next call has another one
refused "its process ended with exit status 3" exit
refused "signal 11" crash
refused "answered nonsense|speaks version 0" nonsense
refused "answered nonsense" beyond
second=$(ask pid)
[ "$second" != "$first" ] || fail "a program that ended is still there"

# it is stopped in time, or killed
refused "its limit is 0.3 s" stop '"timeout_ms": 300'
is "$second" "$(ask pid)"
refused "its limit is 0.3 s" "hang $work/hangs" '"timeout_ms": 300'
ended "$(cat "$work/hangs")" || fail "what hung is still there"

# memory is that of the program, too
refused "of private memory, its limit is 100.0 MiB" eat '"memory": 104857600'
is "what is well" "$(ask well)"

# outputs of several pieces, read from its memory; zeros between them
ask large >"$work/large"
is "10485960" "$(stat -c %s "$work/large")"
is "headtail" "$(head -c 4 "$work/large")$(tail -c 10 "$work/large" | head -c 4)"
is "10485760" "$(tr -dc x <"$work/large" | wc -c)"
is "0" "$(tail -c +5 "$work/large" | head -c 124 | tr -d '\0' | wc -c)"

# inputs: objects by their ids, values of the same subtask as files
printf 'some bytes' >"$work/some"
id=$(granary put "$work/some")
cat >"$work/g.json" <<END
{"nodes": {"o": {"op": "object", "ids": ["$id"]},
           "f": {"op": "read_csv", "path": "$birds"}, "h": {"op": "head", "input": "f", "rows": 3},
           "r": {"op": "call", "function": "host:call", "inputs": ["o", "h"], "params": {"request": "inputs",
                 "command": "/usr/bin/python3\n$program", "environment": "WIRE=$WIRE\nX="}}}, "targets": ["r"]}
END
granary run "$work/g.json" >"$work/inputs" 2>/dev/null
grep -q "^${id:0:4} " "$work/inputs" || fail "inputs: $(cat "$work/inputs")"

# no program
printf '{"nodes": {"r": {"op": "call", "function": "host:call", "params": {"command": "/no/such"}}}, "targets": ["r"]}' >"$work/g.json"
expect 4 "program '/no/such': No such file" granary run "$work/g.json"

# the executor is killed at a call, and with it the program
graph "hang $work/hangs2" >"$work/g.json"
granary run "$work/g.json" >/dev/null 2>&1 &
until [ -s "$work/hangs2" ]; do sleep 0.02; done
hangs=$(cat "$work/hangs2") # the next executor has the call, too, and a program of its own
granary executors kill "$(granary executors | awk 'NR == 2 {print $1}')" >/dev/null
await ended "$hangs"

granary down >/dev/null
wait
! pgrep -f "host_program.py" >"$work/left" || ! grep -qsz "^GRANARY_INSTANCE=$work" $(sed 's|.*|/proc/&/environ|' "$work/left") ||
    fail "a program is still there"
