#!/bin/bash
# What subtasks print, why they wait, and when they ran: of graphs of programs that print, wait and fail.
. "$(dirname "$0")/../lib.sh"

# says PATTERN COMMAND...: it works, and prints a line that matches
says() {
    local pattern=$1
    shift
    "$@" >"$work/out" 2>"$work/err" || fail "'$*': exit status $?: $(cat "$work/out" "$work/err")"
    grep -qE -- "$pattern" "$work/out" || fail "'$*': no '$pattern' in: $(cat "$work/out")"
}

# wait_until COMMAND...: until it works; a minute at most
wait_until() {
    for _ in $(seq 1200); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    fail "'$*' never worked"
}

# newest: key of the graph that was submitted last
newest() {
    granary graphs --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[-1]["key"])'
}

# graph SCRIPT...: a graph file of programs that need no inputs, named p0, p1, ...
graph() {
    python3 - "$@" <<'END'
import json, sys
nodes = {f"p{i}": {"op": "exec", "command": ["sh", "-c", script]} for i, script in enumerate(sys.argv[1:])}
print(json.dumps({"nodes": nodes, "targets": list(nodes)}))
END
}

granary up --executors 2 --memory 64M >/dev/null
remember_prefix

# Two programs that print, and wait until somebody has looked.
graph "echo first >&2; while ! test -e $work/go; do sleep 0.02; done; echo last >&2; echo result" \
    "printf 'a\\033[31mred\\n' >&2; while ! test -e $work/go; do sleep 0.02; done" "true" >"$work/g.json"
granary run "$work/g.json" >/dev/null 2>&1 &
run=$!
wait_until newest
key=$(newest)
printed() { granary logs "$key/0" | grep -q first; }
wait_until printed
says "^graph $key of session 'default' is running" granary why "$key"
says "subtask $key/0 \(node 'p0': exec\) is running" granary why "$key/0"
says "executor [12] .* runs it for" granary why "$key/0"
says "subtask $key/2 \(node 'p2': exec\) is (ready|waiting|running)" granary why "$key/2"
wait_until granary why --json "$key/2"
granary why --json "$key" | python3 -c 'import json, sys; assert json.load(sys.stdin)["facts"]' || fail "why is no JSON"
granary logs --follow "$key" >"$work/followed" &
follower=$!
wait_until grep -q first "$work/followed"
touch "$work/go"
wait $run || fail "the graph failed"
wait $follower || fail "following failed"
grep -q '^last$' "$work/followed" || fail "the end was not followed: $(cat "$work/followed")"
says "^==> $key/1.1 <==" granary logs "$key"
[ "$(granary logs "$key/0" --tail 1 | tail -n 1)" = last ] || fail "the last line of 0 is: $(granary logs "$key/0" --tail 1)"
granary logs --json "$key" | python3 -c '
import json, sys
logs = {log["subtask"]: log["text"] for log in json.load(sys.stdin)}
assert logs[0] == "first\nlast\n" and logs[1] == "a\033[31mred\n" and 2 not in logs, logs'
[ -z "$(granary logs "$key/2")" ] || fail "one that printed nothing"
expect 4 'no subtask 7' granary logs "$key/7"
# A terminal is not commanded by what others print.
script -qec "granary logs $key/1" /dev/null >"$work/out" </dev/null
grep -qF 'a\x1b[31mred' "$work/out" || fail "sent to a terminal: $(cat -v "$work/out")"

# One that fails is told with its error; every attempt has a log.
graph "echo oops >&2; exit 3" >"$work/f.json"
expect 1 "p0" granary run "$work/f.json"
failed=$(newest)
says oops granary logs "$failed"
says "failed" granary tasks "$failed" --state failed
says "is failed" granary why "$failed"

# When it all happened.
granary timeline "$key" "$failed" >"$work/trace.json"
granary timeline --all | cmp - "$work/trace.json" || fail "--all gives another trace"
python3 - "$work/trace.json" "$key" "$failed" <<'END' || fail "the timeline is wrong: $(cat "$work/trace.json")"
import json, sys
events = json.load(open(sys.argv[1]))
slices = [event for event in events if event["ph"] == "X"]
runs = [event for event in slices if "args" in event]
assert {run["args"]["subtask"] for run in runs} == {f"{sys.argv[2]}/{i}.1" for i in range(3)} | {f"{sys.argv[3]}/0.1"}
assert any("error" in run["args"] for run in runs)
named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
for tid in {run["tid"] for run in runs}:
    mine = sorted((run for run in runs if run["tid"] == tid), key=lambda run: run["ts"])
    assert (mine[0]["pid"], tid) in named
    for earlier, later in zip(mine, mine[1:]):  # an executor does one thing at a time
        assert earlier["ts"] + earlier["dur"] <= later["ts"] + 0.01, (earlier, later)
for part in slices:  # phases lie within their run
    if "args" not in part:
        assert part["name"] in ("lease", "run", "store")
        assert any(run["tid"] == part["tid"] and run["ts"] - 0.01 <= part["ts"] and
                   part["ts"] + part["dur"] <= run["ts"] + run["dur"] + 0.01 for run in runs), part
counters = [event for event in events if event["ph"] == "C"]
assert counters == sorted(counters, key=lambda event: event["ts"])
assert all(event["ts"] > 0 for event in slices)
END
expect 4 "graphs: not found: 'nosuch'" granary timeline nosuch
expect 2 "which graphs" granary timeline

# Without a daemon the files are still there; with their graph they go.
expect 4 "graph 'nosuch': not found" granary logs nosuch
scheduler=$(cut -d' ' -f1 "$work/i/sched.lock")
halt "$scheduler"
says '^first$' granary logs "$key/0"
kill -CONT "$scheduler"
folder=$(dirname "$(find /var/tmp/granary-*/logs -path "*/$failed/0.1.log")")
[ -d "$folder" ] || fail "where are the logs?"
granary run --discard "$work/g.json" >/dev/null 2>&1
[ "$(find "$(dirname "$folder")" -name '*.log' | wc -l)" = 3 ] || fail "the logs of a deleted graph are kept"
expect 4 "no graph of that key|no object" granary why "nosuch/1"

# A scheduler that died when it had deleted a graph leaves its folder: the next one removes that, and no other.
logs=$(dirname "$folder")
mkdir "$logs/strayed" "$logs/.tmp"
echo late >"$logs/strayed/0.1.log"
kill -KILL "$(cut -d' ' -f1 "$work/i/sched.lock")"
wait_until test ! -e "$logs/strayed"
says oops granary logs "$failed"
[ -d "$logs/.tmp" ] || fail "a folder of executors was removed"
granary down
[ ! -e "$folder" ] || fail "left behind: $folder"
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
