#!/bin/bash
# Parts of a query that another one has computed are read, and never wrong: what decides them is changed in turn.
. "$(dirname "$0")/../lib.sh"
export GRANARY_RECALL=eager # small files take no time: keep all steps

settle() {
    /usr/bin/python3 - "$@" <<'PY'
import os, sys, time
latest = max(max(os.stat(f).st_ctime, os.stat(f).st_mtime) for f in sys.argv[1:])
time.sleep(max(0, latest + 2.05 - time.time()))
PY
}
sql() { granary sql --csv "$@"; }
# part STEP QUERY: of its steps but files that is what was recalled, or of files when STEP is one; and it answers as
# without recall
part() {
    local step=$1 query=$2 found
    granary sql --explain "$query" >"$work/explain"
    found=$(sed -n "s/^  recalled: '[^']*' (\([a-z_]*\)), from graph.*/\1/p" "$work/explain" | sort -u)
    [ "$step" = read_csv ] || found=$(echo "$found" | grep -v read_csv || true)
    [ "$(echo "$found" | tr -d '\n')" = "$step" ] || fail "'$query': recalled '$found', not '$step': $(cat "$work/explain")"
    sql "$query" >"$work/out"
    sql --no-recall "$query" >"$work/want"
    same "$work/out" "$work/want"
}
ids() { granary ls --json | grep -o '"id": "[0-9a-f]*"' | grep -o '[0-9a-f]\{32\}'; }

granary up --executors 2 --memory 64M --spill-dir "$work/spill" >/dev/null
remember_prefix
/usr/bin/python3 - "$work" <<'PY'
import sys
with open(sys.argv[1] + '/sales.csv', 'w') as sales:
    sales.write('shop,amount,tax,day\n')
    sales.writelines(f'{i * 7 % 50},{i % 911 / 4},{i % 13},{i % 365}\n' for i in range(40000))
with open(sys.argv[1] + '/shops.csv', 'w') as shops:
    shops.write('shop,town\n')
    shops.writelines(f'{i},town {i % 6}\n' for i in range(50))
PY
settle "$work/sales.csv" "$work/shops.csv"
of="from '$work/sales.csv' s join '$work/shops.csv' p on s.shop = p.shop where s.day < 200"

# The same scan, filter and join that end in different aggregates; columns that were not there are kept the next time.
part '' "select town, sum(amount) as x $of group by town order by town"
part join "select town, avg(amount) as x $of group by town order by town"
part join "SELECT max(s.amount)   AS most, town AS place $of GROUP BY town ORDER BY place DESC"
part join "select count(*) as n from (select town, amount $of) q"
part '' "select town, min(tax) as x $of group by town order by town"
part join "select town, max(tax) as x, max(amount) as y $of group by town order by town"
part '' "select town, sum(amount) as x ${of/200/201} group by town order by town"
# A whole subquery; and of a file all that is read of it, whatever the condition is: nobody looks into it again.
part groupby "select max(x) as most from (select town, sum(amount) as x ${of/200/201} group by town) q"
part read_csv "select sum(tax) as t from '$work/sales.csv' where day < 17"
grep -q 'csv_' "$work/explain" && fail "a file was looked through whose rows were recalled"
granary recall list --json >"$work/list"
grep -q '"kind": *"step"' "$work/list" || fail "no step is listed: $(cat "$work/list")"

# A step that yields what its graph is to yield leaves that to the graph.
granary load taxes "$work/sales.csv" >/dev/null
granary recall clear >/dev/null
granary sql "select count(*) from taxes" >/dev/null || fail "forgetting a step has taken a table's chunks"
part '' "select town, sum(amount) as x $of group by town order by town"

# A few rows of a file are not a reason to read all of it.
cp "$work/sales.csv" "$work/again.csv"
settle "$work/again.csv"
granary sql --explain --chunk-bytes 64K "select * from '$work/again.csv' limit 3" >"$work/explain"
[ "$(grep -c 'csv_read' "$work/explain")" = 1 ] || fail "three rows: $(cat "$work/explain")"

# A file that changed, by a row that does not change its size; a table that takes another's place.
sed -i '2s/^0,0.0,/0,9.0,/' "$work/sales.csv"
part '' "select town, sum(amount) as x $of group by town order by town"
settle "$work/sales.csv"
part '' "select town, sum(amount) as x $of group by town order by town"
part join "select town, max(amount) as x $of group by town order by town"
granary load shops "$work/shops.csv" >/dev/null
with="from '$work/sales.csv' s join shops p on s.shop = p.shop where s.day < 100"
part read_csv "select town, sum(amount) as x $with group by town order by town"
part join "select town, max(amount) as x $with group by town order by town"
sed 's/town 5/town 4/' "$work/shops.csv" >"$work/other.csv"
granary load --replace shops "$work/other.csv" >/dev/null
part read_csv "select town, min(amount) as x $with group by town order by town"
granary sql "create table open (shop bigint)" >/dev/null
granary sql "insert into open values (1), (2), (3)" >/dev/null
some="from '$work/sales.csv' s join open o on s.shop = o.shop where s.day < 100"
part read_csv "select sum(amount) as x $some"
part join "select max(amount) as x $some"
granary sql "insert into open values (4)" >/dev/null
part read_csv "select min(amount) as x $some"

