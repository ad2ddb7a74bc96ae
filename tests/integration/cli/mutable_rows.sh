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
expect 2 "has 3 columns, not 1" granary table create readings n:int64 --if-not-exists
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
expect 2 "'readings': time .* is later than the clock" granary table read readings --at 2200-01-01
expect 4 "none.csv: No such file" granary table append readings none.csv
[ "$(granary table read readings --csv | wc -l)" = 11 ] || fail "a refused append left rows"
[ "$(granary graphs | wc -l)" = 1 ] || fail "a graph is left: $(granary graphs)"
[ -z "$(find "$work" -maxdepth 1 -name 'granary-stdin*')" ] || fail "stdin's file is left"

# A cut is final.
granary table create more n:int64
expect 1 "nothing was written yet: --at TIME" granary table cut more
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

granary table delete readings more
expect 4 "'readings': there is none of that name" granary table read readings
expect 4 "granary names. lists names" granary table delete readings
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
