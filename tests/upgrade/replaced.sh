#!/bin/bash
# Clients read and write while another supervisor takes the instance over (granary up --replace), of other files, and again.
. "$GRANARY_SOURCE/tests/integration/cli/lib.sh"

mkdir "$work/a" "$work/b"
for place in a b; do
    cp "$GRANARY_BIN"/granary "$GRANARY_BIN"/granary-* "$work/$place/"
done
# in_place PLACE COMMAND...: a command of that installation
in_place() { "$work/$1/granary" "${@:2}"; }
# serves PLACE: all daemons are of that installation
serves() {
    local pid
    for pid in $(grep -o '"[a-z]*_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$'); do
        [[ $(readlink "/proc/$pid/exe") == "$work/$1/"* ]] || fail "process $pid is of $(readlink "/proc/$pid/exe"), not of $1"
    done
}

in_place a up --executors 1 --memory 64M >/dev/null
remember_prefix
in_place a sql 'CREATE TABLE clicks (page text)' >/dev/null
in_place a load strikes $birds >/dev/null
clients=()
for i in 1 2 3 4 5 6; do
    "$GRANARY_BIN/../tests/steady" $i >"$work/client$i" 2>&1 &
    clients+=($!)
done
for i in 1 2 3 4 5 6; do
    await grep -q ready "$work/client$i"
done
in_place b up --replace --executors 1 --memory 64M >/dev/null || fail "the first upgrade"
serves b
in_place b sql "INSERT INTO clicks VALUES ('between')" >/dev/null || fail "a statement between"
in_place a up --replace --executors 1 --memory 64M >/dev/null || fail "the second upgrade"
serves a
kill "${clients[@]}"
for i in 1 2 3 4 5 6; do
    wait "${clients[i - 1]}" || fail "client $i: $(cat "$work/client$i")"
done
[ "$(in_place a sql --csv 'SELECT count(*) AS n FROM clicks' | tail -n 1)" = 1 ] || fail "a table that changes"
[ "$(in_place a sql --csv 'SELECT count(*) AS n FROM strikes' | tail -n 1)" = 10000 ] || fail "a loaded table"
in_place a fsck >/dev/null || fail "fsck after two upgrades"
in_place a down >/dev/null
in_place b up --replace --executors 1 >/dev/null || fail "up --replace of an instance that is not up"
in_place b down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
