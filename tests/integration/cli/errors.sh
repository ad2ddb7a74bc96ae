#!/bin/bash
# Bad input: what is wrong, with what, and the exit status of its class.
. "$(dirname "$0")/lib.sh"

# graph NODES [TARGETS]: a graph file from the inside of "nodes"
graph() {
    printf '{"nodes": {%s}%s}' "$1" "${2:+, \"targets\": $2}" >"$work/g.json"
    echo "$work/g.json"
}
read_birds="\"s\": {\"op\": \"read_csv\", \"path\": \"$birds\"}"

expect 2 'too long|at most' granary up --instance "/tmp/$(printf 'x%.0s' $(seq 120))"
expect 2 'only letters' granary up --instance 'a name'
expect 5 '/dev/shm.*--memory|--memory.*/dev/shm' granary up --memory 100T
[ ! -e "$work/i" ] || fail "a failed up left its directory"
expect 2 'no such command' granary frobnicate
expect 2 'which graph' granary run
expect 2 'no size' granary up --memory lots
expect 2 'which one' granary bench
expect 2 'one file' granary run --arrow "$work/x.arrow" --npy "$work/x.npy" libclient/examples/damaging.json
expect 2 "'1sec' is no duration" granary run --timeout 1sec libclient/examples/damaging.json
expect 2 'leaves no time' granary run --timeout 0 libclient/examples/damaging.json
expect 2 "'soon' is no duration" granary top --interval soon
expect 2 "'soon' is no duration" granary torture sched --seconds soon
granary bench --help | grep -q -- --quick || fail "bench tells its options"

expect 2 'options come after the command' granary --session x graphs
expect 2 "no state 'busy'" granary tasks --state busy

granary up --executors 2 >/dev/null
nobody=ffffffffffffffffffffffffffffffff
for duration in 0.02 0.02s 20ms 20000us; do
    expect 6 "^granary: wait: object $nobody: not there in time" granary wait --timeout "$duration" "$nobody"
done
expect 6 "0 were there in time, $nobody was not" granary wait --timeout 20ms "$nobody" "$nobody"
expect 6 "object $nobody: not there in time" granary get --timeout 20ms "$nobody" -o "$work/x"

# What is not there is named, and what lists those that are.
expect 2 '^granary: wait nosuch: no id of 32 hex digits.*granary ls' granary wait nosuch
expect 4 "results: graph 'nosuch': not found: .granary graphs. lists them" granary results nosuch table
expect 2 "which target of graph 'nosuch'\? .granary meta nosuch. lists them" granary results nosuch
expect 4 "graphs: not found: 'nosuch': .granary info graphs. lists them" granary graph nosuch
expect 4 "graph 'nosuch': not found: .granary graphs. lists them" granary graph nosuch --level chunk
expect 4 "graph 'nosuch': not found: .granary graphs. lists them" granary await nosuch
expect 4 "name 'nosuch': not found: .granary names. lists them" granary get name:nosuch
expect 4 "session 'nosuch': not found: .granary sessions. lists them" granary session delete nosuch

# An id is put once.
taken=$(granary put --id-from taken $birds)
expect 1 "put $birds: object $taken \('taken'\) exists already, and is not changed: .granary rm $taken. deletes it, another --id-from leaves it" \
    granary put --id-from taken $birds
expect 1 "object $taken exists already.*another --id leaves it" granary put --id "$taken" $birds
granary export "$taken" >"$work/exported"
expect 1 "import: object $taken: exists already: --id or --id-from give it another id" granary import "$work/exported"
granary rm "$taken"
expect 4 'missing.json' granary run "$work/missing.json"
echo '{"nodes": {"a": {"op": ' >"$work/bad.json"
expect 2 'line [12], column [0-9]+' granary run "$work/bad.json"
expect 4 "'a'.*no-such-file.csv" granary run "$(graph '"a": {"op": "read_csv", "path": "no-such-file.csv"}')"
mkdir "$work/folder"
expect 4 "'a'.*folder.*no file" granary run "$(graph "\"a\": {\"op\": \"read_csv\", \"path\": \"$work/folder\"}")"
expect 4 "'a'.*read_csvv.*read_csv" granary run "$(graph '"a": {"op": "read_csvv", "path": "x"}')"
expect 2 "'a'.*path" granary run "$(graph '"a": {"op": "read_csv"}')"
expect 4 "'b'.*nowhere" granary run "$(graph '"b": {"op": "head", "input": "nowhere", "rows": 1}')"
expect 2 "'a'.*a -> b -> a" granary run \
    "$(graph '"a": {"op": "head", "input": "b", "rows": 1}, "b": {"op": "head", "input": "a", "rows": 1}')"
