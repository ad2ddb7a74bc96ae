#!/bin/bash
# A table is replaced in one moment: who reads it gets the old one or the new one, and what fails or is interrupted changes
# nothing.
. "$(dirname "$0")/../cli/lib.sh"

granary up --executors 2 --memory 128M >/dev/null
remember_prefix

# version N: a file of 50,000 rows whose values are all N
version() { awk -v n="$1" 'BEGIN { print "id,v"; for (i = 0; i < 50000; i++) print i "," n }'; }
version 1 >"$work/1.csv"
version 2 >"$work/2.csv"
granary load t "$work/1.csv" >/dev/null

# What cannot be loaded leaves the old table, and nothing else.
expect 4 "No such file" granary load --replace t "$work/none.csv"
printf '%s\n' id,v 1,2 2,2 3,2 4,2 5,2 6,2 7,2 8,2 9,2 10 >"$work/ragged.csv"
expect 2 "record has 1 field" granary load --replace t "$work/ragged.csv"
[ "$(granary sql --csv 'select count(*) from t' | tail -n 1)" = 50000 ] || fail "the old table is gone"
[ "$(granary graphs --json | grep -c '"key"')" = 1 ] || fail "left behind: $(granary graphs)"

# Readers in one loop, replacements in the other.
readers() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        granary sql --csv 'select v, count(*) as n from t group by v' >>"$work/read" 2>&1 || echo "FAILED" >>"$work/read"
        granary sql --csv -o "$work/rows$1.csv" 'select * from t' >>"$work/read" 2>&1 || echo "FAILED" >>"$work/read"
        cmp -s "$work/rows$1.csv" "$work/1.csv" || cmp -s "$work/rows$1.csv" "$work/2.csv" || echo "MIXED" >>"$work/read"
    done
}
readers a & first=$!
readers b & second=$!
for file in 2 1 2 1 2 1 2 1; do
    granary load --replace t "$work/$file.csv" >/dev/null || fail "replace by $file"
done
wait $first $second
grep -vxE 'v,n|[12],50000' "$work/read" && fail "a reader got something else"
[ "$(granary graphs --json | grep -c '"key"')" = 1 ] || fail "left behind: $(granary graphs)"

# executors COMMAND...: of each; they are halted, so what is loaded stays under way
# shellcheck disable=SC2046
executors() { "$@" $(granary executors --json | sed -n 's/.*"pid": \([0-9]*\).*/\1/p'); }
# under_way N: so many graphs run
under_way() { [ "$(granary graphs --state running --json | grep -c '"key"')" = "$1" ]; }

# While a table is loaded it is called that, also where a file of its name lies in the directory; interrupted, it is forgotten.
cp "$work/1.csv" "$work/new.csv"
executors halt
env --default-signal=INT granary load new "$work/1.csv" >"$work/out" 2>&1 & loading=$!
await under_way 1
cd "$work"
expect 1 "table 'new': it is still being loaded: .granary await new. waits for it" granary sql "select * from new"
expect 1 "there is a table or graph of that name, which is still being made" granary load new 1.csv
cd - >/dev/null
kill -INT $loading
await under_way 0
executors kill -CONT
status=0
wait $loading || status=$?
[ $status = 130 ] || fail "load: it was interrupted: $status"
grep -qx 'granary: load new: interrupted: its graph is cancelled, and nothing of it is kept' "$work/out" || fail "load: $(cat "$work/out")"
[ "$(granary graphs --json | grep -c '"key"')" = 1 ] || fail "left behind: $(granary graphs)"

# So is a query, which leaves nothing either.
executors halt
env --default-signal=INT granary sql 'select sum(v) from t' >"$work/out" 2>&1 & query=$!
await under_way 1
kill -INT $query
await under_way 0
executors kill -CONT
status=0
wait $query || status=$?
[ $status = 130 ] || fail "sql: it was interrupted: $status"
grep -qx 'granary: sql: interrupted: its graph is cancelled, and nothing of it is kept' "$work/out" || fail "sql: $(cat "$work/out")"
[ "$(granary graphs --json | grep -c '"key"')" = 1 ] || fail "left behind: $(granary graphs)"
[ -z "$(granary pins --json | grep '"object"' || true)" ] || fail "left pins: $(granary pins)"

# only_tables N: no graph but so many tables is known
only_tables() { [ "$(granary graphs --json | grep -c '"key"')" = "$1" ]; }

