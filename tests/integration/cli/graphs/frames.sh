#!/bin/bash
# The example of a stream: the last frames stay, consumers wake for the next one, and a slow one misses some.
. "$(dirname "$0")/../lib.sh"

granary up --executors 1 --memory 16M >/dev/null
remember_prefix
"$GRANARY_BIN/frames" consume cam 500 >"$work/fast" &
fast=$!
"$GRANARY_BIN/frames" produce cam 500 10 100000 || fail "produce"
wait $fast || fail "consume: $(tail -n 3 "$work/fast")"
grep -q '^frame 500: 100000 bytes of 244, ' "$work/fast" || fail "the newest frame: $(tail -n 1 "$work/fast")"
awk '$2 + 0 <= last { exit 1 } { last = $2 + 0 }' "$work/fast" || fail "frames out of order"
granary ls --json >"$work/ls"
[ "$(grep -c '"state": "memory"' "$work/ls")" = 10 ] || fail "the last ten frames stay: $(cat "$work/ls")"
"$GRANARY_BIN/frames" consume cam 1 | grep -q '^frame 500: .* 499 missed' || fail "a consumer that comes late"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
