#!/bin/bash
# What is seen of several machines: their rows, what a run waits for (also when its driver was killed), and its timeline. One
# machine fails, one hangs, one is silent about fragments, and one has another clock.
# shellcheck source=tests/integration/cluster/plans.sh
. "$(dirname "$0")/plans.sh"
plan "$work/plan.json"

mkdir "$work/bin" "$work/there"
chmod 700 "$work/there"
cat >"$work/bin/ssh" <<'SSH'
#!/bin/bash
while [ "${1#-}" != "$1" ]; do
    [ "$1" != -o ] || shift
    shift
done
case "$1 $2" in
broken*) echo "ssh: connect to host broken: No route to host" >&2; exit 255 ;;
silent*fragment*) exec sleep 1000 ;;
hangs*) exec sleep 1000 ;;
old*look*) echo "version 9.9.9"; exit ;;
odd*look*) echo "what?"; exit ;;
ahead*) XDG_RUNTIME_DIR="$there" exec unshare --time --monotonic 5000 --fork --kill-child sh -c "$2" ;;
esac
exec sh -c "$2"
SSH
chmod +x "$work/bin/ssh"
export PATH="$work/bin:$PATH" there="$work/there"
json() { # EXPRESSION: of what stdin has, as j
    python3 -c "import json, sys
j = json.load(sys.stdin)
assert ($1), j"
}

# Nothing is there to be seen.
expect 4 "no cluster is up.*no run goes on here" granary cluster status
expect 4 "no run goes on here: --directory" granary cluster why
expect 4 "no run is in that directory" granary cluster why --directory "$d"
expect 4 "$work/none: No such file" granary cluster why --directory "$work/none"
expect 2 "there is only local:K" granary cluster status --on mars
expect 2 "name one of them" granary cluster top --on ssh:a --directory "$d"
expect 3 "no machine answers" granary cluster status --on ssh:broken
granary cluster status --on ssh:one | grep '^one .* no instance is up' >/dev/null || fail "a machine without an instance"

# A row for each, whatever is wrong with it, and the sums.
granary up -e 1 --memory 64M >/dev/null
printf x | granary put - >/dev/null
granary cluster status --on ssh:one,broken,odd --json >"$work/rows"
json "j['answered'] == 1 and j['totals']['objects'] == 1 and j['totals']['memory_bytes'] == 64 << 20" <"$work/rows"
json "[n['version'] for n in j['nodes']] == ['$version', '', '']" <"$work/rows"
json "['No route' in n['trouble'] for n in j['nodes']] == [False, True, False] and 'no sense' in j['nodes'][2]['trouble']" <"$work/rows"
json "j['nodes'][0]['executors'] == 1 and j['nodes'][0]['store'] == 'serving' and j['nodes'][0]['trouble'] == ''" <"$work/rows"
granary cluster top --once --on ssh:one,broken | grep -E "^all +$version +1 +64.0 MiB .* 1 of 2 answer" >/dev/null || fail "sums"
expect 1 "node old has granary 9.9.9, and this machine $version" granary cluster status --on ssh:one,old
granary cluster top --json --interval 50ms --on ssh:one 2>/dev/null | head -n 2 >"$work/rows" || true # whoever reads it ends it
[ "$(wc -l <"$work/rows")" = 2 ] || fail "top: $(cat "$work/rows")"

# A run that goes on: a fragment is with a machine that is silent, others failed, and their stage waits.
granary run "$work/plan.json" --on ssh:silent,broken --directory "$d" >/dev/null 2>&1 &
run=$!
has_failed() {
    [ "$(cat "$d"/run-* 2>/dev/null | grep -c "^end [0-9]* 1 .* failed ")" = 2 ]
}
await has_failed
granary cluster why >"$work/why"
says() { # PATTERN: a line of the answer
    grep -Eq "$1" "$work/why" || fail "no '$1' in: $(cat "$work/why")"
}
says "^run $d/run-[A-Za-z0-9]+, of pid $run on "
says "^  0 of 6 fragments are done, and 1 run; it began "
says "^  stage s0, partition 0 runs on silent, since "
says "^  stage s0, partition 1 failed on broken [^:]* ago, and waits for another machine: ssh: connect to host broken: No route to host"
says "^  stage s0, partition 1 waits for a machine: 2 of 2 get work"
says "^  stage s1 waits for stage s0, of which 0 of 2 fragments are done"
says "^  broken: no answer: ssh: "
granary cluster why --on ssh --json | json "j[0]['goes_on'] and j[0]['pid'] == $run and
    {('running', 's0', 0, 'silent'), ('failed', 's0', 1, 'broken')} <= {(f['code'], f.get('stage'), f.get('partition'), f.get('node')) for f in j[0]['facts']}"
