# Executors come and go while a graph runs, and none of its work is lost.
. "$(dirname "$0")/../lib.sh"

numbers() { granary executors --json | sed -n 's/.*"number": \([0-9]*\).*/\1/p'; }
count() { numbers | wc -l; }
pool_pid() { sed -n 's/.*"pool_pid": \([0-9]*\).*/\1/p' "$work/i/instance.json"; }

granary up --executors 1 --memory 64M >/dev/null
remember_prefix
[ "$(count)" = 1 ] || fail "one was asked for: $(granary executors)"
cat >"$work/g.json" <<'J'
{"nodes": [{"name": "a", "op": "arange", "stop": 2000000, "chunk": 20000}, {"name": "s", "op": "sum", "inputs": ["a"]}], "targets": ["s"]}
J
granary run "$work/g.json" >"$work/sum" &
run=$!

# one graph, through all the changes
granary executors add 1
[ "$(count)" = 2 ] || fail "one was added: $(granary executors)"
granary executors kill --timeout 60 "$(numbers | head -1)"
[ "$(count)" = 2 ] || fail "a killed one is replaced"
first=$(numbers | head -1)
granary executors drain --timeout 60 "$first"
[ "$(count)" = 1 ] || fail "a drained one is gone"
before=$(numbers)
granary executors recycle --timeout 20
[ "$(count)" = 1 ] && [ "$(numbers)" != "$before" ] || fail "a recycled one is another one"
granary executors add --node 0 1
granary executors | grep -q ' push ' || fail "$(granary executors)"
wait $run || fail "the graph failed: $(cat "$work/sum")"
grep -q 1999999000000 "$work/sum" || fail "wrong sum: $(cat "$work/sum")"

expect 4 "executor $first: not found: .granary executors. lists them" granary executors drain "$first"
expect 2 "no NUMA node 63" granary executors add --node 63 1
expect 2 "at most 1024" granary executors add 1024
expect 2 "'x' is no number" granary executors kill x
expect 2 "add N, drain NUMBER" granary executors kill
expect 2 "add N, drain NUMBER" granary executors frobnicate 1

# One that is stopped cannot finish: the answer names it when the time is over.
victim=$(numbers | tail -1)
pid=$(granary executors --json | sed -n "s/.*\"number\": $victim, \"pid\": \([0-9]*\).*/\1/p")
halt "$pid"
expect 6 "executor $victim has not left" granary executors drain --timeout 0.3 "$victim"
granary executors | grep -q draining || fail "$(granary executors)"
granary executors kill --timeout 60 "$victim"
ended "$pid" || fail "$pid still runs"

# When the scheduler ends, an order is not given again to the next one, who knows executors by other numbers.
victim=$(numbers | tail -1)
pid=$(granary executors --json | sed -n "s/.*\"number\": $victim, \"pid\": \([0-9]*\).*/\1/p")
halt "$pid"
granary executors drain "$victim" 2>"$work/err" &
order=$!
until granary executors | grep -q draining; do kill -0 $order || fail "$(cat "$work/err")"; done
kill -KILL "$(sed -n 's/.*"sched_pid": \([0-9]*\).*/\1/p' "$work/i/instance.json")"
status=0
wait $order || status=$?
[ $status = 1 ] && grep -q 'the scheduler, or the connection to it, ended before it answered' "$work/err" || fail "status $status: $(cat "$work/err")"
kill -CONT "$pid" 2>/dev/null || true
for _ in $(seq 1200); do
    [ "$(count)" -ge 1 ] && break
    sleep 0.05
done

# A pool that does not answer is told of in time, and does what it was asked for when it can.
pool=$(pool_pid)
before=$(count)
halt "$pool"
expect 6 "executors of .* slots have not come" granary executors add --timeout 0.2 1
kill -CONT "$pool"
for _ in $(seq 1200); do
    [ "$(count)" = $((before + 1)) ] && break
    sleep 0.05
done
[ "$(count)" = $((before + 1)) ] || fail "the order was forgotten: $(granary executors)"

# A pool that died has as many executors as before.
granary executors add 1
before=$(count)
pool=$(pool_pid)
kill -KILL "$pool"
for _ in $(seq 1200); do
    [ "$(pool_pid)" != "$pool" ] && [ "$(count)" = "$before" ] && break
    sleep 0.05
done
[ "$(count)" = "$before" ] || fail "$before executors before, and now: $(granary executors)"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
