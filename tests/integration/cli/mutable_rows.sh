#!/bin/bash
# Tables that change, from several processes: made, appended to, read at times, cut, deleted; and what is refused.
. "$(dirname "$0")/lib.sh"

cd "$work"
export TMPDIR=$work
granary up --executors 2 >/dev/null
remember_prefix
printf 'at,celsius\n2026-01-01 00:00,1\n2026-01-01 00:01,2.5\n' >rows.csv

granary table create readings at:timestamp celsius:float64 note:string
granary table create readings at:timestamp celsius:float64 note:string --if-not-exists
expect 1 "'readings': the name is taken.*--if-not-exists" granary table create readings n:int64
expect 2 "^granary: table .readings.: it has 3 columns, not 1" granary table create readings n:int64 --if-not-exists
expect 2 "no dtype 'int65'; there are: " granary table create other n:int65
expect 2 "'n' is not COLUMN:DTYPE" granary table create other n

# Files and stdin, in every format; columns go by name, and those that are missing are null.
first=$(granary table append readings rows.csv)
echo '{"note": "hi", "celsius": 3}' | granary table append readings --format ndjson --json | grep -q '"rows": 1}' ||
    fail "append tells its rows"
printf 'note;celsius\nx;NA\n' | granary table append readings --delimiter ';' --null NA >/dev/null
printf 'at,celsius,note\n2026-01-01T00:00:00,1.0,\n2026-01-01T00:01:00,2.5,\n' | diff - \
    <(granary table read readings --csv --at "$first" | sed 's/^,//') || fail "a read at the first time"
granary table read readings -o copy.arrow
granary table append readings copy.arrow rows.csv >/dev/null
[ "$(granary table read readings --csv | wc -l)" = 11 ] || fail "rows of two files: $(granary table read readings --csv)"
[ "$(granary table read readings --json | grep -c '"note":"hi"')" = 2 ] || fail "as JSON"

# What is refused leaves nothing: no row, no graph, no file.
expect 2 "'readings'.*stdin:2: column 'celsius': 'x' is not float64" granary table append readings <<<$'celsius\nx'
expect 4 "stdin: its columns are not the table's: no column 'celsious'; did you mean 'celsius'" \
    granary table append readings <<<$'celsious\n1'
expect 4 "'nosuch': there is none of that name: .granary table create" granary table append nosuch rows.csv
expect 2 "name '-' once" granary table append readings - - </dev/null
expect 2 "'soon' is no time" granary table read readings --at soon
expect 2 "^granary: table 'readings': time .* is later than the clock, and than the newest" granary table read readings --at 2200-01-01
expect 4 "none.csv: No such file" granary table append readings none.csv
[ "$(granary table read readings --csv | wc -l)" = 11 ] || fail "a refused append left rows"
[ "$(granary graphs | wc -l)" = 1 ] || fail "a graph is left: $(granary graphs)"
[ -z "$(find "$work" -maxdepth 1 -name 'granary-stdin*')" ] || fail "stdin's file is left"

# A cut is final.
granary table create more n:int64
expect 1 "nothing was written yet: --at TIME" granary table cut more
expect 2 "^granary: table 'more': time .* and nothing was written yet$" granary table read more --at 2200-01-01
time=$(granary table cut readings more)
expect 1 "is final.*--forward moves it" granary table append readings rows.csv --time "$time"
later=$(granary table append readings rows.csv --time "$time" --forward)
[ "$later" -gt "$time" ] || fail "forward: $later is not after $time"
[ "$(granary table read readings --csv --at "$time" | wc -l)" = 11 ] || fail "a cut is not final"

# Several processes at once: no row is lost.
pids=()
for ((i = 0; i < 4; i++)); do
    (for ((j = 0; j < 5; j++)); do printf 'n\n%d\n%d\n' $i $j | granary table append more >/dev/null || exit 1; done) &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "an append beside others"; done
[ "$(granary table read more --csv | wc -l)" = 41 ] || fail "rows of four writers"

# A command that is killed while it reads stdin leaves no file.
mkfifo in
setsid granary table append more <in &
exec 8>in
until [ -n "$(find "$work" -maxdepth 1 -name 'granary-stdin*')" ]; do kill -0 $! || fail "it ended"; done
kill -KILL $!
wait $! || true
until [ -z "$(find "$work" -maxdepth 1 -name 'granary-stdin*')" ]; do sleep 0.01; done
exec 8>&-

