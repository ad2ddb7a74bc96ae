#!/bin/bash
# Polars' JavaScript package and granary read one another's Arrow files: check.sh GOLDEN_WRITE. Needs node, and nodejs-polars with its
# native part in $GRANARY_PEERS/node_modules; 77 (skipped) without.
here=$(dirname "$(readlink -f "$0")")
command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
module=$(cd "${GRANARY_PEERS:-$here}" && node -p 'require("nodejs-polars"); require.resolve("nodejs-polars")' 2>/dev/null) || {
    echo "skipped: nodejs-polars cannot be loaded; set GRANARY_PEERS to a directory with its node_modules"
    exit 77
}
# shellcheck source=tests/integration/cli/lib.sh
. "$here/../../integration/cli/lib.sh"
export POLARS_MODULE=$module

mkdir "$work/ours" "$work/theirs"
"$1" "$work/ours"
node "$here/check.mjs" ours "$work/ours"

node "$here/check.mjs" write "$work/theirs"
granary up --memory 128M --executors 1 >/dev/null
remember_prefix
for compression in uncompressed lz4 zstd; do
    granary sql "SELECT * FROM '$work/theirs/$compression.arrow'" -o "$work/theirs/back-$compression.arrow"
    node "$here/check.mjs" back "$work/theirs/back-$compression.arrow"
done
