#!/bin/bash
# Tables that stay: loaded, queried by several processes without a byte more in the store, replaced, forgotten.
. "$(dirname "$0")/../cli/lib.sh"

granary up --executors 2 --memory 128M >/dev/null
remember_prefix

granary load birds "$birds" >"$work/out"
grep -qE '^birds: [0-9]+ rows in [0-9]+ chunks?$' "$work/out" || fail "$(cat "$work/out")"
rows=$(sed -n 's/^birds: \([0-9]*\) rows.*/\1/p' "$work/out")
[ "$rows" = "$(tail -n +2 "$birds" | grep -c '')" ] || fail "$rows rows"
granary graphs | grep -q '^birds ' || fail "not listed"
expect 1 "there is a table or graph of that name: --replace" granary load birds "$birds"

# The same rows from the table and from the file, by processes that map what is there.
used() { granary stat --json | grep -o '"sealed[a-z_]*": *[0-9]*' | head -n 1; }
# unchanged WHAT: what was made meanwhile goes, soon after its command has ended
unchanged() {
    for _ in $(seq 100); do
        [ "$(used)" != "$before" ] || return 0
        sleep 0.1
    done
    fail "$1 left something: $(used) instead of $before"
}
before=$(used)
[ -n "$before" ] || fail "stat: $(granary stat --json)"
query='select "Wildlife Species" as species, "Speed IAS in knots" as speed from %s where "Speed IAS in knots" > 300 order by speed desc, species'
# shellcheck disable=SC2059
for _ in 1 2 3; do
    granary sql --csv "$(printf "$query" birds)" >"$work/table.csv" 2>/dev/null
done
# shellcheck disable=SC2059
granary sql --csv "$(printf "$query" "'$birds'")" >"$work/file.csv" 2>/dev/null
[ "$(wc -l <"$work/table.csv")" -gt 5 ] || fail "the query finds nothing"
same "$work/table.csv" "$work/file.csv"
unchanged queries
granary sql --json --discard "select * from \"birds/table\" limit 3" | grep -q '"Wildlife Species"' || fail "by its target"

# What a query gives is kept only by name, and is a table then.
granary sql --csv --keep fast 'select "Speed IAS in knots" as speed from birds where "Speed IAS in knots" > 300' >"$work/kept.csv" 2>"$work/kept.err"
[ "$(cat "$work/kept.err")" = "granary: sql: the rows are kept as table 'fast': \`granary forget fast\` deletes it" ] ||
    fail "--keep: $(cat "$work/kept.err")"

# -o of a query takes a file, and its help says so; that of a graph takes a target's name, too.
granary sql --help >"$work/out" && grep -q -- '--output=FILE  *write the rows to FILE' "$work/out" || fail "sql --help"
granary run --help >"$work/out" && grep -q -- '--output=NAME=FILE  *write target NAME to FILE' "$work/out" || fail "run --help"
granary sql -o "$work/a=b.csv" 'select 1 as one'
[ "$(cat "$work/a=b.csv")" = "$(printf 'one\n1')" ] || fail "-o: $(cat "$work/a=b.csv")"
granary sql --csv "select speed from fast" >"$work/again.csv" 2>/dev/null
same "$work/kept.csv" "$work/again.csv"
expect 1 "another table or graph 'fast': --replace takes its place, .granary forget fast. deletes it" \
    granary sql --keep fast "select 1"
expect 2 "nothing is named that it could replace" granary sql --replace "select 1"
granary sql --keep fast --replace 'select speed + 1 as speed from fast' >/dev/null 2>&1 || fail "--replace"
granary sql --csv 'select speed - 1 as speed from fast' 2>/dev/null | cmp - "$work/kept.csv" || fail "--replace of what it reads"
expect 1 "is no int64" granary sql --keep fast --replace "select cast('x' as bigint)"
granary sql --csv 'select speed - 1 as speed from fast' 2>/dev/null | cmp - "$work/kept.csv" || fail "a replace that failed"
granary forget fast
unchanged --keep

# A table may have a name of several parts. Its columns are named behind all of them, or the last.
granary sql --keep s1.t "select 42 as c" >/dev/null 2>&1 || fail "--keep s1.t"
granary sql --keep db.s2.t "select 84 as c, 1 as d" >/dev/null 2>&1 || fail "--keep db.s2.t"
value() { # SQL VALUE
    [ "$(granary sql --csv "$1" 2>/dev/null | tail -n +2)" = "$2" ] || fail "$1: $(granary sql --csv "$1" 2>&1)"
}
value 'select t.c, s1.t.c from s1.t where s1.T.c > 1 order by s1.t.c' 42,42
value 'select s1.t.c, db.s2.t.c, db.t.c, s2.t.c, d from s1.t, db.s2.t' 42,84,84,84,1
value 'select * exclude (db.s2.t.c) from s1.t join db.s2.t on s1.t.c < db.s2.t.c' 42,1
value 'select s1.t.*, (select max(x.c) from s1.t as x where x.c = s1.t.c) from s1.t' 42,42
expect 2 "more than one table has a column 'c'" granary sql "select t.c from s1.t, db.s2.t"
expect 2 "'s1.t' and 'db.s2.t' are both called t" granary sql "select t.* from s1.t, db.s2.t"
expect 4 "no table in FROM is called 'main.t'" granary sql "select main.t.c from s1.t"
granary forget s1.t
granary forget db.s2.t
unchanged "names of parts"
[ "$(granary graphs --json | grep -c '"key"')" = 1 ] || fail "queries left graphs: $(granary graphs)"

