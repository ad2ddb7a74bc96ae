#!/bin/bash
# A kept graph's frames as tables of other graphs: found by name, read in place, kept while they are read.
. "$(dirname "$0")/lib.sh"

cd "$work"
{
    echo "k,v,s"
    for ((i = 0; i < 5000; i++)); do echo "$((i % 7)),$i,s$((i % 3))"; done
} >rows.csv
query() { # NAME NODES TARGET
    echo "{\"nodes\": {\"t\": {\"op\": \"table\", $1}, $2}, \"targets\": [\"$3\"]}"
}
group='"g": {"op": "groupby", "input": "f", "keys": ["k"], "aggregate": {"n": "size", "m": "sum(v)"}}'
filter='"f": {"op": "filter", "input": "t", "where": "v < 700"}'

granary up --executors 2 >/dev/null
echo '{"nodes": {"rows": {"op": "read_csv", "path": "rows.csv"}, "few": {"op": "head", "input": "rows", "rows": 2}},
       "targets": ["rows", "few"]}' >load.json
granary run load.json --chunk-bytes 8K >/dev/null 2>&1
key=$(granary graphs --json | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["key"])')

# the same as from the file
query "\"name\": \"$key/rows\"" "$filter, $group" g >table.json
sed 's/"op": "table", "name": "[^"]*"/"op": "read_csv", "path": "rows.csv"/' table.json >file.json
[ "$(granary run table.json --csv)" = "$(granary run file.json --csv)" ] || fail "a table is not what the file is"

# what its columns are is asked once
granary run table.json --explain >first.txt
granary run table.json --explain >second.txt
! grep -q "info(" second.txt || fail "a table that is known was looked at again"
grep -q "'t' reads 2 of 3 columns" first.txt || fail "a table's columns are not pruned"
grep -q "zone-map: 't' skips" first.txt || fail "chunks without a row in question are not skipped"

# what each step took
granary run table.json --analyze >taken.txt
grep -qE "^  g \(groupby\): [0-9]+ subtasks, [0-9.]+ ms, 7 rows, [0-9]+ bytes$" taken.txt || fail "$(tail -n 5 taken.txt)"

# as a target: other names for the same bytes, which outlive the first
query "\"name\": \"$key/rows\"" '"h": {"op": "head", "input": "t", "rows": 1}' t >copy.json
granary run copy.json --csv >copy.csv
[ "$(wc -l <copy.csv)" = 5001 ] || fail "a table as a target has $(wc -l <copy.csv) lines"

# objects by id
ids=$(granary results "$key" rows | awk '{printf "%s\"%s\"", sep, $1; sep = ", "}')
query "\"ids\": [$ids]" "$filter, $group" g >ids.json
[ "$(granary run ids.json --csv)" = "$(granary run file.json --csv)" ] || fail "objects are not what the file is"

# what cannot be found, or is not one table
for case in "\"name\": \"nobody\"|there is no table or graph 'nobody'" "\"name\": \"$key\"|has 2 targets: name one, as in" \
    "\"name\": \"$key/none\"|has no such target" "\"name\": \"\"|parameter 'name' is empty" \
    "\"ids\": []|parameter 'ids' is empty" "\"header\": 1|header"; do
    query "${case%|*}" "$filter" f >bad.json
    granary run bad.json >out.txt 2>&1 && fail "$case: ran"
    grep -q "${case##*|}" out.txt || fail "$case: $(cat out.txt)"
done
echo hello >plain.txt
id=$(granary put plain.txt)
query "\"ids\": [\"$id\"]" "$filter" f >bad.json
granary run bad.json >out.txt 2>&1 && fail "a text is a table"
grep -q "node 't' (table): object $id is no frame" out.txt || fail "$(cat out.txt)"
query "\"ids\": [\"00000000000000000000000000000abc\"]" "$filter" f >bad.json
granary run bad.json >out.txt 2>&1 && fail "an object that is not there is a table"
grep -q "00000000000000000000000000000abc is not there" out.txt || fail "$(cat out.txt)"

# gone, it is no table any more
granary forget "$key"
granary run table.json >out.txt 2>&1 && fail "a deleted graph is a table"
grep -q "there is no table or graph" out.txt || fail "$(cat out.txt)"