granary cluster why s1 >"$work/why" # and what it reads
says "stage s0, partition 0 runs"
! grep -q "stage s[23]" "$work/why" || fail "stages that were not asked for: $(cat "$work/why")"
granary cluster why "$(basename "$d"/plan-*)" | grep 's3' >/dev/null || fail "a plan"
expect 4 "'s9' is no run, no plan and no stage" granary cluster why s9
expect 4 "no run goes on" granary cluster why --on local
granary cluster status --json | json "[n['node'] for n in j['nodes']] == ['silent', 'broken']"

# Its driver is killed: what it left says how far it was. Garbage beside it hurts nobody.
kill -9 $run
! wait $run 2>/dev/null || fail "a driver that was killed"
printf 'out 5 1\nend 5 0 0 0 done 10 \nlost 6 0 0\nbegin 7 0 0 0\nend 8 0 0 0 done 10 \nhalf of a li' >>"$(echo "$d"/run-*)"
mkfifo "$d/run-aaaaaa"
head -c 3000 /dev/urandom >"$d/run-bbbbbb"
printf 'granary run 1\ndriver h 1 ssh -\nplace 0 a\nplace 1 h\nplan 5 plan-../../x\nbegin 1 99 99 99\nend 1 0 0 0 done\nend 1 0 0 0 done 5' >"$d/run-cccccc"
printf 'granary run 1\nplace 7 a\n' >"$d/run-dddddd"
granary cluster why --directory "$d" >"$work/why" 2>"$work/err"
says "its driver was killed when 1 of 6 fragments were done"
says "^  broken gets nothing more"
[ "$(grep -c 'no record of a run\|is damaged' "$work/err")" = 3 ] || fail "garbage: $(cat "$work/err")"
rm "$d"/run-[abcd]?????

# The next run removes what the killed one left, and leaves nothing itself.
granary run "$work/plan.json" --on ssh:one --directory "$d" --discard >/dev/null 2>&1
[ -z "$(ls -A "$d")" ] || fail "left: $(ls -A "$d")"

# A machine that hangs has a row, too, and the others do.
granary cluster status --on ssh:one,hangs >"$work/why"
says "^hangs .* no answer within"
says "^one +$version "

# What a fragment waits for inside its machine.
executor=$(granary info executors --fields pid --json | grep -o '[0-9]*')
kill -STOP "$executor"
granary run "$work/plan.json" --on ssh:one --directory "$d" --discard >/dev/null 2>&1 &
run=$!
runs_there() {
    granary cluster status --on ssh:one --json | json "j['nodes'][0]['running'] == 1" 2>/dev/null
}
await runs_there
granary cluster why >"$work/why"
says "^  on one: .*executor"
kill -CONT "$executor"
wait $run || fail "the run"
granary down >/dev/null
rm -r "$work/run/granary" # its logs

# The timeline: subtasks of executors lie within their fragments, also when the machine's clock is another one.
hosts=one
! unshare --time --monotonic 5000 --fork true 2>/dev/null || hosts=one,ahead
granary run -e 1 --memory 64M "$work/plan.json" --on "ssh:$hosts" --directory "$d" --timeline "$work/trace.json" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
python3 - "$work/trace.json" "$hosts" <<'TRACE' || fail "the timeline"
import json, sys
events = json.load(open(sys.argv[1]))
hosts = sys.argv[2].split(",")
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert names == dict(enumerate([*hosts, "home"], 1)), names
fragments = [e for e in events if e.get("cat") == "fragment"]
assert sorted(e["name"] for e in fragments if e["args"]["outcome"] == "done") == ["s0", "s0", "s1", "s1", "s2", "s3"], fragments
labels = {e["pid"]: e["args"]["labels"].split() for e in events if e["name"] == "process_labels"}
for pid, name in enumerate(hosts, 1):
    ahead, within = float(labels[pid][3]), float(labels[pid][-2])  # its clock is 5000.1 s ahead of the driver's, within 0.001 s
    assert abs(ahead - (5000 if name == "ahead" else 0)) <= within, labels
    subtasks = [e for e in events if e.get("cat") == "subtask" and e["pid"] == pid]
    mine = [e for e in fragments if e["pid"] == pid]
    assert bool(subtasks) == bool(mine) and all(e["tid"] > 0 for e in subtasks), (pid, subtasks)
    for e in subtasks:
        assert any(f["ts"] - within * 1e6 - 1 <= e["ts"] and e["ts"] + e["dur"] <= f["ts"] + f["dur"] + within * 1e6 + 1 for f in mine), (e, mine)
    assert {e["tid"] for e in subtasks} <= {e["tid"] for e in events if e["name"] == "thread_name" and e["pid"] == pid}
assert any(e.get("cat") == "subtask" for e in events)
TRACE
nothing_left
[ -z "$(ls "$work/there")" ] || fail "left there: $(ls "$work/there")"
