#!/bin/bash
# A test that is killed, alone or with its process group, leaves no process, no shared memory and no directory.
. "$(dirname "$0")/lib.sh"

# The victim, a test as they all begin, brings an instance up, tells where, and waits.
cat >"$work/victim.sh" <<EOF
. "$GRANARY_SOURCE/tests/integration/cli/lib.sh"
granary up --executors 1 >/dev/null
remember_prefix
cat "\$work/prefixes"
echo "\$work"
read -r _
EOF

# die GROUP: kill a victim, or with GROUP "-" all its process group; its guard holds its output until all is clean
die() {
    local prefix theirs rest pid
    mkfifo "$work/in" "$work/told"
    exec 8<>"$work/in"
    setsid bash "$work/victim.sh" <&8 >"$work/told" 8>&- &
    pid=$!
    exec 9<"$work/told"
    read -r prefix <&9
    read -r theirs <&9
    [ -n "$(find /dev/shm -maxdepth 1 -name "$prefix*")" ] || fail "the victim's instance has no shared memory"
    kill -KILL -- "$1$pid"
    rest=$(cat <&9)
    [ -z "$rest" ] || fail "the guard said: $rest"
    [ -z "$(find /dev/shm -maxdepth 1 -name "$prefix*")" ] || fail "shared memory $prefix is left"
    [ ! -e "$theirs" ] || fail "$theirs is left"
    ! pgrep -f -- "--instance $theirs" || fail "processes are left"
    exec 8>&- 9<&-
    rm "$work/in" "$work/told"
    wait "$pid" || true
}
die ""
die "-"
