#!/bin/bash
# granary simulate: the same seed is the same run; a recorded graph takes the time it must; a tree needs little memory.
. "$(dirname "$0")/../lib.sh"

# value FIELD: of the last output
value() {
    python3 -c "import json, sys; print(json.load(open('$work/out'))['$1'])"
}

granary simulate --seed 11 --faults all --trace >"$work/one" 2>/dev/null
granary simulate --seed 11 --faults all --trace >"$work/two" 2>/dev/null
same "$work/one" "$work/two"
grep -q "begins" "$work/one" || fail "nothing happened: $(head -3 "$work/one")"

# Three seconds one after another; side by side on three executors, one.
cat >"$work/chain.json" <<'JSON'
{"nodes": {"a": {"op": "exec", "command": ["x"]}, "b": {"op": "exec", "command": ["x"], "input": "a"},
           "c": {"op": "exec", "command": ["x"], "input": "b"}}, "targets": ["c"]}
JSON
cat >"$work/side.json" <<'JSON'
{"nodes": {"a": {"op": "exec", "command": ["x"]}, "b": {"op": "exec", "command": ["x"]},
           "c": {"op": "exec", "command": ["x"]}}, "targets": ["a", "b", "c"]}
JSON
printf '%s 1 1000\n' a b c >"$work/times"
granary simulate "$work/chain.json" --durations "$work/times" --executors 3 --faults none --json >"$work/out"
[ "$(value makespan_ns)" = 3000000000 ] || fail "a chain: $(cat "$work/out")"
granary simulate "$work/side.json" --durations "$work/times" --executors 3 --faults none --json >"$work/out"
[ "$(value makespan_ns)" = 1000000000 ] || fail "side by side: $(cat "$work/out")"

# A reduction tree of 8 times the memory: what is there at once stays below it, in whatever order its nodes come.
for order in leaves depth; do
    python3 - "$order" "$work" <<'PY'
import json, sys
order, work = sys.argv[1:]
nodes, times = {}, []
def add(inputs):
    name = "n%d" % len(nodes)
    nodes[name] = {"op": "exec", "command": ["merge" if inputs else "make"]}
    if inputs:
        nodes[name]["inputs"] = inputs
    times.append("%s 0.1 %d" % (name, 4 << 20))
    return name
def tree(leaves):
    return add([tree(leaves // 2), tree(leaves - leaves // 2)]) if leaves > 1 else add([])
if order == "depth":
    tree(128)
else:
    level = [add([]) for _ in range(128)]
    while len(level) > 1:
        level = [add(level[i:i + 2]) for i in range(0, len(level), 2)]
json.dump({"nodes": nodes, "targets": ["n%d" % (len(nodes) - 1)]}, open(work + "/tree.json", "w"))
open(work + "/times", "w").write("\n".join(times))
PY
    granary simulate "$work/tree.json" --durations "$work/times" --executors 4 --memory 64M --faults none --json >"$work/out"
    [ "$(value succeeded)" = 1 ] || fail "a tree, $order first: $(cat "$work/out")"
    [ "$(value peak_store_bytes)" -le $((64 << 20)) ] || fail "a tree, $order first, has too much at once: $(cat "$work/out")"
done

expect 2 "none of tree, chain" granary simulate --shape circle
expect 2 "none of death" granary simulate --faults rain
expect 2 "'strikes' \(read_csv\): .* not read here" granary simulate libclient/examples/damaging.json
expect 4 "no-such.json" granary simulate "$work/no-such.json"
echo "a hundred" >"$work/times"
expect 2 "NODE DURATION" granary simulate "$work/chain.json" --durations "$work/times"
echo '{"nodes": {"a": {"op": "call", "function": "nowhere"}}}' >"$work/call.json"
expect 1 "'nowhere' is not exported" granary simulate "$work/call.json"
echo "nobody 1s" >"$work/times"
expect 4 "'nobody 1s': the graph has no node" granary simulate "$work/chain.json" --durations "$work/times"
