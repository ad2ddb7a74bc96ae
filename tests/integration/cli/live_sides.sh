#!/bin/bash
# What a live query joins its table with is replaced: results are of one state of the data, never of two.
. "$(dirname "$0")/lib.sh"

sql() { granary sql --csv "$@"; }
# results COUNT: wait until there are so many
results() {
    for _ in $(seq 3000); do
        [ "$(wc -l <"$work/out")" -lt "$1" ] || return 0
        kill -0 "$live" || fail "the live query ended: $(cat "$work/err")"
        sleep 0.01
    done
    fail "result $1 did not come: $(cat "$work/out")"
}
last() { tail -1 "$work/out" | grep -o '"result": .*' | grep -o '{[^}]*}' | sed 's/[{}"]//g; s/n://; s/s://' | sort; }
now() { sql "$query" | tail -n +2 | sort; }
begin() { # begin QUERY
    query=$1
    : >"$work/out"
    granary live --every 10ms --json "$query" >"$work/out" 2>"$work/err" &
    live=$!
    results 1
}
end() {
    kill -TERM "$live" # in the background, SIGINT is ignored
    wait "$live" || true
}
is_right() {
    [ "$(last)" = "$(now)" ] || fail "live: $(last); now: $(now)"
}

granary up --executors 2 >/dev/null
remember_prefix
printf 'k,n\na,A\nb,B\n' >"$work/side.csv"
granary load side "$work/side.csv" >/dev/null
granary sql "create table e (k text, v bigint)" >/dev/null
granary sql "insert into e values ('a', 1), ('b', 2)" >/dev/null

begin "select n, sum(v) as s from e join side on e.k = side.k group by n"
granary sql "insert into e values ('a', 5)" >/dev/null
results 2
is_right
grep -q '"anew": false' <(tail -1 "$work/out") || fail "all rows were read: $(tail -1 "$work/out")"
printf 'k,n\na,AA\nb,BB\n' >"$work/side.csv"
granary load --replace side "$work/side.csv" >/dev/null
granary sql "insert into e values ('a', 7)" >/dev/null
results 3
is_right
granary sql "insert into e values ('b', 1)" >/dev/null
results 4
is_right
grep -q '"anew": false' <(tail -1 "$work/out") || fail "all rows were read again: $(tail -1 "$work/out")"
end

# A file, and a table that stands second and was empty when the query began: its new rows alone are read.
begin "select n, sum(v) as s from e join '$work/side.csv' f on e.k = f.k group by n"
printf 'k,n\na,X\nb,Y\n' >"$work/side.csv"
granary sql "insert into e values ('a', 9)" >/dev/null
results 2
is_right
end
granary sql "create table late (k text, v bigint)" >/dev/null
begin "select side.n, sum(v) as s from side join late on late.k = side.k group by side.n"
for n in 2 3 4; do
    granary sql "insert into late select k, v from e" >/dev/null
    results "$n"
    is_right
done
grep -q '"rows_read": 6, "added": false, "anew": false' <(tail -1 "$work/out") || fail "rows read: $(tail -1 "$work/out")"
end
expect 2 'a live query is a SELECT' granary live "insert into e values ('a', 1)"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
