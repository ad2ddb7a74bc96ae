#!/bin/bash
# An upgrade while clients read and write: the instance is taken over by programs that were installed elsewhere, and again.
. "$GRANARY_SOURCE/tests/integration/cli/lib.sh"

mkdir "$work/a" "$work/b"
for place in a b; do
    cp "$GRANARY_BIN"/granary "$GRANARY_BIN"/granary-* "$work/$place/"
done
# in_place PLACE COMMAND...: a command of that installation; it has not the clients' stdin
in_place() { "$work/$1/granary" "${@:2}" 3>&-; }
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
mkfifo "$work/until"
"$GRANARY_BIN/../tests/drill" "$work/i" "${1:-100}" <"$work/until" >"$work/said" 2>&1 &
clients=$!
exec 3>"$work/until"
for _ in $(seq 1200); do
    [ "$(in_place a ls --json | grep -c sealed)" -lt 20 ] || break
    read -r -t 0.05 <> <(:) || true
done
in_place b up --replace --executors 1 --memory 64M >/dev/null || fail "the first upgrade"
serves b
in_place b sql "INSERT INTO clicks VALUES ('between')" >/dev/null || fail "a statement between"
in_place a up --replace --executors 1 --memory 64M >/dev/null || fail "the second upgrade"
serves a
exec 3>&-
wait $clients || fail "clients: $(cat "$work/said")"
grep -q "clients, 0 failed" "$work/said" || fail "clients: $(cat "$work/said")"
[ "$(in_place a sql --csv 'SELECT count(*) AS n FROM clicks' | tail -n 1)" = 1 ] || fail "a table that changes"
[ "$(in_place a sql --csv 'SELECT count(*) AS n FROM strikes' | tail -n 1)" = 10000 ] || fail "a loaded table"
in_place a fsck >/dev/null || fail "fsck after two upgrades"
in_place a down >/dev/null
in_place b up --replace --executors 1 >/dev/null || fail "up --replace of an instance that is not up"
in_place b down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
