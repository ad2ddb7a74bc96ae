#!/bin/bash
# The words of the commands: examples that work, short sentences. (Manual pages and completion: tests/packaging.)
. "$(dirname "$0")/lib.sh"

source=$PWD
mapfile -t commands < <(granary --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p')
[ ${#commands[@]} -gt 50 ] || fail "the list of commands has ${#commands[@]}"

# Sentences have at most 25 words.
/usr/bin/python3 - "$source/tools/cli/command/commands.def" <<'P' || fail "commands.def has long sentences"
import re, sys
text = open(sys.argv[1]).read()
long = []
for row in re.findall(r"COMMAND\(.*?\)\n(?=COMMAND|GROUP|$)", text, re.S):
    words = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', row.split(",\n", 2)[2]))
    prose = [line for part in words.split("\\v") for line in part.split("\\n") if not line.startswith("  ")]
    long += [s for line in prose for s in re.split(r"(?<=[.!?;:])\s+", line) if len(s.split()) > 25]
sys.exit("\n".join(long) or 0)
P

# Help is on stdout alone, and its first line names the parts of a command that it lists.
for command in "${commands[@]}"; do
    granary "$command" --help >"$work/help" 2>"$work/err" || fail "$command --help: status $?"
    [ ! -s "$work/err" ] || fail "$command --help: $(cat "$work/err")"
    named=$(sed -n '1s/^Usage: granary [a-z]* \([a-z]*|[a-z|]*\).*/\1/p' "$work/help" | tr '|' '\n' | sort)
    listed=$(sed -n '/^  granary /!s/^  \([a-z]*\)  *[a-zA-Z].*/\1/p' "$work/help" | sort)
    [ -z "$named" ] || [ "$named" = "$listed" ] || fail "$command: $named, but the list has $listed"
done

# Examples, in an order in which they work: what is needed first, what takes it away last.
cp "$birds" "$work/strikes.csv"
echo "some notes" >"$work/notes.txt"
cat >"$work/graph.json" <<'J'
{"nodes": {"answer": {"op": "read_csv", "path": "strikes.csv"}}, "targets": ["answer"]}
J
printf 'at,celsius\n2026-01-31 12:00,21.5\n' >"$work/readings.csv"
echo '{"celsius": 22}' >"$work/more.ndjson"
first=(up load put pin ref) last=(unpin unref forget rm down) middle=()
for command in "${commands[@]}"; do
    [[ " ${first[*]} ${last[*]} " = *" $command "* ]] || middle+=("$command")
done
cd "$work"
ran=0
# examples COMMAND: its own, then those of its parts
examples() {
    local part
    granary "$1" --help | sed -n 's/^  \(granary .*\)/\1/p'
    for part in $(granary "$1" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | grep -vx granary); do
        granary "$1" "$part" --help | sed -n 's/^  \(granary .*\)/\1/p'
    done
}
for command in "${first[@]}" "${middle[@]}" "${last[@]}"; do
    while read -r example; do
        timeout 60 bash -c "$example" >out 2>err </dev/null || fail "$example: $(cat err)"
        ran=$((ran + 1))
        [ "$command" != up ] || remember_prefix
    done < <(examples "$command")
done
[ "$ran" -gt 55 ] || fail "only $ran examples"
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
