#!/bin/bash
# --graph --optimized: what the optimiser makes of a graph runs as any other, and gives the same bytes; a client learns what the
# sources have, and leaves nothing.
. "$(dirname "$0")/../lib.sh"

top=libclient/examples/birdstrikes.json
nested=tests/golden/arrow/nested.arrow

granary up --executors 2 >/dev/null
granary run --graph --optimized $top >"$work/top.json"
grep -q '"op": "select"' "$work/top.json" || fail "all columns are there: $(cat "$work/top.json")"
granary run --discard --arrow "$work/top.arrow" $top
granary run --discard --arrow "$work/again.arrow" "$work/top.json"
same "$work/again.arrow" "$work/top.arrow"
# Once more is no more.
granary run --graph --optimized "$work/top.json" >"$work/top2.json"
granary run --discard --arrow "$work/again.arrow" "$work/top2.json"
same "$work/again.arrow" "$work/top.arrow"

# A condition stands below the groupby, and the file's other columns are left out.
query="SELECT \"Wildlife Species\" AS s, count(*) AS n FROM '$birds' GROUP BY s HAVING s < 'B' ORDER BY n DESC LIMIT 3"
granary sql --graph --optimized "$query" >"$work/sql.json"
python3 - "$work/sql.json" <<'END' || fail "where nodes stand: $(cat "$work/sql.json")"
import json, sys
nodes = json.load(open(sys.argv[1]))["nodes"]
ops = [node["op"] for node in nodes.values()]
assert ops.index("filter") < ops.index("groupby") < ops.index("sort") < ops.index("head"), ops
select = nodes[list(nodes)[1]]
assert select["op"] == "select" and select["columns"] == ["Wildlife Species"], select
END
granary run --discard --csv "$work/sql.json" | diff - <(granary sql --csv "$query") || fail "the statement's rows"

# A table that changes, and columns that cannot be read: one is replaced, and the new one has its place.
granary sql "CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y')"
granary sql --graph --optimized "SELECT b FROM t WHERE a > 1" | granary run --discard --csv - | diff - <(printf 'b\ny\n') ||
    fail "a table that changes"
cat >"$work/nested.json" <<END
{"nodes": {"f": {"op": "read_arrow", "path": "$nested"},
           "n": {"op": "assign", "input": "f", "columns": {"map": "first * 2", "end": "number"}},
           "x": {"op": "select", "input": "n", "columns": ["map", "end", "text"]}}, "targets": ["x"]}
END
granary run --graph --optimized "$work/nested.json" | granary run --discard --csv - >"$work/nested.csv"
granary run --discard --csv "$work/nested.json" | cmp - "$work/nested.csv" || fail "columns that cannot be read"

# An array's file tells what it is.
granary run --discard --npy "$work/a.npy" - <<<'{"nodes": {"a": {"op": "arange", "stop": 12}, "x": {"op": "reshape", "input": "a", "shape": [3, 4]}}}'
granary run --graph --optimized - <<<"{\"nodes\": {\"f\": {\"op\": \"read_npy\", \"path\": \"$work/a.npy\"}, \"s\": {\"op\": \"nanmax\", \"input\": \"f\"}}}" |
    granary run --discard - | grep -q 11 || fail "an array"

expect 2 'write that, too' granary run --optimized $top
echo '{"nodes": {"f": {"op": "read_csv", "path": "nowhere.csv"}}}' >"$work/none.json"
expect 4 "node 'f' \\(read_csv\\): .*nowhere.csv: No such file" granary run --graph --optimized "$work/none.json"
echo '{"level": "chunk", "nodes": {"f": {"op": "null"}}}' >"$work/chunk.json"
expect 2 'chunk operators' granary run --graph --optimized "$work/chunk.json"
expect 4 "line 1, column 8: .*nix" granary sql --graph --optimized "SELECT nix FROM '$birds'"
echo '{"nodes": {"f": {"op": "read_npy", "path": "libclient/examples/birdstrikes.json"}}}' >"$work/npy.json"
expect 2 "node 'f' \\(read_npy\\): .*birdstrikes.json" granary run --graph --optimized "$work/npy.json"
[ ! -s "$work/out" ] || fail "printed with an error: $(cat "$work/out")"
[ "$(granary graphs --json | grep -c '"key"')" = 0 ] || fail "something is left: $(granary graphs)"
granary down >/dev/null
expect 3 'is not up' granary run --graph --optimized $top

# Without an instance there is a private one, and then none.
unset GRANARY_INSTANCE
XDG_RUNTIME_DIR=$work granary run --graph --optimized $top | cmp - "$work/top.json" || fail "a private instance"
