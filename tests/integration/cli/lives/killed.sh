#!/bin/bash
# A test that is killed, alone or with its process group, leaves no process, no shared memory and no directory.
. "$(dirname "$0")/../lib.sh"

# The victims, tests as they all begin, bring an instance up, tell where, and a process that goes on, and wait.
cat >"$work/victim.sh" <<EOF
. "$GRANARY_SOURCE/tests/integration/cli/lib.sh"
granary up --executors 1 >/dev/null
remember_prefix
cat "\$work/prefixes"
echo "\$work"
granary watch >/dev/null &
echo \$!
read -r _
EOF
cat >"$work/victim.py" <<EOF
import json, subprocess, sys
sys.path.insert(0, "$GRANARY_SOURCE/tests/support/py")
from command_line import CommandLine
with CommandLine("$GRANARY_BIN") as line:
    with open(f"{line.base}/i/instance.json") as told:
        print(json.load(told)["shm_prefix"].lstrip("/"))
    print(line.base)
    print(line.start("watch", stdout=subprocess.DEVNULL).pid, flush=True)
    sys.stdin.readline()
EOF

# die GROUP PROGRAM VICTIM: kill a victim, or with GROUP "-" all its process group; its guard holds its output until all is clean
die() {
    local prefix theirs lasting rest pid
    mkfifo "$work/in" "$work/told"
    exec 8<>"$work/in"
    setsid "$2" "$work/$3" <&8 >"$work/told" 8>&- &
    pid=$!
    exec 9<"$work/told"
    read -r prefix <&9
    read -r theirs <&9
    read -r lasting <&9
    goes_on "$lasting" || fail "what goes on does not"
    [ -n "$(find /dev/shm -maxdepth 1 -name "$prefix*")" ] || fail "the victim's instance has no shared memory"
    kill -KILL -- "$1$pid"
    rest=$(cat <&9)
    [ -z "$rest" ] || fail "the guard said: $rest"
    [ -z "$(find /dev/shm -maxdepth 1 -name "$prefix*")" ] || fail "shared memory $prefix is left"
    [ ! -e "$theirs" ] || fail "$theirs is left"
    ! pgrep -f -- "--instance $theirs" || fail "processes are left"
    ! goes_on "$lasting" || fail "what the victim started goes on"
    exec 8>&- 9<&-
    rm "$work/in" "$work/told"
    wait "$pid" || true
}
for group in "" -; do
    die "$group" bash victim.sh
    PYTHONDONTWRITEBYTECODE=1 die "$group" /usr/bin/python3 victim.py
done

# One that fails leaves nothing either.
sed 's/sys.stdin.readline()/raise SystemExit(3)/' "$work/victim.py" >"$work/failing.py"
status=0
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$work/failing.py" >"$work/told" || status=$?
[ $status = 3 ] || fail "the failing victim: $status"
! goes_on "$(tail -n 1 "$work/told")" || fail "what the failing victim started goes on"
[ ! -e "$(sed -n 2p "$work/told")" ] || fail "the failing victim's directory is left"
