#!/bin/bash
# Files that are read and written: Arrow, NPY, raw numbers, CSV; whole, in chunks, column by column, and damaged.
. "$(dirname "$0")/../lib.sh"

cd "$work"
/usr/bin/awk 'BEGIN {
    print "k,v,s,x,d,\"odd, name\""
    for (i = 0; i < 3000; i++)
        printf "%d,%d,s%d,%d.5,2020-0%d-1%d,%s\n", i % 7, i, i % 30, i / 8, 1 + i % 9, i % 10, i % 5 == 0 ? "" : "\"a \"\"b\"\" " i "\""
}' >rows.csv
granary up --executors 2 >/dev/null

run() { # GRAPH ARGUMENT...
    echo "$1" >graph.json
    granary run graph.json "${@:2}" 2>err.txt || fail "$1: $(cat err.txt)"
}

# CSV -> Arrow -> CSV, in many chunks, is the same text
run '{"nodes": {"r": {"op": "read_csv", "path": "rows.csv"}, "w": {"op": "write_arrow", "input": "r", "path": "rows.arrow"}}}' \
    --chunk-bytes 16K --csv >made.csv
[ "$(cut -d, -f1 made.csv | tail -1)" = "$work/rows.arrow" ] || fail "write_arrow told: $(cat made.csv)"
[ "$(cut -d, -f2 made.csv | tail -1)" = "$(stat -c %s rows.arrow)" ] || fail "write_arrow told other bytes: $(cat made.csv)"
run '{"nodes": {"r": {"op": "read_arrow", "path": "rows.arrow"}, "w": {"op": "write_csv", "input": "r", "path": "again.csv"}}}' \
    --chunk-bytes 16K >/dev/null
diff rows.csv again.csv >diff.txt || fail "CSV, Arrow, CSV: $(head -5 diff.txt)"
[ -z "$(find . -name '*.part')" ] || fail "left behind: $(find . -name '*.part')"

# the granary's own results are files, too; and a file is what its query says
run '{"nodes": {"r": {"op": "read_csv", "path": "rows.csv"}}}' --arrow own.arrow >/dev/null
query='"g": {"op": "groupby", "input": "r", "keys": ["s"], "aggregate": {"n": "size", "m": "sum(v)"}}'
for file in rows own; do
    run "{\"nodes\": {\"r\": {\"op\": \"read_arrow\", \"path\": \"$file.arrow\"}, $query}, \"targets\": [\"g\"]}" --csv >"$file.txt"
done
run "{\"nodes\": {\"r\": {\"op\": \"read_csv\", \"path\": \"rows.csv\"}, $query}, \"targets\": [\"g\"]}" --csv >csv.txt
cmp rows.txt csv.txt && cmp own.txt csv.txt || fail "one query, several answers"
granary run graph.json --explain >explain.txt
sed -i 's/read_csv/read_arrow/; s/rows.csv/rows.arrow/' graph.json
granary run graph.json --explain | grep -q "'r' reads 2 of 6 columns" || fail "columns of an Arrow file are not pruned"

# other delimiters and nulls, without a header
run '{"nodes": {"r": {"op": "read_arrow", "path": "rows.arrow"}, "h": {"op": "head", "input": "r", "rows": 2},
     "w": {"op": "write_csv", "input": "h", "path": "few.csv", "delimiter": ";", "header": false, "null_value": "s1"}}}' >/dev/null
[ "$(cat few.csv)" = $'0;0;s0;0.5;2020-01-10;s1\n1;1;"s1";0.5;2020-02-11;"a ""b"" 1"' ] || fail "styles: $(cat few.csv)"

# nothing at all
run '{"nodes": {"r": {"op": "read_arrow", "path": "rows.arrow"}, "f": {"op": "filter", "input": "r", "where": "v < 0"},
     "w": {"op": "write_csv", "input": "f", "path": "none.csv"}, "a": {"op": "write_arrow", "input": "f", "path": "none.arrow"}}}' >/dev/null
[ "$(cat none.csv)" = "$(head -1 rows.csv)" ] || fail "an empty frame: $(cat none.csv)"
run '{"nodes": {"r": {"op": "read_arrow", "path": "none.arrow"}}}' --csv >none.txt
cmp none.txt none.csv || fail "an empty Arrow file: $(cat none.txt)"

