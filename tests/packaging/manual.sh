#!/bin/bash
# manual.sh BUILD: each command, public function and daemon has a manual page; pages name pages that are there, and render
# without a warning.
set -euo pipefail
pages=$1/manual
fail() { echo "FAILED: $*" >&2; exit 1; }

mapfile -t commands < <(granary() { "$GRANARY_BIN/granary" "$@"; }; granary --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p')
[ ${#commands[@]} -gt 50 ] || fail "the list of commands has ${#commands[@]}"
for command in "${commands[@]}"; do
    grep -q "^\.BR granary.-$command (1)" "$pages/man1/granary.1" || fail "granary(1) lacks $command"
    grep -q "granary-$command .- ..[a-z]" "$pages/man1/granary-$command.1" || fail "granary-$command(1)"
done
for function in $(grep -hoE '^GRANARY_API[^;]*' "$GRANARY_SOURCE"/include/granary/*.h | grep -oE 'granary_\w+\(' | tr -d '('); do
    [ -s "$pages/man3/$function.3" ] || fail "$function(3)"
done
for daemon in store sched executor; do
    grep -q '^\.B .*--instance=' <(sed 's/\\-/-/g' "$pages/man8/granary-$daemon.8") || fail "granary-$daemon(8) lacks --instance"
done
# What cannot be done is told.
refused() { # STATUS PATTERN WORD...
    local want=$1 pattern=$2 status=0
    shift 2
    "$GRANARY_BIN/granary" help "$@" >/dev/null 2>"$pages.refused" || status=$?
    [ "$status" = "$want" ] && grep -q -- "$pattern" "$pages.refused" || fail "help $*: status $status: $(cat "$pages.refused")"
    rm "$pages.refused"
}
refused 1 '/nowhere/granary.1: No such file' --man /nowhere
refused 2 'no such command: `granary help` lists them' --man nothing
refused 2 'bash or zsh' --completion fish
# What refers to a page has it.
cd "$pages"
while IFS=: read -r file page; do
    [ -e "man${page: -1}/$page" ] || fail "$file refers to $page"
done < <(grep -roE '^\.BR (granary[^ ]*|granary_[^ ]*) \([0-9]\)|^\.so man3/.*' . | sed -E 's/\\-/-/g; s/:\.BR ([^ ]*) \(([0-9])\)/:\1.\2/; s/:\.so man3\//:/')
if command -v groff >/dev/null; then
    mapfile -t files < <(grep -rL '^\.so' man*)
    [ -z "$(groff -k -man -Tutf8 -ww -z "${files[@]}" 2>&1 | tee /dev/stderr)" ] || fail "warnings"
    # Signs that mean something to roff or Markdown come out as they were written.
    shown() { groff -k -man -Tutf8 -P-cbou "$1" | tr -s ' \n' ' '; }
    shown man3/granary_levels_parse.3 | grep -qF '"|", "+", "," or " "' || fail "quotes"
    shown man5/granary-spill.5 | grep -qF 'granary-<uid>-<tag>, mode 0700, below --spill-dir' || fail "code"
    shown man1/granary-get.1 | grep -qF -- '--output' || fail "options"
fi
