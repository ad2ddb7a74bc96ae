#!/bin/bash
# One fragment: results in files, whole or not at all, used again, and made anew when they are damaged.
# shellcheck source=tests/integration/cluster/plans.sh
. "$(dirname "$0")/plans.sh"
plan "$work/plan.json"

# One instance for all of them: a runner leaves nothing in it.
export GRANARY_INSTANCE="$work/i"
granary up -e 1 --memory 64M >/dev/null
remember_prefix
run() {
    granary cluster fragment --directory "$d" --node here "$work/plan.json" "$@"
}
again() { # read what s1 has left
    rm -f "$d/$s2-0.done"
    run s2 0
}
empty() {
    [ "$(granary ls --json)" = "[]" ] || fail "objects are left: $(granary ls)"
    [ "$(granary graphs --json)" = "[]" ] || fail "graphs are left: $(granary graphs)"
}

run s0 0 | grep -qx 'stage s0, partition 0 of 2: 1 chunk, [0-9.]* KiB, on here' || fail "what it tells"
run s0 1 >/dev/null
run s1 0 --json | grep -q '"stage": "s1", "partition": 0, "partitions": 2, "chunks": 1, .*"was_there": false' || fail "--json"
run s1 1 >/dev/null
run s2 0 >/dev/null
run s3 0 | grep -q '3 chunks' || fail "a tensor of several chunks"
empty

# What is there is used again, also by a plan that was cut elsewhere.
stamp=$(stat -c %Y.%i "$d/$s2-0.0.object")
run s2 0 | grep -q 'there already, made on here' || fail "not used again"
[ "$(stat -c %Y.%i "$d/$s2-0.0.object")" = "$stamp" ] || fail "written again"
[ "$(find "$d" -type f | wc -l)" = $((6 * 2 + 2)) ] || fail "files: $(ls -A "$d")"

# A writer that was killed has no last file: what is there does not count, and is replaced by the same bytes.
cp "$d/$s1-0.0.object" "$work/before"
rm "$d/$s1-0.done"
: >"$d/.$s1-0.there-1.new"
expect 8 "stage 's2', partition 0, on here: results of stage 's1', partition 0: .*has no results" again
run s1 0 >/dev/null
same "$d/$s1-0.0.object" "$work/before"

# Damage: the file is named. Whoever reads it has it made anew; whoever made it makes it anew.
flip "$d/$s1-0.0.object" 200
run s1 0 2>"$work/err" | grep ' on here' >/dev/null || fail "a damaged result was used"
grep -q "$s1-0.0.object: chunk 0: its checksum is wrong: it is made anew" "$work/err" || fail "damage: $(cat "$work/err")"
same "$d/$s1-0.0.object" "$work/before"
flip "$d/$s1-0.0.object" 200
expect 8 "stage 's1', partition 0: $d/$s1-0.0.object: .*checksum" again
[ ! -e "$d/$s1-0.done" ] || fail "damaged results still count"
run s1 0 >/dev/null
truncate -s -3 "$d/$s1-1.0.object"
expect 8 "$s1-1.0.object: has [0-9]* bytes where" again
run s1 1 >/dev/null
cp "$d/$s3-0.1.object" "$d/$s3-0.0.object" # whole, but another one
run s3 0 >/dev/null 2>"$work/err"
grep -q "$s3-0.0.object: is not the file that was written" "$work/err" || fail "a file that was replaced: $(cat "$work/err")"
echo garbage >"$d/$s1-0.done"
expect 8 "$s1-0.done: is damaged" again
run s1 0 >/dev/null
empty

# A disk that is full: the file is named, nothing half is left, and all is well when there is room.
rm "$d/$s1-0.done" "$d/$s1-0.0.object"
(
    ulimit -f 1
    trap '' XFSZ
    expect 5 "stage 's1', partition 0, on here: $d/$s1-0.0.object: .*" granary cluster fragment --directory "$d" --node here "$work/plan.json" s1 0
)
[ -z "$(find "$d" -name "*$s1-0*" ! -name '*there*')" ] || fail "half a file: $(ls -A "$d")"
empty
run s1 0 >/dev/null
same "$d/$s1-0.0.object" "$work/before"

# What is wrong with plans, and names that are not there.
expect 4 'none.json: No such file' granary cluster fragment --directory "$d" "$work/none.json" s0 0
expect 1 "format is 2, and this granary, $version, understands format 1" granary cluster fragment --directory "$d" <(plan /dev/stdout 2) s0 0
expect 1 "the plan is of granary 9.9.9, and there has $version: install the same version" \
    granary cluster fragment --directory "$d" --node there <(plan /dev/stdout 1 9.9.9) s0 0
expect 2 "partitions 0 to 1, and no '2'" run s0 2
expect 4 "no stage 's9'" run s9 0
expect 4 '--directory /none: ' granary cluster fragment --directory /none "$work/plan.json" s0 0
expect 2 '--directory DIR' granary cluster fragment "$work/plan.json" s0 0
wrong() { # PATTERN EDIT
    sed "$2" "$work/plan.json" >"$work/wrong.json"
    expect 2 "wrong.json: $1" granary cluster fragment --directory "$d" "$work/wrong.json" s0 0
}
wrong "stage 's0': its digest needs 32 hex digits" "s/$s0/..\/0/"
wrong "stage 's1': input 't': no stage before this one is called 's2'" 's/"stage": "s0"/"stage": "s2"/'
wrong "stage 's1': input 't': 'take' is same, part or all, not 'some'" 's/"same"/"some"/'
wrong "stage 's1': input 'u': its graph has no node 'u'" 's/"inputs": {"t": {"stage": "s0"/"inputs": {"u": {"stage": "s0"/'
wrong "stage 's0': its member 'partitions' needs a number from 1 to 65536" 's/"partitions": 2, "part_of"/"partitions": 0, "part_of"/'
wrong "two stages are called 's0'" 's/"name": "s1"/"name": "s0"/'
wrong "target 'groups': stage 's1' has more than one partition" 's/"stage": "s2", "kind"/"stage": "s1", "kind"/'
wrong "line [0-9]*, column [0-9]*: " 's/"stages"//'
wrong "stage 's0': node 'out' \\(filter\\): unknown member 'were'" 's/"where"/"were"/'
wrong "no plan" 's/granary_fragments/fragments/'

# An error of the graph itself, and an instance that is not up.
sed "s/v > 1/w > 1/; s/$s0/${s0/a0/b0}/" "$work/plan.json" >"$work/wrong.json"
expect 4 "stage 's0', partition 0, on here: .*'w'" granary cluster fragment --directory "$d" --node here "$work/wrong.json" s0 0
empty
granary down >/dev/null
rm "$d/$s0-0.done"
expect 3 "stage 's0', partition 0, on here: .*no store" run s0 0

# Without an instance a private one ends with the command.
unset GRANARY_INSTANCE
run s0 0 -e 1 --memory 64M >/dev/null
nothing_left
