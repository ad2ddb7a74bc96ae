#!/bin/bash
# A plan on several machines: private instances, and hosts of which one fails, one is slow, and one does not see the directory.
# The answer is that of one machine.
# shellcheck source=tests/integration/cluster/plans.sh
. "$(dirname "$0")/plans.sh"
plan "$work/plan.json"
granary run -e 1 --memory 64M "$work/graph.json" >"$work/want"
answer() {
    granary run -e 1 --memory 64M "$@" "$work/plan.json" >"$work/got" 2>"$work/err" || fail "$*: $(cat "$work/err")"
    same "$work/got" "$work/want"
    nothing_left
}

answer --on local:2
answer --on local:1 --timeline "$work/trace.json"
python3 -c "import json, sys
events = json.load(open(sys.argv[1]))
runs = [event for event in events if event.get('cat') == 'fragment']
assert sorted(event['name'] for event in runs) == ['s0', 's0', 's1', 's1', 's2', 's3'], runs
assert all(event['dur'] > 0 and event['args']['bytes'] > 0 and event['args']['outcome'] == 'done' for event in runs), runs" "$work/trace.json"
sed 's/{"name": "groups", "stage": "s2", "kind": "frame"}, //' "$work/plan.json" >"$work/tensor.json"
granary run -e 1 --memory 64M --on local:1 "$work/tensor.json" --npy "$work/numbers.npy"
granary run -e 1 --memory 64M --csv --discard "$work/graph.json" -o "numbers=$work/want.npy" >/dev/null
same "$work/numbers.npy" "$work/want.npy"
granary run -e 1 --memory 64M --on local:2 --csv --discard "$work/plan.json" -o "numbers=$work/numbers.npy" >"$work/got"
granary run -e 1 --memory 64M --csv --discard "$work/graph.json" -o "numbers=$work/want.npy" | same /dev/stdin "$work/got"
same "$work/numbers.npy" "$work/want.npy"
nothing_left

# SQL that is cut here.
export GRANARY_INSTANCE="$work/i"
granary up -e 1 --memory 128M >/dev/null
statement="SELECT \"Origin State\" AS state, count(*) AS n, max(\"Speed IAS in knots\") AS fastest FROM '$PWD/$birds' GROUP BY 1 ORDER BY 2 DESC, 1"
granary sql "$statement" >"$work/one"
granary sql -e 1 --memory 64M --on local:2 --fragments 3 --fragment-bytes 1 "$statement" >"$work/several"
same "$work/one" "$work/several"
granary sql -e 1 --memory 64M --on local:1 --fragment-bytes 1 --keep kept "$statement" 2>/dev/null | same /dev/stdin "$work/one"
granary sql "SELECT * FROM kept ORDER BY 2 DESC, 1" | same /dev/stdin "$work/one"
granary sql -e 1 --memory 64M --on local:2 --fragment-bytes 1 \
    "SELECT state FROM kept JOIN '$PWD/$birds' ON state = \"Origin State\" ORDER BY 1" >"$work/several" # at home: `kept` is no file
granary sql "SELECT state FROM kept JOIN '$PWD/$birds' ON state = \"Origin State\" ORDER BY 1" | same /dev/stdin "$work/several"
named="SELECT f, count(*) AS n FROM read_csv('$birds', filename = 'f') GROUP BY f" # as it is written here
granary sql -e 1 --memory 64M --on local:1 --fragments 2 --fragment-bytes 1 "$named" >"$work/several"
granary sql "$named" | same /dev/stdin "$work/several"
expect 2 "name all files by whole paths, or none" granary sql --fragments 2 "SELECT * FROM read_csv(['$birds', '$PWD/$birds'], filename = 'f')"
expect 2 "is for SELECT" granary sql --on local:1 "CREATE TABLE x (a int)"
granary down >/dev/null
unset GRANARY_INSTANCE
nothing_left

# Tensors that are cut here: blocks that are the same in number, and others.
cat >"$work/tensors.json" <<EOF
{"nodes": {"r": {"op": "random", "shape": [1001, 7], "seed": 3}, "s": {"op": "multiply", "input": "r", "value": 3},
           "m": {"op": "mean", "input": "s", "axes": [0]}, "t": {"op": "subtract", "inputs": ["s", "m"]}, "mx": {"op": "max", "input": "t"}},
 "targets": ["m", "mx", "t"]}
EOF
granary run -e 1 --memory 64M --discard --json "$work/tensors.json" >"$work/one"
granary run -e 1 --memory 64M --discard --json --on local:2 --fragments 3 --fragment-bytes 1 "$work/tensors.json" | same /dev/stdin "$work/one"

# Hosts: a command in the place of ssh runs what it is told to on this machine, unless it has a fault to play.
mkdir "$work/bin"
cat >"$work/bin/ssh" <<'EOF'
#!/bin/bash
[ "$1 $2 $3" = "-o BatchMode=yes -n" ] || exit 9
echo "$4 ${*: -1}" >>"$work/asked"
case $4 in
broken) echo "ssh: connect to host broken: No route to host" >&2; exit 255 ;;
slow) exec sleep 1000 ;;
blind) eval "granary() { :; }; $5" ;;
flips)
    sh -c "$5"
    case $5 in *"'s2' '0'") [ -e "$work/flipped" ] || truncate -s -3 "$d/$s2-0.0.object" && touch "$work/flipped" ;; esac
    ;;
