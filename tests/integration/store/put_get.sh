#!/bin/bash
# put_get.sh BUILD [COMPILER SANITIZE]: run libclient/examples/put_get.c on a private store. With COMPILER: install into a
# fresh prefix and compile the examples there with what pkg-config says, as a stranger would: with the shared libraries,
# and with granary's archives; then run those, and the ones that are files, from where they are installed.
set -euo pipefail
build=$1
dir=$(mktemp -d /tmp/granary-test-XXXXXX)
store=
trap '[ -z "$store" ] || { kill "$store" && wait "$store"; } 2>/dev/null || true; rm -rf "$dir"' EXIT

program=$build/bin/put_get
if [ $# -gt 1 ]; then
    compiler=$2
    if [ -n "${3:-}" ]; then
        sanitize=-fsanitize=$3
    fi
    cmake --install "$build" --prefix "$dir/root" >"$dir/install.log" 2>&1 || { cat "$dir/install.log"; exit 1; }
    pc=$(find "$dir/root" -name granary-store.pc)
    export PKG_CONFIG_PATH=${pc%/*}
    lib=$(dirname "$PKG_CONFIG_PATH")
    examples=$(dirname "$(find "$dir/root" -name put_get.c)")
    for flags in $(pkg-config --cflags granary granary-store granary-worker); do # no library below has headers in ours
        [ "${flags#-I"$dir"}" != "$flags" ] || { echo "pkg-config --cflags: $flags"; exit 1; }
    done
    for program in put_get:granary-store graph:granary sql:granary worker:granary-worker; do
        name=${program%:*} library=${program#*:}
        # shellcheck disable=SC2046,SC2086
        "$compiler" ${sanitize:-} -std=c11 -Wall -Werror -o "$dir/$name" "$examples/$name.c" \
            $(pkg-config --cflags --libs "$library")
        # A call() and a count() of its own, which the archive has, too, and keeps to itself.
        printf 'int call(void);\nint call(void) { return 1; }\nint count;\n' >"$dir/own.c"
        # shellcheck disable=SC2046,SC2086
        "$compiler" ${sanitize:-} -std=c11 -Wall -Werror -o "$dir/$name.static" "$examples/$name.c" "$dir/own.c" \
            $(pkg-config --static --cflags --libs "$library" | sed "s/-l$library /-l:lib$library.a /")
        ! ldd "$dir/$name.static" | grep libgranary || { echo "$name.static is not static"; exit 1; }
    done
    export LD_LIBRARY_PATH=$lib
    program=$dir/put_get
fi

mkfifo "$dir/ready"
GRANARY_LOG=error "$build/bin/granary-store" --instance "$dir/instance" --spill-dir "$dir/spill" --memory 32M \
    --ready-fd 3 3>"$dir/ready" &
store=$!
read -r answer <"$dir/ready"
[ "$answer" = READY ] || { echo "the store did not start: $answer"; exit 1; }

got=$(GRANARY_INSTANCE=$dir/instance "$program")
want='the producer sealed 8000000 bytes
the consumer mapped 8000000 bytes: 1000000 numbers, their sum is 499999500000'
[ "$got" = "$want" ] || { printf 'got:\n%s\nwant:\n%s\n' "$got" "$want"; exit 1; }

if [ $# -gt 1 ]; then
    got=$(GRANARY_INSTANCE=$dir/instance "$program.static")
    [ "$got" = "$want" ] || { printf 'static: got:\n%s\nwant:\n%s\n' "$got" "$want"; exit 1; }
fi

if [ $# -gt 1 ]; then # the others, twice: what they leave does not stop them
    kill "$store" && wait "$store" || true
    store=
    export GRANARY_INSTANCE=$dir/instance
    "$build/bin/granary" up --executors 1 --memory 64M >"$dir/up.log"
    trap '"$build/bin/granary" down >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
    for static in '' .static; do
        got=$("$dir/graph$static" "$examples/data/birdstrikes.csv" | head -n 1; "$dir/sql$static")
        want='Canada goose               15389869
Rome      3700000
Oslo      1800000'
        [ "$got" = "$want" ] || { printf 'got:\n%s\nwant:\n%s\n' "$got" "$want"; exit 1; }
        "$dir/worker$static" | grep -q ' subtasks$' || { echo "worker$static"; exit 1; }
    done
    cd "$examples"
    "$build/bin/granary" sql --csv @shares.sql | grep -q '^Climb,' || { echo "shares.sql"; exit 1; }
    "$build/bin/granary" run --csv --discard damaging.json | grep -qx 'Taxi,2,0,0' || { echo "damaging.json"; exit 1; }
    "$build/bin/granary" run --csv --discard birdstrikes.json | grep -q '^Canada goose,' || { echo "birdstrikes.json"; exit 1; }
    ! grep -rl libclient "$examples" --include=*.json --include=*.sql || { echo "names the source tree"; exit 1; }
fi
