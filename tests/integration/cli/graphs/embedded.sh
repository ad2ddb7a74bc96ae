# Executors inside another program: an instance without any of its own, whose graphs run in programs that ask for work.
. "$(dirname "$0")/../lib.sh"

pulling() { granary executors --json | sed -n 's/.*"number": \([0-9]*\),.*"mode": "pull".*/\1/p'; }

granary up --executors 0 --memory 64M >/dev/null
remember_prefix
cat >"$work/g.json" <<'J'
{"nodes": [{"name": "a", "op": "arange", "stop": 2000000, "chunk": 20000}, {"name": "s", "op": "sum", "inputs": ["a"]}], "targets": ["s"]}
J
granary run "$work/g.json" >"$work/sum" &
run=$!

# It takes as many as it asks for, and leaves: nothing of it remains.
worker 7 >"$work/out"
grep -qx '7 subtasks' "$work/out" || fail "$(cat "$work/out")"
[ -z "$(pulling)" ] || fail "it has left: $(granary executors)"
kill -0 $run || fail "7 subtasks are not the graph"

# One that is killed with work is an executor that died: another one goes on. Two at once are two executors.
worker 1000000 &
victim=$!
worker >"$work/out" &
other=$!
until [ -n "$(pulling)" ]; do kill -0 $victim || fail "it left"; done
kill -KILL $victim
wait $victim || true
wait $run || fail "the graph failed: $(cat "$work/sum")"
grep -q 1999999000000 "$work/sum" || fail "wrong sum: $(cat "$work/sum")"
wait $other || fail "$(cat "$work/out")"

# Drained while it waits, it is told so; somebody's program is not killed.
worker 1000000 2>"$work/err" &
victim=$!
until [ -n "$(pulling)" ]; do kill -0 $victim || fail "$(cat "$work/err")"; done
expect 2 "embedded in another program, process $victim" granary executors kill "$(pulling)"
granary executors drain --timeout 60 "$(pulling)"
status=0
wait $victim || status=$?
[ $status = 1 ] && grep -q 'this worker was drained' "$work/err" || fail "status $status: $(cat "$work/err")"
granary down >/dev/null
expect 3 "granary up" worker
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