# Rows have numbers, by which they are written over and removed.
granary table create rows n:int64 s:string d:'decimal(2)'
printf 'n,s,d\n1,a,1.5\n2,b,\n3,,2\n4,d,4\n' | granary table append rows >/dev/null
check_rows() {
    diff - <(granary table read rows --numbers=at --csv) || fail "$1"
}
printf 'at,n,s,d\n0,1,a,1.50\n1,2,b,\n2,3,,2.00\n3,4,d,4.00\n' | check_rows "rows with numbers"
granary table write rows 0 2:3 --set 's=x "q", y' --set n= --set d=7 --json | grep -q '"rows": 2}' || fail "write tells its rows"
printf 'at,n,s,d\n0,,"x ""q"", y",7.00\n1,2,b,\n2,,"x ""q"", y",7.00\n3,4,d,4.00\n' | check_rows "rows with --set"
granary table remove rows 1 7:10 --json | grep -q '"rows": 1}' || fail "remove tells how many there were"
granary table read rows --numbers --csv | sed 's/x/z/;s/4$/5/' | granary table write rows >/dev/null
echo '{"number": 3, "d": 9}' | granary table write rows --numbers number --format ndjson - >/dev/null
printf 'at,n,s,d\n0,,"z ""q"", y",7.00\n2,,"z ""q"", y",7.00\n3,4,d,9.00\n' | check_rows "rows from files"
time=$(granary table cut rows)
expect 1 "'rows': time .* is final.*--forward moves it" granary table remove rows 0: --time "$time"
expect 1 "'rows': time .* is final.*--forward moves it" granary table write rows 0 --set n=1 --time "$time"
expect 2 "'rows': .*--set: column 'n': 'x' is not int64" granary table write rows 0 --set n=x
expect 4 "'rows': there is no row 1" granary table write rows 1 --set n=5
expect 4 "'rows': it has 3 rows" granary table write rows 0: --set n=5
expect 4 "'rows': --set: its columns are not the table's: no column 'm'" granary table write rows 0 --set m=5
expect 2 "'n' is not COLUMN=VALUE" granary table write rows 0 --set n
expect 2 "--set: name the rows" granary table write rows --set n=1
expect 4 "'rows': no file has a column 'row'" granary table write rows <<<$'n\n1'
expect 2 "'rows': column 'row': 1 numbers of rows are null" granary table write rows <<<$'row,n\n,1'
expect 1 "'rows': it has a column 'n': name" granary table write rows --numbers n <<<$'n\n1'
expect 1 "it has a column 'n': name another one with --numbers=NAME" granary table read rows --numbers=n
expect 2 "'3:1' names no rows" granary table remove rows 3:1
expect 2 "'99999999999999999999' is too large" granary table remove rows 99999999999999999999
expect 2 "more than 16777216 rows can be named by one range alone" granary table remove rows 0:1000000000000 1
granary table remove rows 0: >/dev/null
printf 'at,n,s,d\n' | check_rows "no rows"

# What can be seen of tables from outside.
granary status | grep -q '^tables  *3 that change, 0 writers, ' || fail "status: $(granary status)"
granary status --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["tables"]["tables"] == 3' || fail "status --json"
granary top --once | grep -q '^readings  *1  *0 ' || fail "top: $(granary top --once)"
granary top --once --json | python3 -c 'import json, sys
tables = {t["name"]: t for t in json.load(sys.stdin)["tables"]}
assert tables["more"]["memory_bytes"] > tables["more"]["log_bytes"] > 0 and tables["more"]["newest"] > 0, tables' || fail "top --json"
granary fsck | grep -q ', 3 tables; 0 damages, ' || fail "fsck: $(granary fsck)"
granary doctor | grep -q '^ok  *tables  *session 1 has 3 of 1024 tables that change' || fail "doctor: $(granary doctor)"
id=$(granary name more)
granary why "$id" | grep -q "it is the table itself of table 'more'" || fail "why: $(granary why "$id")"
granary ls --owner "table:$id" | awk 'NR > 1 && NR < 8 {print $1}' >parts
while read -r object; do granary why "$object"; done <parts >whys
grep -q "it is a chunk of rows (number [0-9]* of lane [0-9]*) of table 'more'" whys || fail "whys: $(cat whys)"
granary events --id "$id" | grep -q ' NAME ' || fail "events: $(granary events --id "$id")"

# A table whose deletion did not come to its end keeps objects, until the next one is made.
granary table create half n:int64
granary table append half <<<$'n\n1' >/dev/null
half=$(granary name half)
granary name --drop half
granary doctor >doctor && fail "doctor has nothing to say of a deleted table"
grep -q '^attention  *tables  *session 1 keeps 2 objects of tables that were deleted' doctor || fail "doctor: $(cat doctor)"
granary fsck | grep -q "^note  *table-deleted  *table $half was deleted, and keeps 2 objects" || fail "fsck: $(granary fsck)"
granary table create whole n:int64
granary fsck | grep -q '; 0 damages, 0 notes' || fail "fsck: $(granary fsck)"
granary table delete whole

granary table delete readings more rows
granary events --id "$id" | grep -q ' DELETE ' || fail "events of a deleted table: $(granary events --id "$id")"
expect 4 "'readings': there is none of that name" granary table read readings
expect 4 "granary names. lists names" granary table delete readings
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
