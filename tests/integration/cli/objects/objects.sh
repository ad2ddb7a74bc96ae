#!/bin/bash
# What the command line does with objects: in, out, parts, listings, moves, waiting, watching.
. "$(dirname "$0")/../lib.sh"

id() { printf '%032x' "$1"; }

granary up --executors 1 --memory 64M >/dev/null
remember_prefix
head -c 3000000 /dev/urandom >"$work/data"

# In and out.
[ "$(granary put --id "$(id 1)" --importance 7 --next-use 9 "$work/data")" = "$(id 1)" ] || fail "put prints the id"
# shellcheck disable=SC2002 # of a pipe nobody knows the size
cat "$work/data" | granary put --id "$(id 2)" - >/dev/null
for n in 1 2; do
    granary get "$(id $n)" >"$work/out"
    same "$work/data" "$work/out"
done
granary get --range 1000:2000000 "$(id 1)" -o "$work/part"
cmp <(tail -c +1001 "$work/data" | head -c 1999000) "$work/part" || fail "a range"
granary get --range 1M: "$(id 1)" -o "$work/part"
cmp <(tail -c +1048577 "$work/data") "$work/part" || fail "an open range"
granary cat "$(id 1)" "$(id 2)" | cmp - <(cat "$work/data" "$work/data") || fail "cat"
expect 2 'ends before it begins' granary get --range 5:1 "$(id 1)"
expect 2 'FROM:TO' granary get --range 5 "$(id 1)"
expect 2 'has 3000000 bytes' granary get --range 5:4000000 "$(id 1)" -o "$work/beyond"
expect 2 'from 0 to 255' granary put --importance 256 "$work/data"
expect 2 'level' granary put --persist=attic "$work/data"
expect 1 'exists' granary put --id "$(id 1)" "$work/data"
granary stat "$(id 1)" | grep -q 'importance 7' || fail "importance is shown"
granary stat --json "$(id 1)" | grep -q '"next_use": 9' || fail "next use is shown"

# Export, import, digest.
granary export "$(id 1)" >"$work/object"
granary rm "$(id 1)"
[ "$(granary import <"$work/object")" = "$(id 1)" ] || fail "import prints the id"
granary import --id "$(id 3)" "$work/object" >/dev/null
[ "$(granary digest "$(id 1)" "$(id 2)" "$(id 3)" | cut -d' ' -f1 | sort -u | wc -l)" = 1 ] || fail "equal data, equal digests"
granary get "$(id 3)" | cmp - "$work/data" || fail "what was imported"
flip "$work/object" 2000000
expect 8 'chunk 1' granary import --id "$(id 4)" "$work/object"
head -c 100 "$work/object" >"$work/short"
expect 8 'chunk 0' granary import --id "$(id 4)" "$work/short"
expect 4 'no more objects' granary import /dev/null
expect 4 'not found' granary export "$(id 9)" -o "$work/none"

# Listings.
for n in 16 17 18 19; do
    head -c $((n * 1000)) "$work/data" | granary put --id "$(id $n)" - >/dev/null
done
granary pin "$(id 17)"
[ "$(granary ls --pinned --json | grep -c '"id"')" = 1 ] || fail "pinned ones"
[ "$(granary ls --least 17000 --most 19000 --json | grep -c '"id"')" = 3 ] || fail "by size"
[ "$(granary ls --state memory --level memory | wc -l)" = 8 ] || fail "by state and level"
[ "$(granary ls 0000000000000000000000000000001 --json | grep -c '"id"')" = 4 ] || fail "by prefix"
cursor=0 seen=0
while :; do
    seen=$((seen + $(granary ls --limit 3 --cursor "$cursor" --json 2>"$work/err" | grep -c '"id"' || true)))
    cursor=$(sed -n 's/.*--cursor \([0-9]*\)$/\1/p' "$work/err")
    [ -n "$cursor" ] || break
done
[ $seen = 7 ] || fail "page by page: $seen objects"
expect 2 'none of' granary ls --state gone
expect 2 'hex' granary ls xyz

