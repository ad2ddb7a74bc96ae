#!/bin/sh
# Let Arrow's JavaScript implementation read our files: check.sh GOLDEN_WRITE. Needs node, and apache-arrow where node
# finds it from APACHE_ARROW (a directory that has node_modules) or from here; 77 (skipped) without.
set -eu
here=$(dirname "$(readlink -f "$0")")
command -v node >/dev/null || exit 77
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
module=$(cd "${APACHE_ARROW:-$here}" && node -p 'require.resolve("apache-arrow")' 2>/dev/null) || {
    echo "skipped: apache-arrow is not installed; set APACHE_ARROW to a directory with its node_modules"
    exit 77
}
"$1" "$temporary"
APACHE_ARROW_MODULE=$module node "$here/check.mjs" "$temporary"