expect 4 "nothere" granary run "$(graph "$read_birds" '["nothere"]')"
expect 4 "'f'.*Wildlife Specie'?.*Wildlife Species" granary run \
    "$(graph "$read_birds, \"f\": {\"op\": \"select\", \"input\": \"s\", \"columns\": [\"Wildlife Specie\"]}")"
expect 2 "'f'.*(string|int64)" granary run \
    "$(graph "$read_birds, \"f\": {\"op\": \"filter\", \"input\": \"s\", \"where\": \"\`Cost Repair\` + \`Origin State\` > 1\"}")"
expect 2 "'f'.*position" granary run "$(graph "$read_birds, \"f\": {\"op\": \"filter\", \"input\": \"s\", \"where\": \"1 +\"}")"
expect 4 "no target" granary run -o "x=$work/x.csv" "$(graph "$read_birds")"
expect 4 "^granary: object 00112233445566778899aabbccddeeff: not found" granary get 00112233445566778899aabbccddeeff -o "$work/x"
expect 2 'hex' granary rm zzz
expect 4 'no-such-file' granary put no-such-file
expect 2 'directory' granary put /tmp

# A session that is named by mistake is not made; what contradicts itself is not half done.
expect 4 "session 'nowhere': not found: .granary session create nowhere. makes it" granary get --session nowhere 00112233445566778899aabbccddeeff
# One rule for sessions: what stores something makes one, and says so; what looks at it does not.
for looks in "ls" "watch --count 1" "graphs --session nowhere --state failed" "sessions --session nowhere"; do
    # shellcheck disable=SC2086 # a command and its options
    granary $looks --session nowhere >/dev/null 2>&1 || true
done
granary session list | grep -q nowhere && fail "a session that nobody asked for"
printf 'a\n1\n' >"$work/session.csv"
for stores in "put - --session made1" "load --session made2 t $work/session.csv" "sql --session made3 -- 'select 1'" "counter --session made4 c add 1"; do
    eval "granary $stores" </dev/null >/dev/null 2>"$work/err" || fail "$stores: $(cat "$work/err")"
    grep -qE "^granary: session 'made.' was not there: it is made$" "$work/err" || fail "$stores: $(cat "$work/err")"
done
granary load --session made2 u "$work/session.csv" >/dev/null 2>"$work/err"
[ ! -s "$work/err" ] || fail "it is there: $(cat "$work/err")"
for session in made1 made2 made3 made4; do
    granary session delete $session
done
granary session has nowhere >/dev/null && fail "a session that was named by mistake is there"
expect 2 'range.*rows' granary get --range 0:1 --rows 0:1 0011
expect 2 'granary torture store: ' granary torture store --seconds x
expect 2 'id and --id-from' granary put --id 00112233445566778899aabbccddeeff --id-from x $birds
expect 2 'nodes.*0011' granary stat --nodes 0011
expect 2 'object [0-9a-f]{32}: .*GPU' granary put --persist=gpu --id-from absent $birds
expect 4 'not found' granary stat name:absent # nothing was sealed
expect 2 'range.*99999999' granary get --range 0:99999999 "$(granary put $birds)" -o "$work/x"
granary snapshot "$work/snap" && expect 1 'to be made' granary snapshot "$work/snap"

