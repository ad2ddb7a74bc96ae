#!/bin/bash
# put_get.sh BUILD [SOURCE COMPILER SANITIZE]: run libclient/examples/put_get.c on a private store. With SOURCE: install
# into a fresh prefix and compile it there with what pkg-config says, as a stranger would; graph.c and sql.c as well.
set -euo pipefail
build=$1
dir=$(mktemp -d /tmp/granary-test-XXXXXX)
store=
trap '[ -z "$store" ] || { kill "$store" && wait "$store"; } 2>/dev/null || true; rm -rf "$dir"' EXIT

program=$build/bin/put_get
if [ $# -gt 1 ]; then
    if [ -n "${4:-}" ]; then
        sanitize=-fsanitize=$4
    fi
    cmake --install "$build" --prefix "$dir/root" >"$dir/install.log" 2>&1 || { cat "$dir/install.log"; exit 1; }
    pc=$(find "$dir/root" -name granary-store.pc)
    export PKG_CONFIG_PATH=${pc%/*}
    lib=$(dirname "$PKG_CONFIG_PATH")
    # shellcheck disable=SC2046,SC2086
    "$3" ${sanitize:-} -std=c11 -Wall -Werror -o "$dir/put_get" "$2/libclient/examples/put_get.c" \
        $(pkg-config --cflags --libs granary-store)
    # shellcheck disable=SC2046,SC2086
    "$3" ${sanitize:-} -std=c11 -Wall -Werror -o "$dir/graph" "$2/libclient/examples/graph.c" \
        $(pkg-config --cflags --libs granary)
    # shellcheck disable=SC2046,SC2086
    "$3" ${sanitize:-} -std=c11 -Wall -Werror -o "$dir/sql" "$2/libclient/examples/sql.c" \
        $(pkg-config --cflags --libs granary)
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

if [ $# -gt 1 ]; then # the others, twice: what they leave does not stop them
    kill "$store" && wait "$store" || true
    store=
    export GRANARY_INSTANCE=$dir/instance
    "$build/bin/granary" up --executors 1 --memory 64M >"$dir/up.log"
    trap '"$build/bin/granary" down >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
    for _ in 1 2; do
        got=$("$dir/graph" "$2/libclient/examples/data/birdstrikes.csv" | head -n 1; "$dir/sql")
        want='Canada goose               15389869
Rome      3700000
Oslo      1800000'
        [ "$got" = "$want" ] || { printf 'got:\n%s\nwant:\n%s\n' "$got" "$want"; exit 1; }
    done
fi
