#!/bin/bash
# Durable tables: made, found again after `granary down`, recovered when something of them is missing; and what is refused.
. "$(dirname "$0")/../lib.sh"

cd "$work"
up() { granary up --executors 1 --spill-dir "$work/spill" >/dev/null; remember_prefix; }
again() { granary down >/dev/null && up; }
up
expect 2 "'never' is not none, commit, or an interval, as 100ms" granary table create t n:int64 --durable never
expect 2 "'0s' is not none" granary tensor create t --shape 2 --durable 0s
granary tensor create kept --shape 4 --dtype int64 --durable commit
granary tensor create often --shape 2 --dtype int64 --durable 1500us
granary table create passing n:int64 --durable none
granary table create rows n:int64 --durable commit
for i in 0 1 2 3; do granary tensor write kept $i $((i + 1)) >/dev/null; done
granary tensor write often : 5 >/dev/null
first=$(printf 'n\n1\n' | granary table append rows)
printf 'n\n2\n' | granary table append rows >/dev/null
expect 1 "is there: nothing is to be recovered" granary tensor recover kept

again
granary table list --json >list.json
grep -q '"name": "kept".*"durable": "commit"' list.json || fail "$(cat list.json)"
grep -q '"name": "often".*"durable": "1500us"' list.json || fail "$(cat list.json)"
! grep -q passing list.json || fail "a table that is not durable is back"
[ "$(granary tensor read kept)" = "[1 2 3 4]" ] || fail "$(granary tensor read kept)"
[ "$(granary tensor read often)" = "[5 5]" ] || fail "$(granary tensor read often)"
[ "$(granary table read rows --csv --at "$first")" = $'n\n1' ] || fail "what was read before"
expect 1 "the name is taken" granary table create rows n:int64
[ "$(granary sql 'SELECT sum(n) AS n FROM rows' --csv)" = $'n\n3' ] || fail "SQL"
granary table seal rows >/dev/null

# A piece is missing: those before it are given back on request.
piece=$(granary ls --json | grep -o '"id": "[0-9a-f]*0200000000000000"' | cut -d'"' -f4 | head -n 1)
granary rm "$piece"
again
expect 8 "'kept': piece $piece: it is missing.*granary table recover" granary tensor read kept
expect 8 "" granary tensor write kept 0 7
granary tensor recover kept
[ "$(granary tensor read kept)" = "[1 2 0 0]" ] || fail "recovered: $(granary tensor read kept)"
granary tensor write kept 3 9 >/dev/null
expect 1 "sealed" granary table write rows 0 --set n=1
granary table delete kept rows often
again
expect 4 "none of that name" granary tensor read kept
[ "$(granary table list --json)" = "[]" ] || fail "$(granary table list --json)"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
