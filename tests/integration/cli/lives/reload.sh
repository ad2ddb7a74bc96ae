#!/bin/bash
# Settings change while an instance runs: what can is applied, the rest is named; memory shrinks, grows, and follows pressure.
. "$(dirname "$0")/../lib.sh"
conf=$work/conf
export GRANARY_CONFIG=$conf GRANARY_PRESSURE_FILE=$work/pressure

# capacity BYTES: the store's budget is that
capacity() {
    [ "$(granary status --json | sed 's/.*"capacity_bytes": \([0-9]*\).*/\1/')" = "$1" ]
}

# says PATTERN: `granary reload` does so
says() {
    granary reload >"$work/out" || fail "reload: $(cat "$work/out")"
    grep -qE "$1" "$work/out" || fail "no '$1' in: $(cat "$work/out")"
}

expect 3 'no instance is up' granary reload
echo 'some avg10=0.00 avg60=0.00 avg300=0.00 total=0' >"$work/pressure"
printf 'memory = 64M\nexecutors = 1\n' >"$conf"
GRANARY_RESOURCE=gpu=1 granary up --log info >/dev/null
remember_prefix
says 'nothing has changed'
(echo n; seq 1500000) >"$work/numbers.csv" # with more memory it is cut into fewer chunks
[ "$(granary load before "$work/numbers.csv")" = 'before: 1500000 rows in 4 chunks' ] || fail "chunks with 64M"
granary forget before
printf 'memory = 32M\nexecutors = 1\n' >"$conf"
says 'applied +memory +32M'
[ "$(granary load after "$work/numbers.csv")" = 'after: 1500000 rows in 6 chunks' ] || fail "graphs are planned with what there was"
granary forget after
printf 'memory = 64M\nexecutors = 1\n' >"$conf"
says 'applied +memory +64M'
ids=$(for i in $(seq 12); do head -c 4M /dev/urandom | granary put -; done)

# Less memory: objects go to disk, and can be read. Log and executors change, a level of the command line does not.
printf 'memory = 32M\nexecutors = 2\nlog = debug\nresource = gpu=2\nschedulers = 2\n' >"$conf"
says 'applied +memory +32M'
grep -qE 'applied +executors +2' "$work/out" || fail "executors: $(cat "$work/out")"
grep -qE 'restart +schedulers +2' "$work/out" || fail "what needs a restart: $(cat "$work/out")"
! grep -qE 'resource|log' "$work/out" || fail "what the command line and the environment say: $(cat "$work/out")"
await capacity 33554432
for id in $ids; do
    [ "$(granary get "$id" | wc -c)" = 4194304 ] || fail "object $id after the memory shrank"
done
[ "$(granary executors --json | grep -c '"executor"\|"number"')" -ge 2 ] || fail "executors: $(granary executors)"

# More of it; a store that is started anew has the same.
printf 'memory = 48M\nexecutors = 1\nschedulers = 2\n' >"$conf"
says 'applied +memory +48M'
await capacity 50331648
kill -9 "$(sed 's/.*"store_pid": \([0-9]*\).*/\1/' "$work/i/instance.json")"
await granary ls >/dev/null
await capacity 50331648
granary fsck >/dev/null || fail "fsck after limits changed"

# What is wrong changes nothing; nor does what cannot be.
printf 'memory = 40M\nmemroy = 1\n' >"$conf"
expect 2 "^granary: $conf:2: no setting 'memroy'" granary reload
printf 'memory = 900T\nexecutors = 1\nschedulers = 2\n' >"$conf"
expect 1 'memory: .*does not fit /dev/shm' granary reload
capacity 50331648 || fail "a budget that was refused"
printf 'memory = 48M\nexecutors = 1\nschedulers = 2\npressure = yes\n' >"$conf"
says 'applied +pressure +yes'

# The machine suffers, and then does not: the budget is less, and comes back in steps.
echo 'some avg10=55.00 avg60=0.00 avg300=0.00 total=0' >"$work/pressure"
await grep -q PRESSURE-ON "$work/i/log/supervisor.log"
! capacity 50331648 || fail "a budget under pressure"
echo 'some avg10=0.00 avg60=0.00 avg300=0.00 total=0' >"$work/pressure"
granary get "$(echo "$ids" | head -n 1)" | wc -c | grep -qx 4194304 || fail "an object under pressure"

printf 'memory = 48M\nexecutors = 1\nschedulers = 2\npressure = no\n' >"$conf"
says 'applied +pressure +no'
await capacity 50331648

# What is gone from the file is as it is built in.
printf 'memory = 48M\nexecutors = 1\nschedulers = 2\n' >"$conf"
says 'applied +pressure +what is built in'
granary fsck >/dev/null || fail "fsck after pressure"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
