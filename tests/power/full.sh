#!/bin/bash
# Nothing is left: disk, inodes, shared memory, descriptors, directories, or what limits leave. What needed more says which and where, whatever
# else there is goes on, and when there is room again all of it works. In a mount namespace of its own, as root.
if [ "${1:-}" != inside ]; then
    [ "$(id -u)" = 0 ] || { echo "skipped: only root may mount"; exit 77; }
    unshare -m mount -t tmpfs tmpfs /dev/shm 2>/dev/null || { echo "skipped: no mount namespace is to be had"; exit 77; }
    exec unshare -m bash "$0" inside
fi
mount --make-rprivate /
. "$(dirname "$0")/../integration/cli/lib.sh"
unmount() {
    local status=$?
    granary down >/dev/null 2>&1 || true
    umount -l "$work"/{spill,run,full} 2>/dev/null || true
    return $status
}
trap 'unmount; finish' EXIT
top=libclient/examples/birdstrikes.json
store_up() { granary up --executors 1 --memory 4M --spill-dir "$work/spill" >/dev/null; remember; }
remember() { sed -n 's|.*"shm_prefix": "/\([^"]*\)".*|\1|p' "$GRANARY_INSTANCE/instance.json" >>"$work/prefixes"; }
spill_on() { umount "$work/spill" 2>/dev/null || true; mkdir -p "$work/spill"; mount -t tmpfs -o "$1" tmpfs "$work/spill"; }
pid_of() { sed -n "s/.*\"$1_pid\": \([0-9]*\).*/\1/p" "$GRANARY_INSTANCE/instance.json"; }
await_log() { # DAEMON TEXT
    for _ in $(seq 600); do
        grep -q "$2" "$GRANARY_INSTANCE/log/$1.log" && return
        sleep 0.1
    done
    fail "log/$1.log: no '$2'"
}
granary_again() { # until it succeeds, for a minute
    for _ in $(seq 100); do
        granary "$@" >"$work/again" 2>/dev/null && break
        sleep 0.3
    done
    cat "$work/again"
}
with_few_descriptors() { # COMMAND...: each works, or says what it had not enough of
    for n in 5 6 8 10 13 17 21; do
        for command in "$@"; do
            status=0
            # shellcheck disable=SC2086
            (ulimit -n "$n"; exec granary $command) >/dev/null 2>"$work/err" || status=$?
            [ $status = 0 ] || grep -q "Too many open files" "$work/err" || fail "$n descriptors, $command: $status, $(cat "$work/err")"
            [ $status -le 8 ] || fail "$n descriptors, $command: status $status"
        done
    done
}
fill() { dd if=/dev/zero of="$1" bs=64k 2>/dev/null || true; }
for i in 1 2 3 4 5 6; do head -c 900000 /dev/urandom >"$work/o.$i"; done

# A disk of 4 MiB: what could not be copied says so, and is kept in memory; there is room again when something goes.
spill_on size=4m
store_up
kept=$(granary put --persist "$work/o.1")
fill "$work/spill/foreign"
expect 5 "sealed in memory, but not copied: spill file $work/spill/.*: No space left" granary put --persist "$work/o.2"
granary get "$kept" | same - "$work/o.1"
granary run --discard --csv $top >"$work/top.csv"
rm "$work/spill/foreign"
granary put --persist "$work/o.3" >/dev/null
granary down >/dev/null

# With another directory beside it nobody hears of it: what does not fit goes there, and who asks is told.
spill_on size=3m
granary up --executors 1 --memory 4M --spill-dir "$work/spill" --spill-dir "$work/large" >/dev/null
remember
for n in $(seq 18); do granary put "$work/o.$((n % 6 + 1))"; done >"$work/many"
for n in 1 2; do granary put --persist "$work/o.$n"; done >>"$work/many"
granary status | grep -q "in $work/spill/.*writing fails: EFULL" || fail "status: $(granary status)"
granary doctor >"$work/doctor" || true
grep -q "$work/spill/.*could not be written (EFULL): others take" "$work/doctor" || fail "doctor: $(cat "$work/doctor")"
for n in $(seq 18); do granary get "$(sed -n "${n}p" "$work/many")" | same - "$work/o.$((n % 6 + 1))"; done
granary fsck --verify >/dev/null
granary down >/dev/null

# The same of inodes, and of a disk that became read-only; without any, an executor's logs are gone and nothing else.
spill_on size=20m,nr_inodes=5
store_up
kept=$(granary put --persist "$work/o.1")
granary put --persist "$work/o.2" >/dev/null
granary put --persist "$work/o.3" >/dev/null || true
expect 5 "spill file .*: create: No space left" granary put --persist "$work/o.4"
granary rm "$kept"
for _ in $(seq 200); do granary put --persist "$work/o.5" >/dev/null 2>&1 && break; done
granary put "$work/o.6" >/dev/null
mount -o remount,ro "$work/spill"
expect 7 "spill file .*: create: Read-only file system" granary put --persist "$work/o.6"
granary status >/dev/null
mount -o remount,rw "$work/spill"
granary down >/dev/null

