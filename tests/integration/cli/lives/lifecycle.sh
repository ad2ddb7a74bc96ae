#!/bin/bash
# Instances come and go, and leave nothing: after down, after kill -9 of every process, and when two want one place.
. "$(dirname "$0")/../lib.sh"

# kill_everything: the supervisor first, so that it cannot clean up
kill_everything() {
    local pids
    pids="$(grep -o '"[a-z]*_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$') $(pgrep -f -- "--instance $work/i")"
    # shellcheck disable=SC2086
    kill -9 $pids 2>/dev/null || true
    for pid in $pids; do
        await ended "$pid"
    done
}

granary up --executors 1 >"$work/up"
grep -qE "is up in $work/i \(1 executor; memory .*, (half of|nine tenths of what)" "$work/up" ||
    fail "up says where, and what the budget comes from: $(cat "$work/up")"
remember_prefix
[ -n "$(leftovers)" ] || fail "an instance that is up has processes and shared memory"
expect 1 "is up already .*granary down" granary up
granary status | grep -q '^executors  1' || fail "status"
id=$(granary put $birds)
granary ls | grep -q "$id" || fail "ls"
granary get "${id:0:10}" | cmp - $birds || fail "get by prefix"
granary down | grep -q 'is down' || fail "down"
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
[ ! -e "$work/i" ] || fail "the runtime directory is still there"
expect 3 'no instance is up' granary down
expect 3 'granary up' granary ls

# A directory with files of somebody else is refused; files put next to an instance's outlive it.
mkdir -p "$work/theirs/log"
echo thesis >"$work/theirs/log/thesis"
expect 1 'no instance.s: name one' granary up --instance "$work/theirs"
expect 3 'no instance is up' granary down --instance "$work/theirs"
[ -s "$work/theirs/log/thesis" ] || fail "files that were there before are gone"
granary up --executors 1 >/dev/null
mkdir "$work/i/sub"
echo thesis >"$work/i/sub/thesis"
granary down >/dev/null
[ "$(find "$work/i" -type f)" = "$work/i/sub/thesis" ] || fail "down removed what is not the instance's, or left its own"
rm -r "$work/i"

# Every process killed at once: the next store adopts what they left, also with another budget.
granary up --executors 2 >/dev/null
kept=$(granary put $birds)
granary pin "$kept" >/dev/null
remember_prefix
kill_everything
granary up --executors 1 --memory 64M >/dev/null || fail "up after a crash"
granary get "$kept" | cmp - $birds || fail "an object of a killed instance"
granary pins | grep -q "$kept" || fail "the pin of an object of a killed instance"
granary fsck >/dev/null || fail "fsck after a crash"

# What a store of another release left is refused, not taken away, until somebody says so. The version is the second
# word of the root.
kill_everything
root=/dev/shm/$(tail -n 1 "$work/prefixes")root
printf '\377' | dd of="$root" bs=1 seek=8 conv=notrunc status=none
expect 1 'version .*granary down' granary up --executors 1
[ -e "$root" ] || fail "a refused start took the objects away"
granary down >/dev/null || fail "down after a refused start"
[ -z "$(leftovers)" ] || fail "left behind after a refused start: $(leftovers)"
granary up --executors 1 >/dev/null || fail "up after what was refused is gone"
remember_prefix
[ "$(granary ls --json)" = "[]" ] || fail "objects of an instance that was given up"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind after a crash: $(leftovers)"

# Killed, then only cleaned up.
granary up --executors 1 >/dev/null
remember_prefix
kill_everything
granary down >/dev/null || fail "down after a crash"
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"

# The supervisor alone is killed: its daemons follow, and the next one waits for them, and has the objects.
granary up --executors 1 >/dev/null
remember_prefix
kept=$(granary put $birds)
supervisor=$(grep -o '"supervisor_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$')
kill -9 "$supervisor"
await ended "$supervisor"
granary up --executors 1 >/dev/null || fail "up after the supervisor's death"
granary get "$kept" | cmp - $birds || fail "an object after the supervisor's death"
granary run --discard --csv libclient/examples/damaging.json | grep -qx 'Taxi,2,0,0' || fail "run after the supervisor's death"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"

# Who looks whether an instance is up holds its lock for a moment: up, when it comes upon that, tries again. Here the
# lock is held until up has closed it once (IN_CLOSE_WRITE).
granary up --executors 1 >/dev/null
remember_prefix
kill_everything
python3 - "$work/i/lock" <<'END' || fail "up while somebody looked whether the instance was up"
import ctypes, fcntl, os, subprocess, sys
lock = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(0)
libc.inotify_add_watch(watch, sys.argv[1].encode(), 8)
up = subprocess.Popen(["granary", "up", "--executors", "1"], stdout=subprocess.DEVNULL)
os.read(watch, 4096)
os.close(lock)
sys.exit(up.wait())
END
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"

