#!/bin/bash
# A test that cannot load its tables leaves nothing: no instance, no directory.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/tmp"
ln -s "$GRANARY_BIN"/* "$work/bin"
rm "$work/bin/granary"
cat >"$work/bin/granary" <<END
#!/bin/bash
[ "\$1" != load ] || { echo "no load" >&2; exit 1; }
[ "\$1" != up ] || echo "\$GRANARY_INSTANCE" >>"$work/instances"
exec "$GRANARY_BIN/granary" "\$@"
END
chmod +x "$work/bin/granary"

for test in "tpch.py $work/bin $GRANARY_SOURCE/tools/bench/tpch 0.01" "semantics.py $work/bin" "answers.py $work/bin"; do
    # shellcheck disable=SC2086 # words
    if TMPDIR=$work/tmp PYTHONDONTWRITEBYTECODE=1 python3 "$GRANARY_SOURCE/tests/integration/sql/"$test >"$work/out" 2>&1; then
        echo "$test: succeeded without tables" >&2
        exit 1
    fi
    grep -q "no load" "$work/out" || { cat "$work/out" >&2; exit 1; }
    [ -z "$(ls "$work/tmp")" ] || { echo "$test left $(ls "$work/tmp")" >&2; exit 1; }
done
while read -r instance; do
    ! GRANARY_INSTANCE=$instance "$GRANARY_BIN/granary" status >/dev/null 2>&1 || { echo "$instance is up" >&2; exit 1; }
done <"$work/instances"
[ "$(wc -l <"$work/instances")" = 3 ]