*) sh -c "$5" ;;
esac
EOF
chmod +x "$work/bin/ssh"
export PATH="$work/bin:$PATH" work d s2
granary up -e 1 --memory 64M >/dev/null # the hosts' instance, and the front's
on() {
    : >"$work/asked"
    granary run "$work/plan.json" --on "ssh:$1" --directory "$d" --discard >"$work/got" 2>"$work/err" || fail "$1: $(cat "$work/err")"
    grep -v ' is object ' "$work/err" || true
    same "$work/got" "$work/want"
    [ -z "$(ls -A "$d")" ] || fail "left in the directory: $(ls -A "$d")"
    [ "$(granary ls --json)$(granary graphs --json)" = "[][]" ] || fail "objects or graphs are left"
}
on one,two
[ "$(cut -d' ' -f1 "$work/asked" | sort -u | xargs)" = "one two" ] || fail "not all were asked: $(cat "$work/asked")"
[ "$(wc -l <"$work/asked")" = 6 ] || fail "not each once: $(cat "$work/asked")"
d="$work/it's"
mkdir "$d"
on one # a name that a shell would take apart

# Results that stay do not end with the command.
granary run "$work/plan.json" --on ssh:one --directory "$d" --keep stays >/dev/null 2>&1
granary sql --csv "SELECT sum(s) AS s FROM 'stays/groups'" 2>/dev/null | grep -qx 18 || fail "rows that stay"
granary read stays/numbers >/dev/null
granary forget stays
[ "$(granary ls --json)" = "[]" ] || fail "objects are left: $(granary ls)"

# One that fails has its fragments run elsewhere, and is left alone after three times.
on broken,two
grep -q "on broken: ssh: connect to host broken: No route to host: it is tried again" "$work/err" || fail "said: $(cat "$work/err")"
[ "$(grep -c broken "$work/asked")" -le 3 ] || fail "asked too often"
expect 1 "on broken: ssh: .*No route" granary run "$work/plan.json" --on ssh:broken --directory "$d"
[ "$(ls -A "$d")" = "" ] || fail "left: $(ls -A "$d")"

# One that hangs is overtaken, and told to end.
on slow,two
slow_one_ends() { ! pgrep -f '^sleep 1000$' -s 0 >/dev/null; }
await slow_one_ends

# A result that was damaged before it was taken is made anew.
on flips
grep -q "has [0-9]* bytes where .*: it is made anew" "$work/err" || fail "said: $(cat "$work/err")"

# One that sees another directory.
expect 4 "is that directory the same on all machines" granary run "$work/plan.json" --on ssh:blind --directory "$d"

# A run that fails in its middle is gone on with: what is there is not made again.
sed 's/sum(v)/sum(w)/' "$work/plan.json" >"$work/wrong.json"
expect 4 "wrong.json: stage 's2', partition 0, on two: .*'w'" granary run "$work/wrong.json" --on ssh:two --directory "$d"
! grep -q "tried again" "$work/err" || fail "what cannot change is tried again: $(cat "$work/err")"
[ -e "$d/$s1-1.done" ] || fail "what was done is gone"
flip "$d/$s0-1.0.object" 200 # nobody reads it any more
flip "$d/$s1-0.0.object" 200 # it is made again, and before it what it reads
on two
[ "$(wc -l <"$work/asked")" -ge 6 ] || fail "asked: $(cat "$work/asked")"

# What is wrong with WHERE.
expect 2 "there is only local:K" granary run "$work/plan.json" --on mars
expect 4 "--directory $work/none: No such file" granary run "$work/plan.json" --on local:1 --directory "$work/none"
expect 2 "takes 1 to 64" granary run "$work/plan.json" --on local:0
expect 2 "is no host" granary run "$work/plan.json" --on ssh:a,,b --directory "$d"
expect 2 "is no host" granary run "$work/plan.json" --on ssh:-oProxyCommand=x --directory "$d"
expect 2 "--directory DIR" granary run "$work/plan.json" --on ssh:a
expect 4 "cluster up" granary run "$work/plan.json" --on slurm
expect 2 "write --on WHERE" granary run "$work/graph.json" --timeline "$work/trace.json"
expect 2 "name one of them" granary run "$work/plan.json" --on local:1 --explain
expect 4 "no target of that name" granary run "$work/plan.json" --on local:1 -o "none=$work/x.csv"

# Killed in its middle: its instances and files go with it.
granary down >/dev/null
rm -r "$work/run/granary" # its logs
sed 's/\[5, 3\], "chunk": \[2, 3\]/[200000000]/' "$work/plan.json" >"$work/long.json"
granary run -e 1 --memory 64M --on local:2 "$work/long.json" >/dev/null 2>&1 &
pid=$!
await pgrep -f "cluster fragment .*$work/run" >/dev/null
kill -9 $pid
run_is_empty() {
    [ -z "$(ls "$work/run")" ]
}
await run_is_empty
nothing_left
