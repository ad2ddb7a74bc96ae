#!/bin/bash
# `granary bench mutable`: every figure is there, peers stand beside granary's, one that is not installed is named, and
# nothing is left. `granary bench frame --floors`: loops in C give granary's answers, which it compares itself.
# `granary bench scale`: a line a power, each beside the least before it. `granary bench mix`:
# every client gets its turn, and its figures stand beside the idle ones.
. "$(dirname "$0")/lib.sh"

databases() { find /dev/shm /var/tmp -maxdepth 1 -name 'granary-bench-*' | sort; }

before=$(databases)
mkdir "$work/empty" # a PATH without redis-server
PATH="$work/empty" "$GRANARY_BIN/granary" bench mutable --quick --json >"$work/figures.json"
[ "$(databases)" = "$before" ] || fail "databases of peers were left"

/usr/bin/python3 - "$work/figures.json" <<'EOF'
import json
import sys

lines = json.load(open(sys.argv[1]))
missing = lines.pop("not_installed")
figures = ["append_ns", "writers_1_per_s", "writers_2_per_s", "writers_4_per_s", "append_1000_us", "read_first_ms",
           "read_more_ms", "cut_4_ns"]
tensors = ["write_chunk_ns", "view_ns", "seal_ms"]  # nobody else has them

for key in ["append_floor_ns", *figures, *tensors]:
    line = lines[key]
    assert line.get("p50", line.get("value")) > 0, (key, line)
assert any(peer.startswith("Redis") for peer in missing), missing
assert not any(key.startswith("redis") for key in lines), list(lines)
peers = {key: line for key, line in lines.items() if line.get("beside") in figures}
if not any(peer.startswith("SQLite") for peer in missing):
    for figure in figures:
        assert peers[f"sqlite_off_{figure}"]["beside"] == figure, figure
for key, line in peers.items():
    ours = lines[line["beside"]]
    ratio = line.get("p50", line.get("value")) / ours.get("p50", ours.get("value"))
    assert abs(ratio / line["ratio"] - 1) < 0.01, (key, line, ours)
EOF

floors() { # SUITE QUESTIONS WITH-A-LOOP OPTION...
    local suite=$1 all=$2 loops=$3
    shift 3
    granary bench frame --floors --no-peers --runs 1 --suite "$suite" --json "$@" >"$work/floors.json" 2>"$work/err" ||
        fail "$suite: $(cat "$work/err")"
    [ "$(cat "$work/err")" = "granary: bench: recall is off" ] || fail "$suite: $(cat "$work/err")"
    for engine in "scan $all" "floor $loops"; do
        [ "$(grep -c "\"engine\": \"${engine% *}\"" "$work/floors.json")" = "${engine#* }" ] || fail "$suite: not $engine"
    done
    [ "$(grep -c over_floor "$work/floors.json")" = "$all" ] || fail "$suite: not all have a ratio"
}
floors groupby 10 10 --rows 50000 --executors 3
floors join 7 0 --rows 10000
floors tpch 2 2 --scale 0.01
granary bench frame --floors --no-peers --suite groupby --query q6 --rows 1000 | grep -q ours/floor || fail "no column of floors"

granary bench scale --quick --json >"$work/scale.json"
/usr/bin/python3 - "$work/scale.json" <<'EOF'
import json
import sys

lines = json.load(open(sys.argv[1]))
for thing, first in {"row_groupby": 2, "row_sum": 2, "chunk": 0, "subtask": 0, "object_put": 1, "object_get": 1,
                     "object_list": 1, "executor": 0}.items():
    costs = {f"{thing}_1e{power}_ns": lines[f"{thing}_1e{power}_ns"]["value"] for power in range(first, first + 4)}
    keys = list(costs)
    assert min(costs.values()) > 0, costs
    for i, key in enumerate(keys[1:], 1):
        assert lines[key]["beside"] == min(keys[:i], key=costs.get), (key, lines[key], costs)
EOF

mkdir "$work/tables"
granary bench mix --scale 0.01 --seconds 1 --clients 3 --no-peers --also-executors 1 --data "$work/tables" --json >"$work/mix.json"
/usr/bin/python3 - "$work/mix.json" <<'EOF'
import json
import sys

lines = json.load(open(sys.argv[1]))
assert not lines.pop("not_installed"), lines
value = {key: line["value"] for key, line in lines.items()}
for prefix in ["", "e1_"]:  # on a busy machine a second is short: nobody may have finished anything
    assert value[prefix + "client_most"] >= value[prefix + "client_least"], value
    assert 3 * value[prefix + "client_most"] >= value[prefix + "questions_per_s"] >= 3 * value[prefix + "client_least"], value
    assert value[prefix + "small_p99_ms"] >= value[prefix + "small_p50_ms"], value
    assert value[prefix + "idle_small_p99_ms"] >= value[prefix + "idle_small_p50_ms"] > 0, value
    assert lines[prefix + "small_p99_ms"]["beside"] == prefix + "idle_small_p99_ms", lines
assert lines["e1_idle_small_p50_ms"]["beside"] == "idle_small_p50_ms", lines
assert not any(key.startswith("duckdb") for key in lines), lines
EOF
