#!/bin/bash
# Tensors that change, from several processes: made, written, put, read at times, sealed; and compared with NumPy.
. "$(dirname "$0")/../lib.sh"

cd "$work"
granary up --executors 1 >/dev/null
remember_prefix

granary tensor create board --shape 20x30 --dtype float64 --fill nan --chunk 7x8
granary tensor create board --shape 20x30 --dtype float64 --fill nan --chunk 7x8 --if-not-exists
expect 1 "'board': the name is taken.*--if-not-exists" granary tensor create board --shape 3
expect 2 "^granary: tensor .board.: it has another dtype, shape, chunks or fill" granary tensor create board --shape 3 --if-not-exists
expect 2 "'other': --shape is missing" granary tensor create other
expect 2 "'3xx4' is no shape" granary tensor create other --shape 3xx4
expect 2 "--chunk has 1 dimensions, and --shape 2" granary tensor create other --shape 3x4 --chunk 2
expect 2 "no dtype 'float65'" granary tensor create other --shape 3 --dtype float65
expect 2 "^granary: tensor .other.: fill 'x' is no value of int8" granary tensor create other --shape 3 --dtype int8 --fill x
expect 4 "'nosuch': there is none of that name: .granary table list" granary tensor read nosuch
expect 2 "'x' is no value of float64" granary tensor write board 1 x
expect 2 "'x' is no slice" granary tensor write board x 1
expect 2 "no list of positions" granary tensor read board '[1,x]'
expect 2 "'99999999999999999999.' is too large" granary tensor read board '[99999999999999999999]'
expect 2 "'99999999999999999999x2' is too large" granary tensor create other --shape 99999999999999999999x2
expect 2 "'1x2x3x4x5x6x7x8x9' is no shape" granary tensor create other --shape 1x2x3x4x5x6x7x8x9
expect 2 "'3x' is no shape" granary tensor create other --shape 3x
expect 2 "'x' is no number" granary tensor put board x 0
expect 2 "at most 32 hex digits" granary tensor put board 0 y
expect 2 "20" granary tensor read board 20

# Random selections, each a process of its own, as NumPy has them.
/usr/bin/python3 - <<'P' || fail "not as NumPy"
import random, subprocess, sys
import numpy as np

rng = random.Random(1)
want = np.full((20, 30), np.nan)
mask = np.array([[(i * j) % 3 == 0 for j in range(30)] for i in range(20)])
np.save("mask.npy", mask)


def granary(*words):
    return subprocess.run(["granary", "tensor", *words], check=True, capture_output=True, text=True).stdout


def part(extent):
    kind = rng.randrange(4)
    if kind == 0:
        return str(rng.randrange(-extent, extent))
    if kind == 1:
        return "[" + ",".join(str(rng.randrange(-extent, extent)) for _ in range(3)) + "]"
    start, stop = rng.randrange(-extent, extent), rng.randrange(-extent, extent)
    return f"{start}:{stop}:{rng.choice([1, 2, 3, -1, -2])}" if kind == 2 else f"::{rng.choice([1, 4, -3])}"


for n in range(24):
    text = rng.choice([f"{part(20)},{part(30)}", part(20), f"...,{part(30)}", "mask.npy", f"{part(20)},..."])
    index = mask if text == "mask.npy" else eval(f"np.s_[{text}]")
    if n % 2:
        values = np.arange(want[index].size, dtype="f8").reshape(want[index].shape) + n
        np.save("values.npy", values)
        granary("write", "board", text, "values.npy")
        want[index] = values
    else:
        granary("write", "board", text, str(n / 4))
        want[index] = n / 4
    text = rng.choice([f"{part(20)},{part(30)}", part(20), f"...,{part(30)}", "mask.npy"])
    index = mask if text == "mask.npy" else eval(f"np.s_[{text}]")
    granary("read", "--output", "got.npy", "board", text)
    np.testing.assert_array_equal(np.load("got.npy"), want[index], err_msg=f"{n}: {text}")
granary("read", "board", "--output", "got.npy")
np.testing.assert_array_equal(np.load("got.npy"), want)
np.save("chunk.npy", np.ones((7, 8)))
np.save("ints.npy", np.ones(30, dtype="i4"))
P

# What does not fit is refused; a chunk that is an object is put.
expect 2 "int32" granary tensor write board 0 ints.npy
expect 2 "tensor .board.: values have 8 elements along dimension 1: there is room for 30" granary tensor write board 0 chunk.npy
expect 2 "is of int32: a mask is of bool" granary tensor read board ints.npy
id=$(granary put chunk.npy)
granary tensor put board 0 "$id" >/dev/null
[ "$(granary tensor read board 6,7 --json)" = "$(granary tensor read board 0,0 --json)" ] || fail "a chunk that was put"
expect 2 "chunk" granary tensor put board 99 "$id"

# Several writers, of a tensor far larger than memory.
granary tensor create wide --shape 8589934592 --dtype int8
pids=()
for ((i = 0; i < 4; i++)); do
    granary tensor write wide "$((i * 2000000000))" "$((i + 1))" >/dev/null &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "a write beside others"; done
granary tensor read wide '[0,2000000000,4000000000,6000000000,-1]' -o wide.npy
/usr/bin/python3 -c 'import numpy as np; assert np.load("wide.npy").tolist() == [1, 2, 3, 4, 0]' || fail "a sparse tensor"

# Times, a watch, a snapshot, a seal, a delete.
first=$(granary tensor write wide 0 7)
granary tensor watch wide --after 0 >/dev/null
expect 6 "" granary tensor watch wide --timeout 10ms
granary tensor read wide :1 --at "$first" -o first.npy
expect 1 "final.*--forward moves it" granary tensor write wide 0 9 --time "$first"
granary tensor write wide 0 8 >/dev/null
granary tensor read wide :1 --at "$first" -o again.npy
same first.npy again.npy
expect 2 "give --before TIME, --age DURATION or --writes N" granary tensor retain wide
kept=$(granary tensor retain wide --writes 1)
expect 1 "history before time $kept was given up" granary tensor read wide :1 --at "$first"
granary tensor snapshot wide kept >/dev/null
granary tensor seal wide >/dev/null
granary tensor read wide '[0,2000000000]' -o sealed.npy
granary tensor read kept '[0,2000000000]' -o kept.npy
same sealed.npy kept.npy
expect 1 "sealed" granary tensor write wide 0 1
granary tensor list --json | grep -q "sealed tensor" || fail "the list"
granary tensor info board | grep -q tensor || fail "info"
granary tensor delete wide kept board
expect 4 "none of that name" granary tensor read wide
