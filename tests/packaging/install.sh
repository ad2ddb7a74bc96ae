#!/bin/bash
# install.sh BUILD CMAKE: install into a prefix, and build a program with what find_package() finds there. (Programs built by
# pkg-config are the store's tests.)
set -euo pipefail
build=$1 cmake=$2
dir=$(mktemp -d /tmp/granary-test-XXXXXX)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

(umask 0; exec "$cmake" --install "$build" --prefix "$dir/root" --strip) >"$dir/log" 2>&1 || fail "$(tail "$dir/log")"
root=$dir/root
for file in bin/granary share/man/man1/granary-sql.1 share/man/man3/granary_connect.3 share/man/man5/granary-graph.5 \
    share/man/man8/granary-store.8 share/bash-completion/completions/granary share/zsh/site-functions/_granary \
    share/doc/granary/tutorial.md share/doc/granary/LICENSE share/doc/granary/examples/put_get.c lib/granary/libgranary-faults.so; do
    [ -s "$root/$file" ] || fail "$file is not installed"
done
# Whatever the umask of who installs: everybody may read, nobody but him may write, and no program runs as its owner.
what_is_installed_is_nobodys_to_change() {
    local wrong
    wrong=$(find "$root" ! -type l \( -perm /6022 -o ! -perm -0444 -o -type d ! -perm -0555 \))
    [ -z "$wrong" ] || fail "modes: $(ls -ld $wrong)"
}
what_is_installed_is_nobodys_to_change
[ -z "$(find "$root" -name __pycache__ -o -type l -lname '/*')" ] || fail "links out of the prefix, or what Python compiled"
grep -q "^ExecStart=$root/bin/granary up" "$root/lib/systemd/user/granary@.service" || fail "the unit starts another granary"

# Moved elsewhere, it is found all the same.
mv "$root" "$dir/moved"
"$cmake" -S "$GRANARY_SOURCE/tests/packaging/consumer" -B "$dir/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$dir/moved" \
    -DCMAKE_C_COMPILER_WORKS=1 >"$dir/log" 2>&1 || fail "$(tail "$dir/log")"
"$cmake" --build "$dir/consumer" >"$dir/log" 2>&1 || fail "$(tail "$dir/log")"
for library in granary granary-store granary-worker; do
    needs=$(ldd "$dir/consumer/$library") # to its end: grep -q leaves at the first line that it looks for
    grep -q "lib$library.so.0.1 => $dir/moved/" <<<"$needs" || fail "$library: $needs"
    needs=$(ldd "$dir/consumer/$library-static")
    ! grep libgranary <<<"$needs" || fail "$library-static has the shared library"
    for kind in "" -static; do
        status=0
        GRANARY_INSTANCE=$dir/none "$dir/consumer/$library$kind" >"$dir/out" 2>&1 || status=$?
        [ "$status" = 1 ] && grep -q 'no store at' "$dir/out" || fail "$library$kind: $status: $(cat "$dir/out")"
    done
done
# Versions from the SONAME's up to this one are found, and no others.
for version in 0.0.9 0.1 0.1.99 0.2 0.2.1 0.3 1.0; do
    sed "s/granary 0.2 /granary $version /" "$GRANARY_SOURCE/tests/packaging/consumer/CMakeLists.txt" >"$dir/CMakeLists.txt"
    case $version in 0.1* | 0.2) wanted=0 ;; *) wanted=1 ;; esac
    "$cmake" -S "$dir" -B "$dir/asked" -G Ninja -DCMAKE_PREFIX_PATH="$dir/moved" -DCMAKE_C_COMPILER_WORKS=1 >"$dir/log" 2>&1 || true
    # The programs of the file are elsewhere, which is an error behind find_package().
    [ "$(grep -c 'compatible with requested' "$dir/log")" = "$wanted" ] || fail "version $version: $(tail "$dir/log")"
done
python=$(find "$dir/moved" -path '*/granary/__init__.py')
[ -z "$python" ] || [ ! -x /usr/bin/python3 ] || ! /usr/bin/python3 -c 'import numpy' 2>/dev/null ||
    PYTHONPATH=${python%/granary/*} /usr/bin/python3 -B -c 'import granary, importlib.metadata as m; assert m.version("granary") == granary.__version__' ||
    fail "the Python package"
