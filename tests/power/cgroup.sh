#!/bin/bash
# In a memory cgroup: the budget a store takes by itself leaves room for the daemons and for pages of spill files,
# whatever is put; one that cannot fit is warned of. As root.
skip() { echo "skipped: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root may make a cgroup"
# Before the group is entered: what it starts outlives this script, and would keep the group.
. "$(dirname "$0")/../integration/cli/lib.sh"
if [ -d /sys/fs/cgroup/memory ]; then
    top=/sys/fs/cgroup/memory limit=memory.limit_in_bytes kills=memory.oom_control
    home=$top$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
else
    top=/sys/fs/cgroup limit=memory.max kills=memory.events
    home=$top$(sed -n 's/^0:://p' /proc/self/cgroup)
fi
group=$top/granary-test.$$
mkdir "$group" 2>/dev/null || skip "no cgroup is to be had"
[ -e "$group/$limit" ] && echo $$ 2>/dev/null >"$group/cgroup.procs" || { rmdir "$group"; skip "no memory cgroup is to be had"; }

leave() {
    local status=$?
    granary down >/dev/null 2>&1 || true
    echo $$ >"$home/cgroup.procs"
    rmdir "$group" || status=1
    return $status
}
trap 'leave; finish' EXIT
killed() { sed -n 's/^oom_kill //p' "$group/$kills"; }

echo 100663296 >"$group/$limit" # 96 MiB
granary up --executors 1 --spill-dir "$work/spill" >"$work/up"
grep -q "memory 48.0 MiB, half of the cgroup's limit" "$work/up" || fail "the budget: $(cat "$work/up")"
remember_prefix
head -c 4000000 /dev/urandom >"$work/o"
for i in $(seq 30); do
    { echo "$i"; cat "$work/o"; } >"$work/o.$i"
    granary put "$work/o.$i" >>"$work/ids"
done
granary run --discard --csv libclient/examples/birdstrikes.json >/dev/null
i=0
while read -r id; do
    i=$((i + 1))
    granary get "$id" | same - "$work/o.$i"
done <"$work/ids"
[ "$(killed)" = 0 ] || fail "the kernel killed $(killed)"
granary down >/dev/null

granary up --executors 1 --memory 300M >/dev/null 2>"$work/err"
remember_prefix
grep -q "300.0 MiB is more than cgroup allows, 96.0 MiB" "$work/err" || fail "no warning: $(cat "$work/err")"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
