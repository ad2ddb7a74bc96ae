#!/bin/bash
# What was computed is not computed again, and never wrong: each thing that decides a result is changed in turn.
. "$(dirname "$0")/../lib.sh"
unset GRANARY_RECALL

uses() { # uses [KIND]: of results, or of steps
    granary recall list --json | tr '{' '\n' | { grep "\"kind\": \"${1:-result}\"" || true; } |
        { grep -o '"uses": [0-9]*' || true; } | awk '{n += $2} END {print n + 0}'
}
recalled() { # recalled COUNT COMMAND...: it recalls so many results
    local before count=$1
    shift
    before=$(uses)
    "$@" >"$work/out"
    [ $(($(uses) - before)) = "$count" ] || fail "'$*': recalled $(($(uses) - before)) times, not $count"
}
settle() { touch -d '1 hour ago' "$@" && sleep_until_settled "$@"; }
# A file's ctime cannot be set: one that was there for 2 s is settled.
sleep_until_settled() {
    /usr/bin/python3 - "$@" <<'PY'
import os, sys, time
latest = max(max(os.stat(f).st_ctime, os.stat(f).st_mtime) for f in sys.argv[1:])
time.sleep(max(0, latest + 2.05 - time.time()))
PY
}
sql() { granary sql --csv "$@"; }

granary up --executors 2 --memory 64M --spill-dir "$work/spill" >/dev/null
remember_prefix
cp $birds "$work/birds.csv"
cp $birds "$work/other.csv"
seq -f 'x%g' 1 50000 | sed '1s/^/text\n/' >"$work/long.csv"
sleep_until_settled "$work/birds.csv" "$work/long.csv"
count="select count(*) as n, min(\"Airport Name\") as least from '$work/birds.csv'"

# The same again, by another text, from another process; not by another question, nor by one of another parameter.
sql "$count" >"$work/first"
recalled 1 sql "$count"
same "$work/out" "$work/first"
recalled 1 sql "SELECT count(*)   AS n, min(\"Airport Name\") AS least
                FROM '$work/birds.csv'"
same "$work/out" "$work/first"
recalled 0 sql "select count(*) as n, max(\"Airport Name\") as least from '$work/birds.csv'"
recalled 0 sql --no-recall "$count"
GRANARY_RECALL=off recalled 0 sql "$count"
sql --explain "$count" | grep -q '^recalled: ' || fail "--explain does not say so"
sql --explain --no-recall "$count" | grep -q '^recalled: ' && fail "--explain of what is computed says that it is recalled"
granary sql --analyze "$count" | grep -q '^recalled: ' && fail "--analyze measures nothing"

# Another file under the name, the same file under another name, a change of the same size, and one while it is read.
mv "$work/other.csv" "$work/birds.csv"
recalled 0 sql "$count" # it is another one, of the same bytes
sleep_until_settled "$work/birds.csv"
sql "$count" >/dev/null
mv "$work/birds.csv" "$work/moved.csv"
sleep_until_settled "$work/moved.csv" # a renamed file has a new ctime
sql "${count/birds.csv/moved.csv}" >/dev/null
recalled 1 sql "${count/birds.csv/moved.csv}"
ln "$work/moved.csv" "$work/link.csv"
sleep_until_settled "$work/moved.csv"
sql "${count/birds.csv/moved.csv}" >/dev/null
recalled 1 sql "${count/birds.csv/link.csv}"
printf 'n\n1\n2\n' >"$work/small.csv"
sleep_until_settled "$work/small.csv"
sum="select sum(n) as s from '$work/small.csv'"
[ "$(sql "$sum" | tail -1)" = 3 ] || fail "the sum of 1 and 2"
printf 'n\n1\n7\n' >"$work/small.csv" # as large, within a tick or not
[ "$(sql "$sum" | tail -1)" = 8 ] || fail "a rewritten file was recalled"
printf 'n\n5\n7\n' >"$work/small.csv"
[ "$(sql "$sum" | tail -1)" = 12 ] || fail "a file that was read within 2 s of a change was recalled"

# A folder is the names of its files, and what each of these is.
mkdir -p "$work/folder/k=1" "$work/folder/k=2"
printf 'n\n1\n' >"$work/folder/k=1/a.csv"
printf 'n\n2\n' >"$work/folder/k=2/a.csv"
total="select sum(n * k) as s from '$work/folder/*/*.csv'"
one="select sum(n * k) as s from '$work/folder/' where k = 1"
sleep_until_settled "$work"/folder/*/*
[ "$(sql "$total" | tail -1)" = 5 ] || fail "the sum of a folder"
[ "$(sql "$one" | tail -1)" = 1 ] || fail "the sum of a part of a folder"
recalled 1 sql "$total"
recalled 1 sql "$one"
[ "$(tail -1 "$work/out")" = 1 ] || fail "the sum of a part of a folder, recalled"
printf 'n\n5\n' >"$work/folder/k=1/b.csv"
sleep_until_settled "$work"/folder/*/*
recalled 0 sql "$total"
[ "$(tail -1 "$work/out")" = 10 ] || fail "a folder with another file was recalled"
recalled 1 sql "$total"
printf 'n\n7\n' >"$work/folder/k=1/b.csv"
sleep_until_settled "$work"/folder/*/*
recalled 0 sql "$total"
[ "$(tail -1 "$work/out")" = 12 ] || fail "a folder with a changed file was recalled"
mv "$work/folder/k=1/b.csv" "$work/folder/k=2/b.csv"
sleep_until_settled "$work"/folder/*/*
recalled 0 sql "$total"
[ "$(tail -1 "$work/out")" = 19 ] || fail "a folder whose file has moved was recalled"
rm "$work/folder/k=2/b.csv"
recalled 1 sql "$total" # as it was at first
[ "$(tail -1 "$work/out")" = 5 ] || fail "a folder without a file was recalled"

