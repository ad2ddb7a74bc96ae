#!/bin/bash
# Others read what granary makes: NumPy a tensor, the right sums; and granary agrees with itself across chunkings.
. "$(dirname "$0")/../lib.sh"

granary up --executors 2 >/dev/null
cat >"$work/t.json" <<'J'
{"nodes": {"a": {"op": "arange", "stop": 24, "shape": [4, 6], "chunk": [2, 3]},
           "b": {"op": "multiply", "input": "a", "value": 3},
           "r": {"op": "random", "shape": [50, 40], "seed": 7},
           "s": {"op": "sum", "input": "r", "axes": [0]},
           "p": {"op": "matmul", "inputs": ["r2", "r"]},
           "r2": {"op": "random", "shape": [30, 50], "seed": 8}},
 "targets": ["b", "r", "s", "p", "r2"]}
J
for chunk in 1M 1000; do
    granary run --discard --chunk-bytes $chunk -o b="$work/b.npy" -o r="$work/r$chunk.npy" -o s="$work/s$chunk.npy" \
        -o p="$work/p.npy" -o r2="$work/r2.npy" "$work/t.json"
    /usr/bin/python3 - "$work" "$chunk" <<'PY' || fail "numpy disagrees"
import math, sys
import numpy as np
work, chunk = sys.argv[1:]
load = lambda name: np.load(f"{work}/{name}.npy")
b, r, s, p, r2 = load("b"), load("r" + chunk), load("s" + chunk), load("p"), load("r2")
assert b.dtype == np.int64 and (b == np.arange(24).reshape(4, 6) * 3).all()
assert r.shape == (50, 40) and (r >= 0).all() and (r < 1).all() and abs(r.mean() - 0.5) < 0.05
assert all(s[j] == math.fsum(r[:, j]) for j in range(40))
assert np.allclose(p, r2 @ r, rtol=1e-13)
PY
done
same "$work/r1M.npy" "$work/r1000.npy"
same "$work/s1M.npy" "$work/s1000.npy"

# The example for Python maps a table's chunks.
library=$(dirname "$GRANARY_BIN")/lib/libgranary.so
runtime=$(ldd "$library" | awk '/asan/ {print $3}')
printf 'n,x,s,t\n1,0.5,a,2020-01-01 00:00:00\n2,1.5,b,2020-01-03 12:00:00\n' >"$work/map.csv"
granary load map "$work/map.csv" >/dev/null
LD_PRELOAD=$runtime ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 GRANARY_LIBRARY=$library \
    /usr/bin/python3 "$GRANARY_SOURCE/libclient/examples/map.py" map >"$work/means" || fail "map.py: $(cat "$work/means")"
[ "$(cat "$work/means")" = "$(printf 'n int64 1.5\nx float64 1.0\nt timestamp 2020-01-02T06:00:00.000000')" ] || fail "map.py: $(cat "$work/means")"