# Several files, one below the other; a dtype.
printf 'id,price\n1,0.10\n2,0.20\n' >"$work/a.csv"
printf 'id,price\n3,0.30\n' >"$work/b.csv"
granary load prices --dtype 'price=string' "$work/a.csv" "$work/b.csv" >"$work/out"
grep -q '^prices: 3 rows in 2 chunks$' "$work/out" || fail "$(cat "$work/out")"
[ "$(granary load --json --replace prices --dtype 'price=string' "$work/b.csv")" = '{"table": "prices", "rows": 1, "chunks": 1}' ] ||
    fail "replaced: $(granary load --json --replace prices "$work/b.csv")"
granary sql --csv --discard "select price from prices" 2>/dev/null | grep -qx 0.30 || fail "a dtype that was given"
granary sql --discard -o "$work/out.csv" "select id from prices" 2>/dev/null
[ "$(cat "$work/out.csv")" = "$(printf 'id\n3')" ] || fail "-o: $(cat "$work/out.csv")"

# JSON is records, the same bytes on stdout and in a file; a graph has them by target. Columns and dtypes are told apart.
printf 'name,n,d\nAda,3,1990-01-08\n"B ""b""",,\n' >"$work/people.csv"
printf '[{"name":"Ada","n":3,"d":"1990-01-08"},\n{"name":"B \\"b\\"","n":null,"d":null}]\n' >"$work/want.json"
granary sql --json "select * from '$work/people.csv'" >"$work/got.json"
same "$work/got.json" "$work/want.json"
granary sql -o "$work/file.json" "select * from '$work/people.csv'"
same "$work/file.json" "$work/want.json"
[ "$(granary sql --json "select * from '$work/people.csv' limit 0")" = '[]' ] || fail "no rows"
[ "$(granary sql --json "select 1 as a, 2 as a" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)[0]))')" = 2 ] ||
    fail "two columns of one name: $(granary sql --json "select 1 as a, 2 as a")"
echo '{"nodes": {"t": {"op": "arange", "stop": 2}, "f": {"op": "from_tensor", "input": "t", "columns": ["x"]}}, "targets": ["f", "t"]}' >"$work/two.json"
granary run --discard --json "$work/two.json" | python3 -c 'import json, sys
got = json.load(sys.stdin)
assert got == {"f": [{"x": 0}, {"x": 1}], "t": {"dtype": "int64", "shape": [2], "values": [0, 1]}}, got' || fail "run --json"
[ "$(granary sql --schema "select * from '$work/people.csv' limit 0")" = "$(printf 'column  dtype\nname    string\nn       int64\nd       date')" ] ||
    fail "--schema: $(granary sql --schema "select * from '$work/people.csv' limit 0")"

# What is wrong.
expect 2 "no file behind the name 'gone'" granary load gone
expect 4 "No such file" granary load gone "$work/none.csv"
expect 2 "is not COLUMN=DTYPE" granary load x --dtype price "$work/a.csv"
granary graphs | grep -q '^gone' && fail "what failed is no table"
# One value that makes a column a string is named, when it is loaded and where a query fails for it.
{ echo "id,price"; seq 20 | sed 's|.*|&,&|'; printf '21,n/a\n22,3\n'; } >"$work/odd.csv"
granary load odd "$work/odd.csv" >/dev/null 2>"$work/err"
grep -q "odd.csv:22: 'n/a' makes column 'price' a string: --null TEXT" "$work/err" || fail "no notice: $(cat "$work/err")"
expect 2 "column 'price': sum needs numbers, not string: .*odd.csv:22: 'n/a' makes column 'price' a string" \
    granary sql "select id, sum(price) from odd group by id"
expect 2 "not string .'price'. and int64: .*odd.csv:22: 'n/a' makes column 'price' a string" granary sql "select price + 1 from odd"
granary load --replace odd --null n/a "$work/odd.csv" >/dev/null 2>"$work/err"
[ ! -s "$work/err" ] || fail "a notice without need: $(cat "$work/err")"
expect 2 "sum needs numbers, not string: .*odd.csv:22: 'n/a' makes column 'price' a string" \
    granary sql "select sum(price) from '$work/odd.csv'"