# The first of several statements, where the command alone is sent the signal, and where its process group is.
for group in '' -; do
    executors halt
    setsid env --default-signal=INT granary sql 'select sum(v) from t; select 1' >"$work/out" 2>&1 & query=$!
    await under_way 1
    kill -INT -- "$group$query"
    await under_way 0 # else it may end before the signal has come
    executors kill -CONT
    status=0
    wait $query || status=$?
    [ $status = 130 ] || fail "statements: interrupted: $status, $(cat "$work/out")"
    grep -qx 'granary: sql: interrupted: its graph is cancelled, and nothing of it is kept' "$work/out" || fail "statements: $(cat "$work/out")"
done

# A graph ends with its command, also when the process beside it is killed, too; and when the scheduler has no answer until then.
executors halt
granary sql 'select sum(v) from t' >/dev/null 2>&1 & query=$!
await under_way 1
kill -KILL "$(pgrep -P $query)" $query
wait $query 2>/dev/null && fail "sql: it was killed"
executors kill -CONT
await only_tables 1
executors halt
env --default-signal=INT granary sql 'select sum(v) from t' >"$work/out" 2>&1 & query=$!
await under_way 1
scheduler=$(awk '{ print $1 }' "$work/i/sched.lock")
halt "$scheduler"
kill -KILL "$(pgrep -P $query)"
kill -INT $query
wait $query 2>/dev/null && fail "sql: it was interrupted"
kill -CONT "$scheduler"
executors kill -CONT
await only_tables 1
granary load new "$work/2.csv" >/dev/null || fail "loaded again"
[ "$(granary sql --csv 'select max(v) from new' | tail -n 1)" = 2 ] || fail "the second file's"

# The same of a replacement: the old table stays, and can be read meanwhile.
executors halt
env --default-signal=INT granary load --replace new "$work/1.csv" >"$work/out" 2>&1 & loading=$!
await under_way 1
granary results new table >/dev/null || fail "the old table while it is replaced"
kill -INT $loading
await under_way 0
executors kill -CONT
wait $loading && fail "load: it was interrupted"
grep -q "nothing of it is kept; 'new' is what it was$" "$work/out" || fail "load: $(cat "$work/out")"
executors halt
env --default-signal=INT granary load --replace new "$work/1.csv" >"$work/out" 2>&1 & loading=$!
await under_way 1
kill -KILL $loading
wait $loading 2>/dev/null && fail "load: it was killed"
executors kill -CONT
await under_way 0
[ "$(granary sql --csv 'select max(v) from new' | tail -n 1)" = 2 ] || fail "the old table is gone"

# The switch outlives the scheduler.
granary load --replace new "$work/1.csv" >/dev/null
kill -KILL "$(awk '{ print $1 }' "$work/i/sched.lock")"
[ "$(granary sql --csv 'select max(v) from new' | tail -n 1)" = 1 ] || fail "after a restart of the scheduler"
granary forget new t
[ "$(granary graphs --json | grep -c '"key"')" = 0 ] || fail "left behind: $(granary graphs)"

# A scheduler is killed while a replaced table is still read: the reader gets all of the old one, which goes then, and not before.
granary load old "$work/1.csv" >/dev/null
object=$(granary results old table --json | grep -oE '[0-9a-f]{32}' | head -n 1)
cat >"$work/late.json" <<END
{"nodes": {"old": {"op": "table", "name": "old"},
           "wait": {"op": "exec", "command": ["/bin/sh", "-c", "until [ -e $work/go ]; do sleep 0.02; done"]},
           "read": {"op": "exec", "command": ["/bin/sh", "-c", "cat /dev/fd/4 | wc -c >$work/late"], "inputs": ["wait", "old"]}},
 "targets": ["read"]}
END
granary run --keep late "$work/late.json" >/dev/null & reading=$!
until granary graphs | grep -q '^late'; do kill -0 $reading; done
granary load --replace old "$work/2.csv" >/dev/null
for _ in 1 2; do
    kill -KILL "$(awk '{ print $1 }' "$work/i/sched.lock")"
    granary graphs | grep -q '^late *default *running' || fail "the reader: $(granary graphs)"
    granary stat "$object" >/dev/null || fail "the old table went while it was read"
done
touch "$work/go"
wait $reading || fail "the reader failed"
[ "$(cat "$work/late")" -gt 100000 ] || fail "the reader: $(cat "$work/late")"
for ((i = 0; i < 600; i++)); do
    granary stat "$object" >/dev/null 2>&1 || break
    sleep 0.05
done
expect 4 'not found' granary stat "$object"
granary forget late
granary forget old

# On a terminal it shows how far it is.
script -qec "granary load shown $work/1.csv" /dev/null >"$work/screen"
grep -q 'subtasks' "$work/screen" || fail "no progress: $(cat "$work/screen")"
granary down >/dev/null
left=$(leftovers)
[ -z "$left" ] || fail "left behind: $left"
