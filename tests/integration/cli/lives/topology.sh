# A machine with four NUMA nodes, according to a file: four bands, executors spread over them and bound to their cpus.
. "$(dirname "$0")/../lib.sh"

cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
cat >"$work/four" <<T
# one of this machine's cpus, and some it does not have
node 0 cpus $cpu memory 1G distance 10 20 30 40
node 1 cpus 1000-1001 memory 2G distance 20 10 20 30
node 2 cpus 1002-1003 memory 3G distance 30 20 10 20
node 3 cpus 1004,1006 memory 4G distance 40 30 20 10
T
cd "$work"
granary up --topology four --executors 8 --memory 64M >/dev/null
cd "$GRANARY_SOURCE"
remember_prefix
for node in 0 1 2 3; do
    [ "$(granary executors --json | grep -c "\"node\": $node,")" = 2 ] || fail "node $node: $(granary executors)"
done
granary bands --json >"$work/bands"
grep -q '"node": 3, "cpus": "1004,1006", "memory_bytes": 4294967296, .*"distances": "40 30 20 10", "executors": 2' "$work/bands" ||
    fail "$(cat "$work/bands")"
granary executors --json | sed -n 's/.*"pid": \([0-9]*\),.*"node": 0,.*/\1/p' | while read -r pid; do
    grep -q "Cpus_allowed_list:[[:space:]]$cpu\$" "/proc/$pid/status" || fail "$pid is not bound to $cpu"
done
granary executors add --node 2 1
[ "$(granary executors --json | grep -c '"node": 2,')" = 3 ] || fail "not on node 2: $(granary executors)"
granary run libclient/examples/birdstrikes.json >/dev/null 2>&1 || fail "birdstrikes does not run"
granary down >/dev/null

echo 'node 0 cpus 0 distance 10 20' >"$work/wrong"
expect 2 "wrong:1: not as many distances" granary up --topology "$work/wrong"
expect 4 "topology file .*/none" granary up --topology "$work/none"
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
