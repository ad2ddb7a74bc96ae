#!/bin/bash
# Clients of every version that was ever released: what they said to store and scheduler is answered as it was then.
. "$(dirname "$0")/../integration/cli/lib.sh"

granary up --executors 1 --spill-dir "$work/spill" >/dev/null
for session in tests/upgrade/fixtures/*.session; do
    python3 tests/upgrade/wire.py "$session" "$work/i" || fail "$session"
done
granary fsck >/dev/null || fail "fsck: $(granary fsck)"
! grep -h PROTOCOL "$work"/i/log/*.log || fail "somebody broke the protocol"

# One that is spoilt is seen: what is above can fail.
sessions=(tests/upgrade/fixtures/store-*.session)
sed "/'default'\*64 'old'/s/'default'/'spoilt'/
     /^# NAME_GET/,/^$/s/61000000000000000100000000000000/61000000000000000100000000000001/" \
    "${sessions[-1]}" >"$work/store-spoilt.session"
expect 1 'store-spoilt.session:[0-9]*: the answer, at 35: 01 was expected, not 00' \
    python3 tests/upgrade/wire.py "$work/store-spoilt.session" "$work/i"