# The directory is removed: what was in it is refused by name, and there is a new one.
spill_on size=20m
store_up
lost=$(granary put --persist "$work/o.1")
granary move "$lost" --from memory >/dev/null
rm -rf "$work"/spill/*
expect 8 "object $lost: spill file .*: No such file" granary get "$lost"
granary put --persist "$work/o.2" >/dev/null
granary down >/dev/null

# Shared memory that others fill: who comes anew is refused, who is there goes on.
mount -t tmpfs -o size=24m tmpfs /dev/shm
granary up --executors 1 --memory 12M --spill-dir "$work/spill" >/dev/null
fill /dev/shm/foreign
expect 5 "shared memory .*: No space left" granary put "$work/o.1"
rm /dev/shm/foreign
granary put "$work/o.1" >/dev/null
granary run --discard --csv $top | same - "$work/top.csv"

# Neither is a store that dies then: the next one has what there was, though the budget would not fit.
kept=$(granary put "$work/o.1")
store=$(pid_of store)
fill /dev/shm/foreign
kill -9 "$store"
await_log store MEMORY-SHORT
rm /dev/shm/foreign
granary get "$kept" | same - "$work/o.1"
granary down >/dev/null
fill /dev/shm/foreign
expect 5 "up: .*shared memory .*: No space left" granary up --executors 1 --memory 4M
umount /dev/shm

# Tables and channels: a write on commit that has no disk is visible, and says so; the next one that has comes to disk with it. Where
# shared memory is full, nothing of an append is there, and the rest goes on.
spill_on size=3m
mount -t tmpfs -o size=24m tmpfs /dev/shm
store_up
granary table create kept n:int64 s:string --durable commit
granary table create passing n:int64
granary channel create news
append() { seq "$2" "$3" | sed '1i n' | granary table append "$1" >/dev/null; }
rows() { granary table read "$1" --csv | tail -n +2 | wc -l; }
printf 'n,s\n1,x\n' | granary table append kept >/dev/null
fill "$work/spill/foreign"
expect 5 "visible to readers, but not on disk yet: .*No space left" bash -c "printf 'n,s\n2,y\n' | granary table append kept"
[ "$(rows kept)" = 2 ] || fail "rows: $(granary table read kept)"
rm "$work/spill/foreign"
printf 'n,s\n3,z\n' | granary_again table append kept >/dev/null
append passing 1 100
fill /dev/shm/foreign
expect 5 "shared memory .*: No space left" granary channel put news never
truncate -s -500K /dev/shm/foreign # for who connects, and no more
status=0
append passing 101 600000 2>"$work/err" || status=$?
[ $status = 5 ] || fail "append without shared memory: $status, $(cat "$work/err")"
[ "$(rows passing)" = 100 ] || fail "rows of a failed append: $(rows passing)"
rm /dev/shm/foreign
granary channel put news hello
append passing 101 200
[ "$(rows passing)" = 200 ] || fail "rows: $(rows passing)"
[ "$(granary channel get news)" = hello ] || fail "a message is lost"
with_few_descriptors "table read passing" "channel put news hello" "table list"
granary down >/dev/null
store_up
[ "$(granary table read kept --csv | tail -n +2 | sort | tr '\n' ' ')" = "1,x 2,y 3,z " ] || fail "kept: $(granary table read kept --csv)"
granary table delete kept
granary down >/dev/null
umount /dev/shm

# A store that cannot be started anew for want of inodes is tried again until there are some.
spill_on size=20m,nr_inodes=8
store_up
kept=$(granary put "$work/o.1")
store=$(pid_of store)
rm -rf "$work"/spill/*
for i in $(seq 8); do : 2>/dev/null >"$work/spill/foreign.$i" || true; done
kill -9 "$store"
await_log supervisor "it is tried again"
rm -f "$work"/spill/foreign.*
granary_again get "$kept" | same - "$work/o.1"
granary down >/dev/null
spill_on size=20m

# The scheduler's disk: new graphs are refused with the reason until there is room.
mkdir "$work/run"
mount -t tmpfs -o size=1m tmpfs "$work/run"
here=$GRANARY_INSTANCE
export GRANARY_INSTANCE=$work/run/i
store_up
fill "$work/run/foreign"
expect 5 "state .*state.db: disk full .*: make room on its file system" granary run --csv $top
granary put "$work/o.1" >/dev/null
rm "$work/run/foreign"
for _ in $(seq 200); do granary run --discard --csv $top >"$work/again.csv" 2>/dev/null && break; done
same "$work/again.csv" "$work/top.csv"

# The runtime directory is removed: the instance ends, and the next one in its place has its objects.
kept=$(granary put "$work/o.2")
supervisor=$(sed -n 's/.*"supervisor_pid": \([0-9]*\).*/\1/p' "$work/run/i/instance.json")
rm -rf "$work/run/i"
await ended "$supervisor"
store_up
granary get "$kept" | same - "$work/o.2"

# Few descriptors: an error that says so, whatever they are for.
with_few_descriptors "put $work/o.3" "run --discard --csv $top"
granary down >/dev/null