# Moves.
granary move --from memory "$(id 1)" --to disk
granary stat "$(id 1)" | grep -q '^where     disk' || fail "spilled on request"
[ "$(granary ls --state disk | wc -l)" = 2 ] || fail "spilled ones"
before=$(granary stat --json | grep -o '"frame_bytes": [0-9]*' | grep -o '[0-9]*')
granary get --range 1500000:1500100 "$(id 1)" | cmp - <(tail -c +1500001 "$work/data" | head -c 100) || fail "part of a spilled one"
after=$(granary stat --json | grep -o '"frame_bytes": [0-9]*' | grep -o '[0-9]*')
[ $((after - before)) -gt 0 ] && [ $((after - before)) -lt 1000000 ] || fail "a part costs $((after - before)) bytes"
granary stat "$(id 1)" | grep -q '^where     disk' || fail "a part brings nothing else back"
granary prefetch "$(id 1)"
granary move --to memory "$(id 1)"
granary stat "$(id 1)" | grep -q '^where     memory' || fail "brought back"
granary put --id "$(id 5)" --persist "$work/data" >/dev/null
granary stat "$(id 5)" | grep -q '^flags.* persistent' || fail "persisted"
expect 2 'where to' granary move "$(id 1)"
expect 4 'not found' granary move --to disk "$(id 9)"

# Rows and columns of a frame, as an Arrow file of their own.
granary run --discard --arrow "$work/whole.arrow" libclient/examples/birdstrikes.json >/dev/null
granary put --id "$(id 6)" "$work/whole.arrow" >/dev/null
granary get --rows 0:2 "$(id 6)" -o "$work/rows.arrow"
[ "$(head -c 6 "$work/rows.arrow")" = ARROW1 ] || fail "rows are an Arrow file"
[ "$(stat -c %s "$work/rows.arrow")" -lt "$(stat -c %s "$work/whole.arrow")" ] || fail "two rows are less than all"
granary get --rows 0: "$(id 6)" | cmp - "$work/whole.arrow" || fail "all rows"
expect 4 "no column 'nowhere'" granary get --columns nowhere "$(id 6)" -o "$work/rows.arrow"
expect 2 'the frame has' granary get --rows 5:1000000 "$(id 6)" -o "$work/rows.arrow"

# Waiting.
(sleep 0.2 && granary put --id "$(id 33)" "$work/part" >/dev/null) &
[ "$(granary wait --any "$(id 33)" "$(id 34)")" = "$(id 33)" ] || fail "any"
wait
granary wait "$(id 33)" "$(id 1)" | wc -l | grep -q '^2$' || fail "all"
expect 6 'in time' granary wait --timeout 0.1 "$(id 33)" "$(id 34)"
expect 2 'hex' granary wait zzz

# Watching.
granary watch --kinds seal,delete -n 2 >"$work/events" &
watcher=$!
for n in $(seq 100 160) $(seq 1000 3000); do # the watcher may come late
    granary put --id "$(id "$n")" "$work/part" >/dev/null
    kill -0 $watcher 2>/dev/null || break
done
wait $watcher || fail "watch"
[ "$(grep -c ' seal ' "$work/events")" = 2 ] || fail "two seals: $(cat "$work/events")"
expect 2 'no kind' granary watch --kinds birth
granary watch --existing --kinds delete -n "$(granary ls --json | grep -c '"id"')" --json >"$work/events"
grep -q "\"id\": \"$(id 33)\"" "$work/events" || fail "what is there is not told"

# Several are deleted; what is not there is told.
expect 4 'not found' granary rm "$(id 16)" "$(id 9)" "$(id 17)"
expect 4 'not found' granary stat "$(id 17)"

# Memory is freed by order, and a container goes with what it has.
for n in 201 202 203; do
    head -c 1000000 /dev/zero | granary put --id "$(id $n)" - >/dev/null
done
granary evict 1M --json | grep -q '"bytes": *[0-9]\{7\}' || fail "evict"
[ "$(granary ls --state disk | wc -l)" -gt 1 ] || fail "nothing is on disk"
expect 2 'nonsense' granary evict nonsense
expect 4 'not found' granary rm --recursive "$(id 9999)"
granary rm --recursive "$(id 201)" "$(id 202)" "$(id 203)"
expect 4 'not found' granary stat "$(id 203)"

# What is persistent would outlive the instance.
granary rm "$(id 1)" "$(id 5)"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
