#!/bin/bash
# What the command line tells of graphs, subtasks and executors, while the scheduler answers and when it does not.
. "$(dirname "$0")/../lib.sh"

# says PATTERN COMMAND...: it works, and prints a line that matches
says() {
    local pattern=$1
    shift
    "$@" >"$work/out" 2>"$work/err" || fail "'$*': exit status $?: $(cat "$work/out" "$work/err")"
    grep -qE -- "$pattern" "$work/out" || fail "'$*': no '$pattern' in: $(cat "$work/out")"
}

# value FIELD COMMAND...: that of the first row, as JSON tells it
value() {
    local field=$1
    shift
    "$@" --json | python3 -c "import json, sys; print(json.load(sys.stdin)[0]['$field'])"
}

# wait_until COMMAND...: until it works; a minute at most
wait_until() {
    for _ in $(seq 1200); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    fail "'$*' never worked"
}

granary up --executors 2 --memory 64M >/dev/null
remember_prefix

# each subject is told of an instance that has done nothing yet
for subject in schedulers executors bands graphs subtasks runs chunks tileables recalls functions sessions; do
    granary info "$subject" >"$work/out" 2>&1 || fail "'granary info $subject' of a new instance: $(cat "$work/out")"
done

granary run libclient/examples/birdstrikes.json >/dev/null 2>&1
key=$(value key granary graphs)

says "^$key +default +succeeded +100%" granary graphs
says "^$key/0 +strikes +csv_split +succeeded +1" granary tasks "$key"
says "^$key/3 " granary tasks "$key/3"
says "^$key/0\.1 " granary info runs "$key"
[ "$(granary tasks "$key" --state failed --json)" = "[]" ] || fail "a subtask has failed"
[ "$(value "done" granary graph "$key")" = "$(granary tasks "$key" --json | grep -c '"succeeded"')" ] || fail "subtasks done are not those that are told"
says "^$key/costliest +frame +Wildlife Species:string" granary meta "$key"
# What is cut says so, between two entries of a list; the last column is whole.
printf '%s\n' "$(seq -s, -f 'column_%g' 30)" "$(seq -s, 30)" >"$work/wide.csv"
granary load wide "$work/wide.csv" >/dev/null
says '^wide/table +frame +column_1:int64,column_2:int64,column_3:int64,\.\.\. +1 ' granary meta wide
says ',column_30:int64$' granary meta --fields key,dtypes wide
granary meta --json wide | grep -q ',column_30:int64"' || fail "cut in JSON: $(granary meta --json wide)"
granary forget wide
# Every state that is told can be chosen.
for state in waiting ready running parked away succeeded failed cancelled; do
    granary tasks --state $state >/dev/null || fail "tasks in state $state"
done
for state in running succeeded failed cancelled deleting; do
    granary graphs --state $state >/dev/null || fail "graphs in state $state"
done
expect 2 "subtasks have no state 'asleep'" granary tasks --state asleep
id=$(value id granary meta --chunks "$key/costliest")
says "^where +memory" granary stat "$id"
says '^== |optimi' granary graph "$key" --level chunk
says "^$key/3 " granary graph "$key" --level subtask
says '^ +1 +[0-9]+ +idle +push' granary executors
says '^number +pid' granary executors 1 2 --fields number,pid
says '^ +0 +[0-9]' granary bands
says ' active ' granary info schedulers
says '^default ' granary info sessions
for subject in schedulers executors bands graphs subtasks runs chunks tileables functions sessions; do
    granary info $subject --json | python3 -c 'import json, sys; json.load(sys.stdin)' || fail "$subject is no JSON"
done

says '^0 graphs run, 1 ended' granary top --once
says '^2 executors, 0 at work' granary top --once
granary top --once --json | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["executors"]) == 2'
expect 2 "no subject 'ghosts': there are schedulers, executors" granary info ghosts
expect 2 "executors have no field 'colour': there are number, pid" granary executors --fields colour
expect 4 "graphs: not found: 'nosuch'" granary graphs nosuch "$key"
expect 4 "subtasks: not found: '$key/99'" granary tasks "$key/99"
expect 2 'usage' granary info

# What changes is told as it happens: an executor that dies is replaced by another number.
granary executors --watch --json --fields number >"$work/watched" &
watcher=$!
wait_until test -s "$work/watched"
kill -9 "$(value pid granary executors 1)"
wait_until granary executors 3
wait_until grep -q '"number": *3' "$work/watched"
kill $watcher
wait $watcher || true

# Where threads are, and what version each process has.
says '^executor \(pid [0-9]+\)$' granary stacks 2
says 'worker_run|poll' granary stacks 2
says 'server_run|poll' granary stacks sched
says '^sched \(pid' granary stacks all
[ -z "$(ls "$work/i/stacks")" ] || fail "stacks are left: $(ls "$work/i/stacks")"
expect 4 'no process of this instance' granary stacks 999999999
says '^executor +[0-9]+ +[0-9]+\.[0-9]+' granary version --all
granary version --all --json | python3 -c '
import json, sys
processes = json.load(sys.stdin)
assert {process["process"] for process in processes} == {"supervisor", "store", "sched", "pool", "executor"}, processes
assert len({process["version"] for process in processes} - {""}) == 1, processes'

# A scheduler that is stopped answers nobody: the executors' own pages do.
scheduler=$(cut -d' ' -f1 "$work/i/sched.lock")
halt "$scheduler"
says '^2 executors, 0 at work' granary top --once
granary executors >"$work/out" 2>"$work/err"
grep -q 'the scheduler is stopped' "$work/err" || fail "nobody says that the scheduler is stopped: $(cat "$work/err")"
grep -q '^ *pid ' "$work/out" || fail "no pages: $(cat "$work/out")"
for command in graphs "graph $key" "stop $key" "results $key p0" "info sessions" "timeline $key"; do
    # shellcheck disable=SC2086 # words
    expect 3 "its scheduler, pid $scheduler, is stopped" granary $command
done
says '^memory' granary status
grep -q "pid $scheduler, is stopped" "$work/err" || fail "status does not say it: $(cat "$work/err")"
expect 4 "nothing it printed is kept" granary logs nosuch
kill -CONT "$scheduler"
says '^ +2 ' granary executors
granary down
expect 3 'not running' granary executors
expect 3 'no store at' granary graphs

# A scheduler remembers as many runs as it is told.
granary up --executors 1 --memory 64M --history 2 >/dev/null
remember_prefix
granary run libclient/examples/birdstrikes.json >/dev/null 2>&1
[ "$(granary info runs --json | grep -c '"run"')" = 2 ] || fail "not the last two runs: $(granary info runs)"
granary down >/dev/null
expect 2 "history" granary up --history 0
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