# Limits of one process at a time (setrlimit): whoever it is, it lives, or is replaced; who asks gets the result or an error
# that says what is short; without the limit all works again.
limited() { # LIMIT=SOFT LIMIT=SOFT_AFTER MESSAGES WHO...
    local who pid status before
    for who in "${@:4}"; do
        store_up
        before=$(daemon_pids)
        pid=$(echo "$before" | sed -n "s/^$who //p")
        prlimit --pid "$pid" "--$1:"
        for command in "run --discard --csv $top" "put --persist $work/o.1" "session create limited"; do
            status=0
            # shellcheck disable=SC2086
            timeout 60 granary $command >"$work/out" 2>"$work/err" || status=$?
            [ $status = 0 ] || grep -qE "$3" "$work/err" || fail "$who with $1, $command: $status, $(cat "$work/err")"
            [ $status -le 8 ] || fail "$who with $1, $command: status $status"
        done
        prlimit --pid "$pid" "--$2:" 2>/dev/null || replaced "$who" "$1"
        granary run --discard --csv $top | same - "$work/top.csv"
        [ "$before" = "$(daemon_pids)" ] || replaced "$who" "$1"
        granary down >/dev/null
    done
}
replaced() { # WHO LIMIT: a scheduler that cannot note what it has begun ends, and says so; the next one goes on from the state
    [ "$1" = sched ] && grep -q OUT-OF-MEMORY "$GRANARY_INSTANCE/log/sched.log" && return
    tail -n 20 "$GRANARY_INSTANCE"/log/*.log >&2
    fail "$1 with $2: it has ended"
}
daemon_pids() {
    granary status --json | python3 -c 'import json, sys
told = json.load(sys.stdin)
for daemon in told["daemons"] + [{"name": "executor", "pid": told["executors"][0]["pid"]}]:
    print(daemon["name"], daemon["pid"])'
}
for bytes in 0 500000; do
    limited fsize=$bytes fsize=unlimited "File too large: raise the limit|state.db: .*no limit .ulimit -f. stops the file" \
        store sched pool executor
done
grep -aq __asan_init "$GRANARY_BIN/granary-store" || # whose shadow has terabytes
    limited as=1 as=unlimited "Cannot allocate memory|no memory|out of memory" store sched pool executor
# The scheduler's: tests/security/hostile_sched.py
limited nofile=20 nofile=1000 "Too many open files" store
limited nofile=8 nofile=1000 "Too many open files" pool executor

# From the beginning: an instance says what it needs; a command's file ends where it may, and is named.
for size in 8 10000; do
    expect 5 "File too large: raise the limit .ulimit -f" bash -c "ulimit -f $size; exec granary up --executors 1 --memory 4M"
done
store_up
kept=$(granary put "$work/o.1")
for command in get export; do
    expect 5 "$work/cut: .*File too large" bash -c "ulimit -f 100; exec granary $command $kept -o $work/cut"
    expect 5 "$work/cut: .*File too large" bash -c "ulimit -f 100; exec granary $command $kept >$work/cut"
done
granary down >/dev/null

# Output that cannot be written: the file is named, and no half of it is left.
export GRANARY_INSTANCE=$here
mkdir "$work/full"
mount -t tmpfs -o size=64k tmpfs "$work/full"
store_up
cat >"$work/write.json" <<JSON
{"nodes": {"r": {"op": "read_csv", "path": "$PWD/$birds"}, "w": {"op": "write_csv", "input": "r", "path": "$work/full/o.csv"}}}
JSON
expect 5 "write_csv.*$work/full/o.csv: No space left|file_write.*$work/full/o.csv: No space left" granary run "$work/write.json"
sed -i "s/write_csv/write_parquet/; s/o.csv/o.parquet/; s/\"input\"/\"compression\": \"none\", \"input\"/" "$work/write.json"
expect 5 "$work/full/o.parquet: No space left" granary run "$work/write.json"
[ -z "$(ls "$work/full")" ] || fail "left: $(ls "$work/full")"
printf 'i\n1\n2\n' >"$work/full/kept.csv" # one that is there stays as it is
cp "$work/full/kept.csv" "$work/kept.csv"
for file in kept.csv kept.parquet; do
    expect 5 "$work/full/$file: No space left" granary sql \
        "COPY (SELECT g AS i, random() AS r FROM generate_series(1, 30000) t(g)) TO '$work/full/$file'"
done
same "$work/full/kept.csv" "$work/kept.csv"
[ "$(ls "$work/full")" = kept.csv ] || fail "left: $(ls "$work/full")"
rm "$work/full/kept.csv"
kept=$(granary put "$work/o.1")
expect 5 "$work/full/x: write: No space left" granary get "$kept" -o "$work/full/x"
expect 5 "stdout: .*No space left" bash -c "granary get $kept >/dev/full"
expect 5 "stdout: .*No space left" bash -c "granary export $kept >/dev/full"
expect 5 "$work/full/x: .*No space left" bash -c "granary export $kept >$work/full/x"
granary down >/dev/null
umount "$work/spill" "$work/run" "$work/full"
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
