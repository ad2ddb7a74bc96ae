#!/bin/sh
# Let Arrow's JavaScript implementation read our files: check.sh GOLDEN_WRITE. Needs node, and apache-arrow in
# $GRANARY_PEERS/node_modules; 77 (skipped) without.
set -eu
here=$(dirname "$(readlink -f "$0")")
command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
module=$(cd "${GRANARY_PEERS:-$here}" && node -p 'require.resolve("apache-arrow")' 2>/dev/null) || {
    echo "skipped: apache-arrow is not installed; set GRANARY_PEERS to a directory with its node_modules"
    exit 77
}
"$1" "$temporary"
APACHE_ARROW_MODULE=$module node "$here/check.mjs" "$temporary"
