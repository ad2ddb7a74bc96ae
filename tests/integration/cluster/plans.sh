# Plans written by hand, for tests of what runs them.
# shellcheck source=tests/integration/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"

unset GRANARY_INSTANCE
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$work/run" "$work/d"
# shellcheck disable=SC2034 # the tests use it
d="$work/d"
version=$(granary version | sed 's/.* //')
printf 'k,v\na,1\nb,2\na,3\nc,4\n' >"$work/rows.csv"
s0=000000000000000000000000000000a0 s1=000000000000000000000000000000a1 s2=000000000000000000000000000000a2 s3=000000000000000000000000000000a3

# plan FILE [FORMAT [VERSION]]: two partitions of the same rows; sorted in two chunks; groups of all of them; a tensor
plan() {
    cat >"$1" <<EOF
{"granary_fragments": ${2:-1}, "version": "${3:-$version}", "partitions": 2, "about": "members that no driver knows",
 "stages": [
  {"name": "s0", "digest": "$s0", "partitions": 2, "part_of": [], "inputs": {}, "chunks": 0,
   "graph": {"nodes": {"t": {"op": "read_csv", "path": "$work/rows.csv"}, "out": {"op": "filter", "input": "t", "where": "v > 1"}},
             "targets": ["out"]}},
  {"name": "s1", "digest": "$s1", "partitions": 2, "inputs": {"t": {"stage": "s0", "take": "same"}}, "chunks": 1,
   "graph": {"nodes": {"t": {"op": "table", "ids": []}, "out": {"op": "sort", "input": "t", "by": ["v"]}}, "targets": ["out"]}},
  {"name": "s2", "digest": "$s2", "partitions": 1, "inputs": {"t": {"stage": "s1", "take": "all"}},
   "graph": {"nodes": {"t": {"op": "table", "ids": []}, "out": {"op": "groupby", "input": "t", "keys": ["k"],
                       "aggregate": {"s": "sum(v)"}}}, "targets": ["out"]}},
  {"name": "s3", "digest": "$s3", "partitions": 1, "inputs": {},
   "graph": {"nodes": {"out": {"op": "random", "shape": [5, 3], "chunk": [2, 3], "seed": 7}}, "targets": ["out"]}}
 ],
 "targets": [{"name": "groups", "stage": "s2", "kind": "frame"}, {"name": "numbers", "stage": "s3", "kind": "tensor"}]}
EOF
}

# The same without a plan.
cat >"$work/graph.json" <<EOF
{"nodes": {"t": {"op": "read_csv", "path": "$work/rows.csv"}, "f": {"op": "filter", "input": "t", "where": "v > 1"},
           "all": {"op": "concat", "inputs": ["f", "f"]},
           "groups": {"op": "groupby", "input": "all", "keys": ["k"], "aggregate": {"s": "sum(v)"}},
           "numbers": {"op": "random", "shape": [5, 3], "chunk": [2, 3], "seed": 7}},
 "targets": ["groups", "numbers"]}
EOF

# nothing_left: instances of this test, and what they had
nothing_left() {
    [ -z "$(ls "$work/run")" ] || fail "left: $(ls "$work/run")"
    [ -z "$(leftovers)" ] || fail "left: $(leftovers)"
}