# Objects that somebody deleted are computed again. One that is damaged is an error once, and computed from then on.
of=${of/200/300}
part read_csv "select town, sum(amount) as x $of group by town order by town"
part join "select town, avg(amount) as x $of group by town order by town"
ids >"$work/ids"
xargs granary rm <"$work/ids" >/dev/null 2>&1 || true
granary sql --explain "select town, max(amount) as x $of group by town order by town" >"$work/explain"
grep -q '^  recalled' "$work/explain" && fail "deleted objects: $(cat "$work/explain")"
grep -q '^town 5,' <(sql "select town, max(amount) as x $of group by town order by town") || fail "after deletions"
granary recall clear >/dev/null
part '' "select town, sum(amount) as x $of group by town order by town"
ids >"$work/ids"
xargs granary move --from memory <"$work/ids" >/dev/null 2>&1 || true
part join "select town, avg(amount) as x $of group by town order by town" # they come back from disk
xargs granary move --from memory <"$work/ids" >/dev/null 2>&1 || true
find "$work/spill" -type f -size +4k | while read -r file; do
    for part_of in 1 2 3 4 5 6 7; do
        flip "$file" $(($(stat -c %s "$file") * part_of / 8))
    done
done
least="select town, min(amount) as x $of group by town order by town"
sql "$least" >"$work/out" 2>"$work/err" || sql "$least" >"$work/out" || fail "damage is met twice: $(cat "$work/err")"
sql --no-recall "$least" >"$work/want"
same "$work/out" "$work/want"

# A scheduler that dies knows what steps there are, also when it dies while a graph reads them.
granary recall clear >/dev/null
part '' "select town, sum(amount) as x $of group by town order by town"
kill -9 "$(sed -n 's/.*"sched_pid": \([0-9]*\).*/\1/p' "$work/i/instance.json")"
part join "select town, avg(amount) as x $of group by town order by town"
for aggregate in min max count; do
    query="select p.town, $aggregate(a.amount) as x from (select town, amount $of) a
           join '$work/shops.csv' p on a.town = p.town group by p.town order by p.town"
    sql "$query" >"$work/out" &
    kill -9 "$(sed -n 's/.*"sched_pid": \([0-9]*\).*/\1/p' "$work/i/instance.json")"
    wait $! || fail "a query whose scheduler died"
    sql --no-recall "$query" >"$work/want"
    same "$work/out" "$work/want"
done

# Another session has nothing of it, nor has anybody when it is off.
granary session create other
GRANARY_SESSION=other part '' "select town, avg(amount) as x $of group by town order by town"
granary recall off
part '' "select town, avg(tax) as x $of group by town order by town"
part '' "select town, avg(tax) as x $of group by town order by town"
granary recall on

# A function that says that it is deterministic is recalled, by its bytes; any other one is not.
cat >"$work/twice.c" <<'C'
#include <granary/call.h>
GRANARY_FUNCTION(twice)
{
    int64_t rows;
    const int64_t *shop = granary_call_column(call, "shop", GRANARY_INT64, &rows);
    int64_t *many = granary_call_new_column(call, "many", GRANARY_INT64);
    if (shop == NULL || many == NULL) return GRANARY_EFAILED;
    for (int64_t i = 0; i < rows; i++) many[i] = FACTOR * shop[i];
    return GRANARY_OK;
}
C
twice() { # twice FACTOR DETERMINISTIC SUM recalled|computed
    local how=computed
    "${CC:-cc}" -DFACTOR="$1" -shared -fPIC -Iinclude -o "$work/twice.so" "$work/twice.c"
    granary export "$work/twice.so" >/dev/null
    cat >"$work/graph.json" <<JSON
{"nodes": {
  "shops": {"op": "read_csv", "path": "$work/shops.csv"},
  "m": {"op": "map_chunk", "input": "shops", "function": "twice", "columns": {"many": "int64"}, "deterministic": $2},
  "sum": {"op": "aggregate", "input": "m", "aggregate": {"s": "sum(many)"}}},
 "targets": ["sum"]}
JSON
    granary run --explain "$work/graph.json" >"$work/explain"
    ! grep -q '^recalled: ' "$work/explain" || how=recalled
    [ "$how" = "$4" ] || fail "a function of factor $1, deterministic: $2, was $how"
    [ "$(granary run --discard --csv "$work/graph.json" | tail -1)" = "$3" ] || fail "the function of factor $1 gives another sum"
}
twice 2 true 2450 computed
twice 2 true 2450 recalled
twice 3 true 3675 computed
twice 2 true 2450 recalled
twice 2 false 2450 computed
twice 2 false 2450 computed

granary recall clear >/dev/null
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
