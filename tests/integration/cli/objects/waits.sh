#!/bin/bash
# Every wait is named: who, for what, since when, and what holds it. None is silent, and each ends when it is told to.
. "$(dirname "$0")/../lib.sh"

# until_says PATTERN COMMAND...: some time or other the command says it
until_says() {
    local pattern=$1
    shift
    for ((i = 0; i < 600; i++)); do
        "$@" >"$work/out" 2>&1 || true
        ! grep -qE -- "$pattern" "$work/out" || return 0
        sleep 0.1
    done
    fail "'$*' never says '$pattern': $(cat "$work/out")"
}

granary up --executors 1 --memory 16M >/dev/null
remember_prefix
granary why | grep -q '^nobody waits$' || fail "somebody waits: $(granary why)"
granary doctor >"$work/out" || true
grep -q '^ok *room .*can be had' "$work/out" || fail "memory: $(cat "$work/out")"
grep -q '^ok *waits ' "$work/out" || fail "waits: $(cat "$work/out")"

# All of memory is pinned: doctor says so, status names it, and who waits for room is named while it does.
head -c 16700000 /dev/zero >"$work/all"
all=$(granary put "$work/all")
granary pin "$all"
! granary doctor >"$work/out" || fail "nothing needs attention: $(cat "$work/out")"
grep -q '^attention  room  .*15.9 MiB of 16.0 MiB are in 1 pinned object,.* puts of more than .* will fail' "$work/out" || fail "doctor: $(cat "$work/out")"
granary status | grep -q '^pinned *15.9 MiB in 1 object' || fail "status: $(granary status)"
granary put --timeout 100s "$work/all" >"$work/second" 2>"$work/said" &
until_says 'client [0-9]* \(granary, pid [0-9]*\) waits for room to write, 15.9 MiB, for [0-9]* s' granary why
grep -q 'of the store.s 16.0 MiB of memory 15.9 MiB are in objects' "$work/out" || fail "who holds it: $(cat "$work/out")"
granary why --json | python3 -c 'import json, sys
assert [fact["code"] for fact in json.load(sys.stdin)["facts"]] == ["wait", "store-memory", "pinned"]'
until_says '1 clients wait for room' granary top --once
until_says 'waits for room' cat "$work/said"
granary unpin "$all"
wait $!
[ "$(cat "$work/second")" != "$all" ] || fail "the second put"

# The same with a timeout that is too short ends then, and says what holds the memory, in units and with one sum.
second=$(cat "$work/second")
granary pin "$second"
expect 5 '15.9 MiB pinned.*pinned: 15.9 MiB by 1 pin' granary put --timeout 100ms "$work/all"
granary unpin "$second"

# Pins leave a tenth, and puts fail for want of room, though nobody waits: who pins is named, and how that ends.
for i in 1 2 3; do
    head -c 4900000 /dev/urandom >"$work/third"
    third[i]=$(granary put "$work/third")
    granary pin --reason 'my model' "${third[i]}"
done
expect 5 'pinned' granary put --timeout 100ms "$work/third"
most="14.0 MiB by 3 pins in session 'default' by pid [0-9]*, which has gone for 'my model', such as ${third[1]}"
! granary doctor >"$work/out" || fail "nothing needs attention: $(cat "$work/out")"
grep -q "^attention  room  .*14.0 MiB of 16.0 MiB are in 3 pinned objects,.* will fail; the most is pinned, $most" "$work/out" ||
    fail "doctor: $(cat "$work/out")"
grep -q -- "-> .granary unpin --session default --scope session ${third[1]}. and so on" "$work/out" || fail "remedy: $(cat "$work/out")"
granary why | grep -q "the most is pinned, $most: .granary unpin" || fail "why: $(granary why)"
granary unpin "${third[@]}"

# Whatever share is pinned: a put that failed would fail again until the pins go.
head -c 10000000 /dev/urandom >"$work/third"
granary pin --reason 'my model' "${third[1]}" "${third[2]}"
expect 5 'pinned' granary put --timeout 100ms "$work/third"
! granary doctor >"$work/out" || fail "nothing needs attention: $(cat "$work/out")"
grep -q "^attention  room  .*9.3 MiB of 16.0 MiB are in 2 pinned objects,.* will fail; the most is pinned" "$work/out" ||
    fail "doctor: $(cat "$work/out")"
granary unpin "${third[1]}" "${third[2]}"
granary doctor >"$work/out" || true
grep -q '^ok *room .*can be had' "$work/out" || fail "pins that went: $(cat "$work/out")"
granary why | grep -q '^nobody waits$' || fail "somebody waits: $(granary why)"

# An object that nobody has sealed, and a counter.
granary wait --timeout 100s 00000000000000000000000000000007 &
until_says 'waits for object 00000000000000000000000000000007, which nobody has sealed yet' granary why
echo seven | granary put --id 00000000000000000000000000000007 - >/dev/null
wait $!
granary get --timeout 100s 00000000000000000000000000000008 -o "$work/late" &
until_says 'waits for object 00000000000000000000000000000008, which nobody has sealed yet' granary why
echo eight | granary put --id 00000000000000000000000000000008 - >/dev/null
wait $! || fail "get does not wait"
[ "$(cat "$work/late")" = eight ] || fail "get: $(cat "$work/late")"
granary counter c wait 5 >/dev/null &
until_says 'waits for a counter' granary why
granary counter c add 5 >/dev/null
wait $!
until_says '^nobody waits$' granary why
granary down >/dev/null

# A disk that stays full is tried again each second, and told of once a minute.
begun=$SECONDS
GRANARY_FAULT=store/spill_write:errno=ENOSPC@1+ granary up --executors 1 --memory 4M >/dev/null
head -c 1500000 /dev/urandom >"$work/some"

# Who waits for a disk that is full is told so, and asks the store a few times a second, not a hundred times.
refusals() { granary events | grep -c ROOM_FAILED || true; }
granary put "$work/some" >/dev/null
granary put "$work/some" >/dev/null
before=$(refusals)
expect 5 'No space left' granary put --timeout 3s "$work/some"
asked=$(($(refusals) - before))
[ "$asked" -ge 2 ] && [ "$asked" -le 20 ] || fail "refused $asked times in 3 s"
granary put --timeout 100s "$work/some" 2>/dev/null &
until_says 'nothing can be spilled: writing to disk, in /.*, failed .*make room on its file system' granary why
kill $!
wait $! 2>/dev/null || true
before=$(refusals)
granary put --timeout 8s "$work/some" >"$work/second" 2>"$work/said" &
again() { [ "$(refusals)" -lt $((before + 2)) ] || echo refused again; }
until_says 'refused again' again
store_pid=$(grep -o '"store_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$')
halt "$store_pid"
wait $! && fail "there was room"
kill -CONT "$store_pid"
grep -q 'No space left' "$work/said" || fail "why there was no room: $(cat "$work/said")"
failures() {
    granary put --timeout 200ms "$work/some" >/dev/null 2>&1 || true
    granary events | grep -c DISK_FAILED
}
until_says '^([3-9]|[1-9][0-9]+)$' failures
told=$(grep -c SPILL-FAILED "$work/i/log/store.log")
[ "$told" -ge 1 ] && [ "$told" -le $((1 + (SECONDS - begun) / 60)) ] || fail "told each time: $(cat "$work/i/log/store.log")"
granary down >/dev/null