# Tables: their own rows, others of the same name, two loads of one file.
granary load t "$work/moved.csv" >/dev/null
recalled 1 granary load u "$work/moved.csv"
sql "select count(*) as n from t" >"$work/first"
recalled 1 sql "select count(*) as n from u"
same "$work/out" "$work/first"
granary forget t
recalled 1 sql "select count(*) as n from u"
same "$work/out" "$work/first"
granary load --replace u "$work/long.csv" >/dev/null
recalled 0 sql "select count(*) as n from u"
[ "$(tail -1 "$work/out")" = 50000 ] || fail "the table that took the place of another"
granary sql "create table m (n bigint)" >/dev/null
granary sql "insert into m values (1), (2)" >/dev/null
[ "$(sql 'select sum(n) as s from m' | tail -1)" = 3 ] || fail "the sum of a table that changes"
granary sql "insert into m values (3)" >/dev/null
recalled 0 sql 'select sum(n) as s from m'
[ "$(tail -1 "$work/out")" = 6 ] || fail "a table that changed was recalled"
recalled 1 sql 'select sum(n) as s from m'
[ "$(tail -1 "$work/out")" = 6 ] || fail "a table that did not change"
objects=$(granary ls --json | grep -c '"id"')
for _ in 1 2 3 4 5; do
    recalled 1 sql 'select sum(n) as s from m'
done
for _ in $(seq 1000); do # snapshots that nobody needs go behind the answer
    left=$(granary ls --json | grep -c '"id"')
    [ "$left" -gt "$objects" ] || break
done
[ "$left" -le "$objects" ] || fail "recalled queries left $((left - objects)) snapshots"
granary sql "delete from m where n = 3" >/dev/null
recalled 0 sql 'select sum(n) as s from m'
[ "$(tail -1 "$work/out")" = 3 ] || fail "a table whose row was deleted"
granary sql "drop table m" >/dev/null
granary sql "create table m (n bigint)" >/dev/null
granary sql "insert into m values (9)" >/dev/null
recalled 0 sql 'select sum(n) as s from m'
[ "$(tail -1 "$work/out")" = 9 ] || fail "another table of the name"

# Chunks that anybody deleted: what was recalled is computed again, and can be recalled again.
granary sql --keep kept "select text from u where text like 'x1%'" >/dev/null
chunk=$(granary meta kept --chunks --json --fields id | grep -o '[0-9a-f]\{32\}' | head -1)
granary rm "$chunk"
recalled 0 sql "select text from u where text like 'x1%'"
[ "$(wc -l <"$work/out")" = 11112 ] || fail "$(wc -l <"$work/out") lines instead of 11112"
recalled 1 sql "select text from u where text like 'x1%'"

# A spilled chunk comes back. One whose file is damaged is an error once, and computed again from then on.
part="select text, length(text) as n from u where text like 'x2%'"
sql "$part" >"$work/first"
granary sql --keep spilt "$part" >/dev/null 2>&1
chunk=$(granary meta spilt --chunks --json --fields id | grep -o '[0-9a-f]\{32\}' | head -1)
granary move --from memory "$chunk"
recalled 1 sql "$part"
same "$work/out" "$work/first"
granary move --from memory "$chunk"
find "$work/spill" -type f -size +4k | while read -r file; do
    for part_of in 1 2 3 4 5 6 7; do
        flip "$file" $(($(stat -c %s "$file") * part_of / 8))
    done
done
sql "$part" >/dev/null 2>"$work/err" && fail "a damaged chunk was read"
sql "$part" >"$work/out"
same "$work/out" "$work/first"
recalled 1 sql "$part"

# Another session has nothing of it.
granary session create other
GRANARY_SESSION=other recalled 0 sql "$sum"

# A scheduler that dies: the next one knows what there is, and what others have of it.
sleep_until_settled "$work/small.csv"
sql "$sum" >/dev/null
granary sql --keep mine "$sum" >/dev/null 2>&1
before=$(uses)
kill -9 "$(sed -n 's/.*"sched_pid": \([0-9]*\).*/\1/p' "$work/i/instance.json")"
granary await mine >/dev/null
recalled 1 sql "$sum"
[ "$(sql 'select s from mine' | tail -1)" = 12 ] || fail "what was recalled before the scheduler died"
granary recall clear | grep -q forgotten || fail "clear"
[ "$(sql 'select s from mine' | tail -1)" = 12 ] || fail "clear has taken what a table has"
[ "$before" -gt 0 ] || fail "no uses"

# Off and on, over a scheduler's death; memory that recalled results take is given back.
granary recall off
sql "$sum" >/dev/null
recalled 0 sql "$sum"
kill -9 "$(sed -n 's/.*"sched_pid": \([0-9]*\).*/\1/p' "$work/i/instance.json")"
granary await mine >/dev/null
recalled 0 sql "$sum"
granary recall list --json | grep -q '"key"' && fail "something is recalled although it is off" || true
granary recall on
sql "$sum" >/dev/null
recalled 1 sql "$sum"

# Results of more than an eighth of memory in all: the least worthy go.
for i in $(seq 60); do
    sql "select text, length(text) + $i as n from u" >/dev/null
done
held=$(granary recall list --json | /usr/bin/python3 -c 'import json, sys
print(sum(row["bytes"] for row in json.load(sys.stdin) if row["held"]))')
[ "$held" -le $((64 << 20 >> 3)) ] || fail "recalled results have $held bytes"
[ "$held" -gt 0 ] || fail "nothing is held"
expect 2 'list, clear, save, on or off' granary recall away
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
