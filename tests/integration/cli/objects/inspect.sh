#!/bin/bash
# What the command line tells of an instance by itself: while its store serves, is stopped, is dead, and of a copy.
. "$(dirname "$0")/../lib.sh"

# json COMMAND...: remember what it prints with --json, for check_json
json() {
    "$@" --json >>"$work/json" 2>/dev/null || fail "'$* --json': exit status $?"
    printf '\0' >>"$work/json"
}

check_json() {
    python3 -c 'import json, sys
for text in sys.stdin.read().split("\0")[:-1]: json.loads(text)' <"$work/json" || fail "no JSON in: $(tr '\0' '\n' <"$work/json")"
    rm "$work/json"
}

# tells STATUS PATTERN COMMAND...: it ends with this exit status, and prints a line that matches
tells() {
    local want=$1 pattern=$2 status=0
    shift 2
    "$@" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = "$want" ] || fail "'$*': exit status $status instead of $want: $(cat "$work/out" "$work/err")"
    grep -qE -- "$pattern" "$work/out" || fail "'$*': no '$pattern' in: $(cat "$work/out")"
}

# says PATTERN COMMAND...: it works, and prints a line that matches
says() {
    tells 0 "$@"
}

# tour LIFE: every command that looks, and what they must tell of an instance whose store is LIFE
tour() {
    says "$pinned .*memory +1" granary ls
    says "^where +memory" granary stat "$leased"
    says '^sealed +[1-9]' granary stat
    says '^ +0 +[1-9]' granary stat --nodes
    says "$pinned +pin +session" granary pins
    says 'default +serving' granary sessions
    says 'closed|open|idle' granary segments
    says "$pinned .*bytes $(stat -c %s $birds)" granary events --id "$pinned"
    says 'it is pinned until it is unpinned' granary why "${pinned:0:12}"
    says '^clean: 2 objects' granary fsck --verify
    says "store $1" granary top --once
    for command in ls stat "stat $leased" "stat --nodes" pins leases clients sessions segments "why $pinned" fsck "top --once"; do
        # shellcheck disable=SC2086
        json granary $command
    done
    check_json
}

granary up --executors 1 --memory 64M >/dev/null
remember_prefix
pinned=$(granary put $birds)
leased=$(granary put $birds)
deleted=$(granary put $birds)
granary pin "$pinned"
granary rm "$deleted"
store=$(grep -o '"store_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$')

# Somebody who reads slowly holds a lease until the last byte is out of his hands.
mkfifo "$work/fifo"
granary get "$leased" -o "$work/fifo" &
reader=$!
exec 5<"$work/fifo"
head -c 1 <&5 >/dev/null
says "$leased .* 1  granary" granary leases
says 'it is leased 1 time by client' granary why "$leased"
says "$reader +granary" granary clients

tells 4 'it was deleted at' granary why "$deleted"
tells 4 'not there' granary why ffffffffff
expect 4 "no graph of that key, and no object" granary why xyz
says 'nobody waits' granary why
expect 2 '--state' granary ls --state nowhere
[ "$(granary ls --pinned --json | grep -c '"id"')" = 1 ] || fail "ls --pinned"
[ "$(granary ls --least 1G --json)" = "[]" ] || fail "ls --least"
expect 4 'session' granary ls --session nosuch

tour serving

# What the host lacks is no error of the test: only what is told of the instance is certain.
granary doctor >"$work/out" || [ $? = 1 ] || fail "doctor: $(cat "$work/out")"
for line in 'ok +store +pid .* serves' 'ok +mode +user' 'ok +fsck +2 objects' 'immutability +this instance is on rung [1-3]' \
    ' memory +budget 64.0 MiB' ' futex_waitv ' ' (O_DIRECT|spill) '; do
    grep -qE -- "$line" "$work/out" || fail "doctor: no '$line' in: $(cat "$work/out")"
done
granary doctor --json >"$work/json" || true
printf '\0' >>"$work/json"
check_json

# Nobody answers: what is in shared memory is told all the same, and that it may be old.
halt "$store"
tour stopped
expect 0 'is stopped and answers nobody' granary ls
tells 1 'attention +store .* is stopped and answers nobody' granary doctor
granary snapshot "$work/copy" 2>/dev/null
kill -CONT "$store"
expect 1 'exist' granary snapshot "$work/copy"

# A copy tells the same, and what is wrong with it.
says '^clean: 2 objects' granary fsck --copy "$work/copy"
says "$pinned" granary ls --copy "$work/copy"
truncate -s 4096 "$work"/copy/s1.data*
tells 8 "segment-file .*$pinned.*was truncated" granary fsck --copy "$work/copy"
printf 'garbage' >"$work/copy/root"
tells 8 '^damage *root' granary fsck --copy "$work/copy"
expect 3 'no copy' granary fsck --copy "$work"

# Sessions.
granary session create other --quota 8M
granary session create other --quota 8M --if-not-exist
expect 1 'other settings .quota.' granary session create other --if-not-exist
expect 1 'exist' granary session create other
says 'yes' granary session has other
says 'other +serving +[0-9]+ .*8.0 MiB' granary session list
says '"name": "other"' granary session list --json
says '"name": "other"' granary session --json list
id=$(granary put --session other $birds)
says 'object' granary why "$id"
says '^5$' granary counter --session other rows add 5
says '^4$' granary counter --session other rows add -1
says '^9$' granary counter --session other rows set 9
says '^9$' granary counter --session other rows wait 9
expect 6 'is 9, less than 10' granary counter --session other --timeout 0.02 rows wait 10
expect 2 'with a number' granary counter rows add
says '^ +9  rows$' granary counters --session other
says '"name": "rows", "value": 9' granary counters --session other --json
granary session delete other
tells 4 'no' granary session has other
expect 4 'other' granary session delete other
granary session delete other --if-exist
expect 2 'create, has' granary session make other

# Everybody is dead: what they left can be read.
exec 5<&-
wait "$reader" || true
pids="$(grep -o '"[a-z]*_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$') $(pgrep -f -- "--instance $work/i")"
# The store first, and nobody may start it again, nor may it hear that its parent has gone.
halt "$(grep -o '"supervisor_pid": [0-9]*' "$work/i/instance.json" | grep -o '[0-9]*$')"
kill -9 "$store"
# shellcheck disable=SC2086
kill -9 $pids 2>/dev/null || true
for pid in $pids; do
    await ended "$pid"
done
tour dead
tells 1 'attention +store +it is dead' granary doctor
expect 0 'is dead' granary events
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
expect 3 'granary up' granary fsck
