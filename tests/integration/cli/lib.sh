# What the command line's tests share: a private directory, a private instance, and nothing left behind.
set -euo pipefail
: "${GRANARY_BIN:=$PWD/build/release/bin}" "${GRANARY_SOURCE:=$PWD}"
export PATH="$GRANARY_BIN:$PATH" NO_COLOR=1 GRANARY_RECALL=off
work=$(mktemp -d /tmp/granary-test-XXXXXX)
export GRANARY_INSTANCE="$work/i"
cd "$GRANARY_SOURCE"
setsid --fork python3 "$GRANARY_SOURCE/tests/support/guard.py" $$ "$work" # should the test be killed
# shellcheck disable=SC2034 # the tests use it
birds=libclient/examples/data/birdstrikes.csv

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# remember_prefix: the shared-memory names of the instance that is up, for leftovers
remember_prefix() {
    sed -n 's|.*"shm_prefix": "/\([^"]*\)".*|\1|p' "$work/i/instance.json" >>"$work/prefixes"
}

# leftovers: shared memory and processes of instances below $work
leftovers() {
    local prefix
    pgrep -f -- "--instance $work" || true
    [ ! -e "$work/prefixes" ] || while read -r prefix; do
        find /dev/shm -maxdepth 1 -name "$prefix*"
    done <"$work/prefixes"
}

finish() {
    local status=$?
    if [ $status != 0 ] && [ -d "$work/i/log" ]; then
        tail -n 20 "$work"/i/log/*.log >&2 || true
    fi
    granary down >/dev/null 2>&1 || true
    if [ -e "$work/prefixes" ]; then # what is persistent is to outlive an instance, but not its test
        sed 's/\.$//; s/\./-/g; s|^granary-|/var/tmp/granary-|' "$work/prefixes" | sort -u | xargs rm -rf
    fi
    rm -rf "$work"
    exit $status
}
trap finish EXIT

# goes_on PID: it runs. One that has ended and that nobody has waited for has a number, too, but no program.
goes_on() {
    readlink "/proc/$1/exe" >/dev/null
}

# expect STATUS PATTERN COMMAND...: the command fails with this exit status and says something that matches, on stderr
expect() {
    local want=$1 pattern=$2 status=0
    shift 2
    "$@" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = "$want" ] || fail "'$*': exit status $status instead of $want: $(cat "$work/err")"
    grep -qE -- "$pattern" "$work/err" || fail "'$*': no '$pattern' in: $(cat "$work/err")"
}

# await COMMAND...: until it succeeds
await() {
    for _ in $(seq 1200); do
        "$@" && return
        read -r -t 0.05 <> <(:) || true
    done
    fail "never: $*"
}

# halt PID...: they are stopped, each thread of them. After kill -STOP a thread goes on until it next has a processor.
halt() {
    kill -STOP "$@"
    local pid
    for pid in "$@"; do
        await stopped "$pid"
    done
}

stopped() {
    ! grep -qv ') [Tt] ' "/proc/$1/task/"*/stat
}

# ended PID: each of its threads has. Where nobody waits for orphans it keeps its number, and kill -0 finds it.
ended() {
    ! grep -qv ') [ZX] ' "/proc/$1/task/"*/stat 2>/dev/null
}

# same FILE FILE: equal bytes
same() {
    cmp "$1" "$2" || fail "$1 and $2 differ"
}

# flip FILE OFFSET: one bit of one byte
flip() {
    python3 -c 'import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2])); byte = file.read(1); file.seek(int(sys.argv[2])); file.write(bytes([byte[0] ^ 4]))' "$1" "$2"
}
