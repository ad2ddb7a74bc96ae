#!/bin/bash
# What a graph may take: time, named resources, memory. A reduction tree of 8 times the memory does not need a disk for it.
. "$(dirname "$0")/../lib.sh"

# value FIELD: of the store's account
value() {
    granary stat --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$1'])"
}

granary up --executors 2 --memory 64M --resource gpu=1 --resource license=2 >/dev/null
remember_prefix

expect 2 "NAME=AMOUNT" granary up --resource gpu
expect 2 "there already" granary up --resource slots=3

# Time: it fails when that is over, and says how far it was.
echo '{"nodes": {"s": {"op": "exec", "command": ["sleep", "100"]}}, "targets": ["s"]}' >"$work/sleep.json"
expect 6 "not done by its deadline: 0 of 1 subtasks had succeeded, 1 were at work" \
    granary run --timeout 0.2 --priority 3 "$work/sleep.json"
expect 2 "no number" granary run --priority high "$work/sleep.json"

granary session weight default 300
granary session weight default 100
expect 2 "from 1 to 1000" granary session weight default 1001

# Resources: one at a time where there is one; more than there is is refused, with what exists.
python3 - "$work" <<'PY'
import json, sys
command = ["sh", "-c", 'mkdir "$DIR/held" && sleep 0.02 && rmdir "$DIR/held" && echo alone']
def graph(amount):
    nodes = {"n%d" % i: {"op": "exec", "command": command, "params": {"DIR": sys.argv[1]},
                         "resources": {"gpu": amount}} for i in range(6)}
    return {"nodes": nodes, "targets": ["n0"] + ["n%d" % i for i in range(1, 6)]}
json.dump(graph("1"), open(sys.argv[1] + "/gpu.json", "w"))
json.dump(graph("2"), open(sys.argv[1] + "/gpus.json", "w"))
PY
granary run "$work/gpu.json" >/dev/null || fail "two had the one gpu, or none"
expect 2 "2 of 'gpu' cannot be granted: this instance has 2 slots, 67108864 bytes of memory, 1 gpu, 2 license" \
    granary run "$work/gpus.json"

# Memory: 128 leaves of 4 MiB and what combines them, leaves first in the file.
python3 - "$work" <<'PY'
import json, sys
nodes = {}
def add(inputs):
    name = "n%d" % len(nodes)
    nodes[name] = {"op": "exec", "command": ["head", "-c", str(4 << 20), "/dev/zero"]}
    if inputs:
        nodes[name] = {"op": "exec", "inputs": inputs, "command": ["sh", "-c", "head -c 2097152; head -c 2097152 <&4"]}
    return name
level = [add([]) for _ in range(128)]
while len(level) > 1:
    level = [add(level[i:i + 2]) for i in range(0, len(level), 2)]
json.dump({"nodes": nodes, "targets": level}, open(sys.argv[1] + "/tree.json", "w"))
PY
before=$(value spill_raw_bytes)
granary run --timeout 100 "$work/tree.json" >"$work/out"
[ "$(stat -c %s "$work/out")" -ge $((4 << 20)) ] || fail "the tree's result has $(stat -c %s "$work/out") bytes"
spilled=$(($(value spill_raw_bytes) - before))
[ "$spilled" -lt $((128 << 20)) ] || fail "of 1020 MiB made with 64 MiB of memory $spilled bytes were spilled"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