# tensors: NPY in chunks, raw numbers of a part of it
run '{"nodes": {"a": {"op": "arange", "stop": 1200, "shape": [30, 40], "chunk": [7, 9]}, "w": {"op": "write_npy", "input": "a", "path": "a.npy"}}}' >/dev/null
run '{"nodes": {"a": {"op": "read_npy", "path": "a.npy", "chunk": [11, 13]}, "s": {"op": "sum", "input": "a", "axes": [1]}}, "targets": ["s", "a"]}' \
    --output s=sums.json --output a=b.npy >/dev/null
cmp a.npy b.npy || fail "an NPY file did not come back"
run '{"nodes": {"a": {"op": "read_raw", "path": "a.npy", "dtype": "int64", "shape": [2, 3], "offset": 136}}}' --json >raw.txt
grep -qF '[[1,2,3],[4,5,6]]' raw.txt || fail "raw numbers: $(cat raw.txt)"

# what is refused, before anything runs
head -c 3000 rows.arrow >short.arrow
head -c 200 a.npy >short.npy
mkdir folder
refused() { # PART NODE
    echo "{\"nodes\": {\"r\": $2}}" >graph.json
    granary run graph.json >out.txt 2>&1 && fail "$2: ran"
    grep -qF "$1" out.txt || fail "$2: $(cat out.txt)"
}
refused "rows.csv: is no Parquet file" '{"op": "read_parquet", "path": "rows.csv"}'
refused "node 'r' (read_arrow): $work/none: No such file" '{"op": "read_arrow", "path": "none"}'
refused "not an Arrow file" '{"op": "read_arrow", "path": "rows.csv"}'
refused "cut short at byte 3000" '{"op": "read_arrow", "path": "short.arrow"}'
refused "the folder has no file that ends in .arrow" '{"op": "read_arrow", "path": "folder"}'
refused "not an NPY file" '{"op": "read_npy", "path": "rows.csv"}'
refused "too few for its shape" '{"op": "read_npy", "path": "short.npy"}'
refused "less than the 800 of its shape" '{"op": "read_raw", "path": "short.npy", "dtype": "int64", "shape": [100]}'
refused "there is no dtype 'int7'" '{"op": "read_raw", "path": "a.npy", "dtype": "int7", "shape": [1]}'
refused "not of string" '{"op": "read_raw", "path": "a.npy", "dtype": "string", "shape": [1]}'
refused "parameter 'offset' is -1; it cannot be negative" '{"op": "read_raw", "path": "a.npy", "dtype": "int8", "shape": [1], "offset": -1}'
refused "(write_csv): $work/nowhere: No such file" '{"op": "write_csv", "input": "q", "path": "nowhere/x.csv"}, "q": {"op": "read_csv", "path": "rows.csv"}'
refused "is there, and is no regular file" '{"op": "write_csv", "input": "q", "path": "folder"}, "q": {"op": "read_csv", "path": "rows.csv"}'
refused "it works on tensors" '{"op": "write_npy", "input": "q", "path": "x.npy"}, "q": {"op": "read_csv", "path": "rows.csv"}'
# A file that is replaced behind the submission is refused, and not read up to the length of the one before.
executors() { granary executors --json | sed -n 's/.*"pid": \([0-9]*\).*/\1/p' | xargs kill "$1"; }
is_under_way() { granary graphs --state running --json | grep -q '"key"'; }
replaced() { # FILE OPERATOR
    mv "$1" "$1.before"
    head -n 1000 "$1.before" >"$1"
    executors -STOP
    echo "{\"nodes\": {\"r\": {\"op\": \"$2\", \"path\": \"$1\"}}}" >graph.json
    granary run graph.json --csv >replaced.txt 2>err.txt & running=$!
    await is_under_way
    mv "$1.before" "$1"
    executors -CONT
    wait $running && fail "$2: a file that was replaced gave $(wc -l <replaced.txt) lines"
    grep -q "$1: it is another file than when the graph was submitted; submit again" err.txt || fail "$2: $(cat err.txt)"
}
run '{"nodes": {"r": {"op": "read_csv", "path": "rows.csv"}, "w": {"op": "write_ndjson", "input": "r", "path": "rows.ndjson"}}}' >/dev/null
replaced rows.csv read_csv
replaced rows.ndjson read_ndjson

granary down >/dev/null
