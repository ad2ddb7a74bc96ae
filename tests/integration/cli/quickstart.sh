#!/bin/bash
# tools/quickstart builds, tells how far it is, and prints a result, whatever instance the caller's shell has selected.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# Its build is build/release; another build would be made anew for this test.
[ "$GRANARY_BIN" = "$GRANARY_SOURCE/build/release/bin" ] || { echo "skipped: this is not build/release"; exit 77; }

said=$(GRANARY_INSTANCE=nobody-has-this-up GRANARY_SESSION=nor-this "$GRANARY_SOURCE/tools/quickstart" 2>&1) || fail "quickstart failed: $said"
for part in "Building in build/release" "Wildlife Species" "Canada goose"; do
    [[ $said == *"$part"* ]] || fail "quickstart does not print '$part': $said"
done

# The Python line that it prints works.
sed -n "/^PYTHONPATH=build/,/collect())'/p" <<<"$said" >"$work/line.sh"
bash "$work/line.sh" >"$work/out" || fail "the line for Python: $(cat "$work/line.sh")"
grep -q "Canada goose" "$work/out" || fail "the line for Python prints: $(cat "$work/out")"