# The scheduler is killed, and the next one as well while the executors wait for it: the third one serves.
granary up --executors 1 >/dev/null
remember_prefix
first=$(sed 's/.*"sched_pid": \([0-9]*\).*/\1/' "$work/i/instance.json")
kill -9 "$first"
second=$first
for _ in $(seq 1000); do
    [ "${second:-$first}" = "$first" ] || break
    second=$(pgrep -f -- "granary-sched .*--instance $work/i " || true)
done
kill -9 "$second"
for _ in $(seq 1200); do
    granary status >/dev/null 2>&1 && break
    read -r -t 0.05 <> <(:) || true
done
timeout 60 granary run --discard --csv libclient/examples/damaging.json | grep -qx 'Taxi,2,0,0' || fail "run after two killed schedulers"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"

# A store that was started by hand is no instance of `granary up`: down leaves it alone, and cleans up when it is dead.
granary-store --instance "$work/i" --memory 8M >/dev/null 2>&1 &
store=$!
for _ in $(seq 1200); do
    granary put --id-from kept $birds >/dev/null 2>&1 && break
    read -r -t 0.05 <> <(:) || true
done
granary name kept "$(granary ls --json | grep -o '[0-9a-f]\{32\}')"
expect 1 'started by hand' granary down
granary status | grep -qx 'instance .* (no supervisor)' || fail "status of a store without a supervisor: $(granary status)"
granary get name:kept | cmp - $birds || fail "down took a living store's objects away"
kill -9 $store
wait $store 2>/dev/null || true
granary stat name:kept 2>/dev/null | grep -q 1223329 || fail "stat by name of a dead store"
granary down >/dev/null || fail "down after a killed store"
[ ! -e "$work/i" ] || fail "left behind of a killed store: $(ls "$work/i")"

# Spill files go where they are meant to go, or nowhere: a disk that is not mounted is not written beside.
expect 4 "^granary: up: --spill-dir $work/no/dir: $work/no: .*: make it first, or mount its disk" granary up --spill-dir "$work/no/dir"
[ ! -e "$work/no" ] || fail "up made the directory above"
expect 4 "remote-dir" granary up --remote-dir "$work/no/dir"
(cd "$work" && granary up --executors 1 --spill-dir spilled/) >/dev/null
[ -d "$work/spilled" ] || fail "--spill-dir is of the directory that up was called in"
granary down >/dev/null

# `top` ends on q, and leaves the terminal as it was.
granary up --executors 1 >/dev/null
python3 - <<'END' || fail "top and q"
import os, pty, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("granary", ["granary", "top", "--interval", "1h"])
before, said = termios.tcgetattr(terminal), b""
while b"wait for room" not in said:
    said += os.read(terminal, 4096)
os.write(terminal, b"xq")
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass # it has gone
assert os.waitpid(pid, 0)[1] == 0
END
granary down >/dev/null

# The logs of an instance with a name stay until those of the next run; nothing else does.
unset GRANARY_INSTANCE
export XDG_RUNTIME_DIR=$work
for run in first second; do
    granary up --instance "a.$run" --executors 0 >/dev/null
    granary up --instance named --executors 0 >/dev/null
    echo "$run" >>"$work/granary/named/log/store.log"
    granary down --instance named | grep -qF "instance named is down; its logs are in $work/granary/.named.log" || fail "down says where logs are"
    granary down --instance "a.$run" >/dev/null
    grep -qx "$run" "$work/granary/.named.log/store.log" || fail "the logs of the $run run"
done
[ "$(find "$work/granary" -mindepth 1 -maxdepth 1 | sort | tr '\n' ' ')" = \
    "$work/granary/.a.first.log $work/granary/.a.second.log $work/granary/.named.log " ] || fail "left behind: $(ls -A "$work/granary")"
! grep -qx first "$work/granary/.named.log/store.log" || fail "logs add up"

# A private instance lives as long as its run.
granary run --csv libclient/examples/damaging.json | grep -qx 'Taxi,2,0,0' || fail "private run"
[ -z "$(find "$work" -maxdepth 1 -name 'granary-run-*')" ] || fail "the private instance is still there"

# So does one whose run is killed with all of its process group, as `timeout -s KILL` does.
printf '{"nodes": {"a": {"op": "random", "shape": [20000, 2000]}, "b": {"op": "matmul", "inputs": ["a", "c"]},
 "c": {"op": "random", "shape": [2000, 2000]}, "d": {"op": "sum", "input": "b"}}, "targets": ["d"]}' >"$work/long.json"
setsid granary run "$work/long.json" >/dev/null 2>&1 &
started=$!
until [ -n "$(find "$work" -path '*/granary-run-*/instance.json')" ]; do read -r -t 0.02 <> <(:) || true; done
kill -KILL -- "-$started"
wait "$started" || true
for _ in $(seq 1200); do
    [ -n "$(find "$work" -maxdepth 1 -name 'granary-run-*')" ] || break
    read -r -t 0.05 <> <(:) || true
done
[ -z "$(find "$work" -maxdepth 1 -name 'granary-run-*')" ] || fail "the killed private instance is still there"
