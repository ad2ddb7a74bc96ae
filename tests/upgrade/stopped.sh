#!/bin/bash
# An executor that stands still while the programs are replaced is replaced as well, as soon as it goes on.
. "$GRANARY_SOURCE/tests/integration/cli/lib.sh"

mkdir "$work/bin"
# install: as a package is unpacked, other files take the places of those that run.
install() {
    local program
    for program in "$GRANARY_BIN"/granary "$GRANARY_BIN"/granary-*; do
        cp "$program" "$work/new" && mv "$work/new" "$work/bin/${program##*/}"
    done
}
executors() { "$work/bin/granary" version --all --json | grep -o '"executor", *"pid": [0-9]*' | grep -o '[0-9]*$'; }

install
"$work/bin/granary" up --executors 3 --memory 64M >/dev/null
remember_prefix
before=($(executors))
[ ${#before[@]} = 3 ] || fail "executors: ${before[*]}"
kill -STOP "${before[0]}"
install
"$work/bin/granary" upgrade >"$work/said" 2>&1 &
upgrade=$!
ended() { [ ! -e "/proc/$1" ]; }
await ended "${before[1]}" # by then all were told that the scheduler knew
await ended "${before[2]}"
kill -CONT "${before[0]}"
wait $upgrade || fail "upgrade: $(cat "$work/said")"
for pid in $(executors); do
    [[ $(readlink "/proc/$pid/exe") != *deleted* ]] || fail "executor $pid runs what was installed before: $(cat "$work/said")"
done
ended "${before[0]}" || fail "the executor that stood still goes on"
"$work/bin/granary" down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