printf 'id,name\n1,Bob\n2,Al\n3,12\n' >"$work/names.csv"
granary load --replace odd "$work/names.csv" >/dev/null 2>"$work/err"
[ ! -s "$work/err" ] || fail "names are strings: $(cat "$work/err")"
granary forget odd
# What is not UTF-8 is told with its line and what to do, in the header as below it.
printf 'id,gr\366\337e\n1,2\n' >"$work/latin1.csv"
printf 'id,x\n1,gr\366\337e\n' >"$work/latin2.csv"
expect 2 "latin1.csv:1: not UTF-8: convert .* .iconv -f latin1" granary sql "select * from '$work/latin1.csv'"
expect 2 "latin1.csv:1: not UTF-8: convert .* .iconv -f latin1" granary load gone "$work/latin1.csv"
expect 2 "latin2.csv:2: not UTF-8: convert .* .iconv -f latin1.*read it with .encoding" granary sql "select * from '$work/latin2.csv'"
# The header ends where records do: at LF, CRLF or CR alone, behind lines without a byte.
for lines in 'a,b\r1,2\r3,4\r' 'a,b\r\n1,2\r\n3,4' '\r\n\na,"b"\r1,2\r3,4'; do
    # shellcheck disable=SC2059 # the escapes are the lines
    printf "$lines" >"$work/ends.csv"
    for columns in '*' 'a, b'; do
        [ "$(granary sql --csv "select $columns from '$work/ends.csv'" | tr '\n' ' ')" = 'a,b 1,2 3,4 ' ] || fail "select $columns of $lines"
    done
done
# A folder is told from a table, and a format that nothing tells is said.
mkdir "$work/orders"
(cd "$work" && expect 2 "orders: is a directory; write 'orders/'" granary sql "select * from 'orders'")
(cd "$work" && expect 4 "15: nowhere/: No such file or directory" granary sql "select * from 'nowhere/'")
printf 'a\n1\n' >"$work/notes.txt"
expect 2 "tell the format: .* or say it, as in read_csv.'$work/notes.txt'." granary sql "select * from '$work/notes.txt'"
# What is no table is not read as one.
echo '[{"a": 1}, {"a": 2}]' >"$work/cars.json"
[ "$(granary sql --csv "select * from '$work/cars.json'" | tr '\n' ' ')" = 'a 1 2 ' ] || fail "a list of records"
cp "$work/cars.json" "$work/cars.xml"
expect 2 "cars.xml: its ending tells no format that can be read: .csv" granary load gone "$work/a.csv" "$work/cars.xml"
/usr/bin/python3 -c "print(','.join('x' * 16000 + str(i) for i in range(300)) + ',last\n' + ',' * 300)" >"$work/wide.csv"
expect 2 "wide.csv:1: the header is longer than 4 MiB" granary sql "SELECT last FROM '$work/wide.csv'"
json='not text in columns but JSON: name it .json'
printf '\n{\n "a": 1}\n' >"$work/lines.csv"
expect 2 "lines.csv:1: $json" granary load gone "$work/lines.csv"
for ending in txt csv tsv; do
    cp "$work/cars.json" "$work/cars.$ending"
    expect 2 "cars.$ending:1: $json" granary load gone "$work/cars.$ending"
done
expect 2 "cars.xml:1: $json" granary load --delimiter ';' gone "$work/cars.xml"
expect 2 "cars.csv: $json" granary sql "select * from '$work/cars.csv'"
gzip -c "$work/a.csv" | gzip -c >"$work/packed.csv"
expect 2 "packed.csv:1: not text in columns but a file packed by gzip: unpack it first" granary load gone "$work/packed.csv"
granary sql -o "$work/arrow.arrow" 'select 1 as one'
cp "$work/arrow.arrow" "$work/arrow.csv"
expect 2 "arrow.csv:1: not text in columns but an Arrow file: read_arrow reads it" granary load gone "$work/arrow.csv"
printf '[id],{x}\n1,2\n' >"$work/brackets.csv"
[ "$(granary sql --csv "select * from '$work/brackets.csv'")" = "$(printf '[id],{x}\n1,2')" ] || fail "a header in brackets"
cp "$work/a.csv" "$work/a.unknown"
granary load --delimiter , known "$work/a.unknown" >/dev/null && granary forget known
granary load lost "$birds" >/dev/null
granary results lost table | xargs granary rm
expect 1 "table 'lost': its rows are not in the store any more: load it again with --replace" granary sql "select count(*) from lost"
granary forget lost
cp "$work/a.csv" "$work/a.parquet"
expect 2 "no Parquet file" granary load lost "$work/a.parquet"
expect 4 "no table 'bird'; did you mean 'birds'" granary sql "select 1 from bird"
expect 2 '\^$' granary sql "select price from prices where"
expect 2 "which statement" granary sql
echo "select id from prices" | granary sql --csv --discard - 2>/dev/null | grep -qx 3 || fail "stdin"
granary forget birds prices
expect 4 "no table 'birds'" granary sql "select * from birds"
granary down >/dev/null
left=$(leftovers)
[ -z "$left" ] || fail "left behind: $left"
