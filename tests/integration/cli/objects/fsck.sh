#!/bin/bash
# fsck on an instance that spills: clean after kill -9 and after the next store took over; damage to copies is named.
. "$(dirname "$0")/../lib.sh"

# finds PATTERN OPTION...: fsck of the copy says it is damaged, and how
finds() {
    local pattern=$1 status=0
    shift
    granary fsck --copy "$work/bad" "$@" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = 8 ] || fail "fsck $*: exit status $status instead of 8: $(cat "$work/out" "$work/err")"
    grep -qE -- "^damage +$pattern" "$work/out" || fail "fsck $*: no '$pattern' in: $(cat "$work/out")"
}

# spoil: a fresh copy of the copy
spoil() {
    rm -rf "$work/bad"
    cp -r --sparse=always "$work/copy" "$work/bad"
}

clean() {
    granary fsck --verify "$@" >"$work/out" 2>"$work/err" || fail "fsck $*: $(cat "$work/out" "$work/err")"
    grep -q "^clean: 10 objects" "$work/out" || fail "fsck $*: $(cat "$work/out")"
}

granary up --executors 1 --memory 16M --spill-dir "$work/one" --spill-dir "$work/two=1G" >/dev/null
remember_prefix
for _ in 0 1 2 3 4 5 6 7 8 9; do
    head -c 2500000 /dev/urandom | granary put - >>"$work/ids"
done
clean
[ "$(granary ls --state disk --json | grep -c '"id"')" -gt 2 ] || fail "nothing was spilled: $(granary ls)"

granary status | grep -qE "^spill +[0-9.]+ M.* in $work/one/granary-.*, .*/s" || fail "status: $(granary status)"
granary status | grep -qE "^spill +[0-9.]+ M.* of 1.* in $work/two/granary-" || fail "status: $(granary status)"

# A part of a spilled object is brought back as something of the store's own.
id=$(granary ls --state disk | tail -n 1 | cut -d ' ' -f 1)
granary get "$id" --range 1000000:1001000 -o "$work/part"
clean
[ "$(granary ls --json | grep -c '"id"')" = 10 ] || fail "parts are listed"

store=$(grep -o '"store_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$')
halt "$store"
granary snapshot "$work/copy" 2>/dev/null
id=$(granary ls --state disk 2>/dev/null | tail -n 1 | cut -d ' ' -f 1)
file=$(granary stat "$id" --json 2>/dev/null | grep -o '"spill_file": [0-9]*' | grep -o '[0-9]*$')
kill -CONT "$store"
clean --copy "$work/copy"

spoil
rm "$work/bad/spill/spill.$file"
finds "spill-missing +object $id: is on disk, but spill file $file"
spoil
truncate -s 100000 "$work/bad/spill/spill.$file"
finds "spill-file .*spill.$file"
spoil
flip "$work/bad/spill/spill.$file" 20
finds "spill-file .*spill.$file: its header"
spoil
flip "$work/bad/spill/spill.$file" 300000
granary fsck --copy "$work/bad" >/dev/null || fail "a flipped byte of a frame is seen only with --verify"
finds "spill-bytes +object [0-9a-f]{32}: spill file .*spill.$file: byte [0-9]+: " --verify
spoil
cp "$work/bad/spill/spill.$file" "$work/bad/spill/spill.99999"
finds "spill-file .*spill.99999: its header names another number"
rm -rf "$work/bad"

# The store is killed; the next one, which the supervisor starts, has everything.
kill -9 "$store"
await ended "$store"
while read -r id; do
    granary get "$id" -o "$work/object"
    [ "$(stat -c %s "$work/object")" = 2500000 ] || fail "object $id after a restart"
done <"$work/ids"
clean

# Both directories have a part; one goes, with the store: its objects are damaged, each by itself, and all others are there.
store=$(grep -o '"store_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$')
mv "$work/two" "$work/gone"
touch "$work/two"
kill -9 "$store"
await ended "$store"
there=0
while read -r id; do
    if granary get "$id" -o "$work/object" 2>"$work/err"; then
        there=$((there + 1))
    else
        grep -qE "the object.s spilled copy is damaged" "$work/err" || fail "object $id: $(cat "$work/err")"
    fi
done <"$work/ids"
[ "$there" -gt 1 ] && [ "$there" -lt 10 ] || fail "$there of ten objects are there"
granary doctor >"$work/out" || true
grep -q "$work/two/.* could not be written" "$work/out" || fail "doctor: $(cat "$work/out")"
granary status | grep -q "$work/two/.*writing fails" || fail "status: $(granary status)"
for _ in 0 1 2 3 4 5 6 7 8 9; do
    head -c 2500000 /dev/urandom | granary put - >/dev/null
done
granary fsck --verify >"$work/out" && fail "fsck does not miss the directory"
grep -q "^note .*spill directory $work/two/.* its spill files were not looked at" "$work/out" || fail "fsck: $(cat "$work/out")"
[ "$(grep -c '^damage' "$work/out")" = $((10 - there)) ] || fail "fsck: $(cat "$work/out")"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