printf '' >"$work/empty.csv"
expect 2 "'a'.*empty" granary run "$(graph "\"a\": {\"op\": \"read_csv\", \"path\": \"$work/empty.csv\", \"header\": true}")"
printf 'a,b\n' >"$work/header.csv"
granary run --discard --csv "$(graph "\"a\": {\"op\": \"read_csv\", \"path\": \"$work/header.csv\"}")" >"$work/header.out"
[ "$(cat "$work/header.out")" = "a,b" ] || fail "a header alone is a frame without rows"
printf 'a,b\n1,2\n3\n' >"$work/ragged.csv"
expect 2 "'a'.*ragged.csv:3:" granary run "$(graph "\"a\": {\"op\": \"read_csv\", \"path\": \"$work/ragged.csv\"}")"

# A number that is too large is none; two options of which one would do nothing are refused; no name is no name.
expect 2 "'4294967297' is no number from 1 to 1024" granary run --executors 4294967297 libclient/examples/damaging.json
expect 2 "'4294967297' is no number from 0 to 1024" granary up --instance "$work/j" --executors 4294967297
expect 2 "'4294967297' is no number from 1" granary up --instance "$work/j" --schedulers 4294967297
expect 2 "add, set or wait with a number" granary counter c add 99999999999999999999
expect 2 "x.npy: an NPY file holds a tensor, and these are rows" granary sql -o "$work/x.npy" "select cast('x' as int)"
expect 2 "x.npy: an NPY file holds a tensor, and these are rows" granary sql --npy "$work/x.npy" "select * from '$birds'"
expect 2 "name one of them" granary sql --csv --schema 'select 1'
expect 2 "name one of them" granary sql --csv --json 'select 1'
expect 2 "each writes the result to one file" granary sql --arrow "$work/x.arrow" -o "$work/x.csv" 'select 1'
expect 2 "^granary: load : a name has 1 to" granary load '' "$work/header.csv"
expect 2 "name, is a text of 1 to" granary sql --keep '' 'select 1'
expect 2 "ls. lists ids, and name:NAME names an object" granary get README.md -o "$work/x"
expect 8 "^granary: README.md: import: the header is not that" granary import README.md

# What could not be written to its end is removed: half of a file is not taken for the whole.
limited() { (ulimit -f 8; exec "$@"); }
birds_id=$(granary put $birds)
expect 5 "half.csv: write: File too large" limited granary sql -o "$work/half.csv" "select * from '$birds'"
[ ! -e "$work/half.csv" ] || fail "half a file of sql"
expect 5 "half.bin: write: File too large" limited granary get -o "$work/half.bin" "$birds_id"
[ ! -e "$work/half.bin" ] || fail "half a file of get"
expect 5 '^granary: /dev/full: ' granary get -o /dev/full "$birds_id"
[ -c /dev/full ] || fail "what is no regular file stays"

# Names from files do not command the terminal.
printf '\033[31mred,b\n1,2\n' >"$work/red.csv"
expect 4 "no column 'x'; there are: '.x1b\[31mred', 'b'" granary run \
    "$(graph "\"a\": {\"op\": \"read_csv\", \"path\": \"$work/red.csv\"}, \"f\": {\"op\": \"select\", \"input\": \"a\", \"columns\": \"x\"}")"

# Odd names: quotes, a comma, UTF-8, a dollar sign, a quoted newline, \N.
printf '"a ""q"" $","ümläut, x"\n1,"x\ny"\n2,\\N\n' >"$work/odd.csv"
cat >"$work/odd.json" <<J
{"nodes": {"a": {"op": "read_csv", "path": "$work/odd.csv"},
           "b": {"op": "assign", "input": "a", "columns": {"c d": "\`a \"q\" \$\` * 2", "e": "\`ümläut, x\` is null"}}}}
J
granary run --discard --csv "$work/odd.json" >"$work/odd.out"
printf '"a ""q"" $","ümläut, x",c d,e\n1,"x\ny",2,false\n2,,4,true\n' | diff - "$work/odd.out" || fail "odd names"
granary status >/dev/null || fail "the daemons live"
