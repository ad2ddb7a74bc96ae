#!/bin/sh
# Let NumPy read our files: check.sh GOLDEN_WRITE. 77 (skipped) without python3 and numpy.
set -eu
here=$(dirname "$(readlink -f "$0")")
python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || {
    echo "skipped: python3 with numpy is not installed"
    exit 77
}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
"$1" "$temporary"
"$python" "$here/check.py" "$temporary"
