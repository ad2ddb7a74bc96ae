#!/bin/bash
# What becomes of work that does not succeed: limits, crashes, errors as data, stopping; and of subtasks that go on as graphs.
. "$(dirname "$0")/../lib.sh"

cat >"$work/bad.c" <<'C'
#include <granary/call.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void
nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static granary_err
give(granary_call *call, const char *text)
{
    void *data;
    granary_err err = granary_call_output(call, 0, strlen(text), &data);

    if (err == GRANARY_OK) {
        memcpy(data, text, strlen(text));
    }
    return err;
}

GRANARY_FUNCTION(spin)
{
    for (volatile int i = 0;; i++) {
    }
    return give(call, "");
}

GRANARY_FUNCTION(heeds)
{
    while (!granary_call_cancelled(call)) {
        nap();
    }
    return granary_call_fail(call, GRANARY_ECANCELLED, "asked to stop");
}

/* As if somebody had stopped its executor. */
GRANARY_FUNCTION(freeze)
{
    (void)raise(SIGSTOP);
    return give(call, "thawed");
}

GRANARY_FUNCTION(crash)
{
    (void)puts("about to crash");
    *(volatile int *)8 = 1;
    return give(call, "");
}

GRANARY_FUNCTION(leak)
{
    for (;;) {
        void *more = malloc(1 << 20);

        memset(more, 1, 1 << 20);
        nap();
    }
    return give(call, "");
}

/* The third of an array fails; the others take a moment each. */
GRANARY_FUNCTION(third)
{
    for (int i = 0; i < 30; i++) {
        nap();
    }
    if (granary_call_context_get(call)->index == 2) {
        return granary_call_fail(call, GRANARY_ETYPE, "no number in row 7");
    }
    return give(call, "good");
}

GRANARY_FUNCTION(echo)
{
    return give(call, granary_call_param(call, "text", "echo"));
}

static granary_err
go_on_as(granary_call *call, const char *function, const char *key, const char *value)
{
    granary_graph *graph = granary_graph_create();
    granary_node node = granary_graph_add(graph, "inner", "call", NULL, 0);
    granary_err err;

    granary_node_set_string(graph, node, "function", function);
    granary_node_set_entry(graph, node, "params", key, value);
    granary_graph_target(graph, node);
    err = granary_call_go_on(call, graph);
    granary_graph_destroy(graph);
    return err;
}

/* Goes on n times, then gives its text. */
GRANARY_FUNCTION(relay)
{
    char left[32];
    int64_t n = granary_call_param_int(call, "n", 0);

    (void)snprintf(left, sizeof left, "%lld", (long long)n - 1);
    return n > 0 ? go_on_as(call, "relay", "n", left) : give(call, "arrived");
}

GRANARY_FUNCTION(toheeds)
{
    return go_on_as(call, "heeds", "n", "0");
}

/* Submits a graph of its own that never ends, and ends. */
GRANARY_FUNCTION(leaves)
{
    granary_graph *graph = granary_graph_create();
    granary_node node = granary_graph_add(graph, "inner", "call", NULL, 0);
    char key[GRANARY_KEY_MAX];
    granary_err err;

    granary_node_set_string(graph, node, "function", "heeds");
    granary_graph_target(graph, node);
    err = granary_graph_submit(granary_call_client(call), graph, &(granary_graph_options){.key = "child"}, key);
    granary_graph_destroy(graph);
    while (err == GRANARY_OK && !granary_call_cancelled(call)) {
        nap();
    }
    return err;
}
C
"${CC:-cc}" -shared -fPIC -Iinclude -o "$work/bad.so" "$work/bad.c"

# state KEY, wait_until COMMAND...
state() { granary info graphs "$1" --fields state --json | sed -n 's/.*"state": "\([a-z]*\)".*/\1/p'; }
running() { [ "$(granary info graphs "$1" --fields running --json | sed -n 's/.*"running": \([0-9]*\).*/\1/p')" -gt 0 ]; }
wait_until() {
    for _ in $(seq 1200); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.02
    done
    fail "'$*' never worked"
}
objects() { granary ls --json | grep -c '"id"' || true; }

granary up --executors 2 --memory 64M >/dev/null
remember_prefix
granary export "$work/bad.so" >/dev/null
[ "$(objects)" = 1 ] || fail "the library is one object"

# Limits and crashes: who exceeds them is named, and nobody else fails.
granary submit spin --timeout 0.1 --wait >"$work/spin.out" 2>"$work/spin.err" &
spin=$!
expect 6 "function 'bad:heeds' ran [0-9.]* s, its limit is 0.1 s" granary submit heeds --timeout 0.1 --wait
expect 5 "function 'bad:leak' used [0-9.]* MiB of private memory, its limit is 48.0 MiB" granary submit leak --memory 48M --wait
expect 1 "3 executors died running function 'bad:crash', the last killed by SIGSEGV; .*about to crash" granary submit crash --wait
status=0
wait $spin || status=$?
[ $status = 6 ] || fail "spin: $status: $(cat "$work/spin.err")"
grep -q "function 'bad:spin' ran" "$work/spin.err" || fail "spin: $(cat "$work/spin.err")"

# Stopping gives a receipt, when nothing of it runs and nothing of it is left.
for function in heeds toheeds; do
    granary submit $function --key $function >/dev/null
    wait_until running "${function/toheeds/toheeds+0.1}"
    granary stop --json $function >"$work/out"
    [ "$(state $function)" = cancelled ] || fail "$function is stopped"
done
granary submit heeds --key heed2 --count 5 >/dev/null
wait_until running heed2
granary stop heed2 | grep -qE '^heed2: (4 subtasks dropped, 1|3 subtasks dropped, 2) stopped, 0 killed' || fail "a receipt: $(granary info graphs heed2)"
granary submit spin --key spin2 >/dev/null
wait_until running spin2
granary stop --kill-after 0.1 spin2 | grep -qE ' 0 stopped, 1 killed' || fail "it is killed"
granary stop spin2 | grep -q '1 killed' || fail "the receipt of one that has ended is the same"
expect 4 "not found" granary stop nobody

# Graphs are waited for and deleted by their keys.
granary submit --key awaited heeds >/dev/null
expect 6 "await awaited" granary await --timeout 100ms awaited
granary stop awaited >/dev/null
expect 1 "awaited" granary await awaited
granary forget awaited
expect 4 "not found" granary await awaited
expect 4 "not found" granary forget awaited
[ "$(objects)" = 1 ] || fail "stopped graphs leave objects: $(granary ls)"
[ -z "$(granary leases --json | grep '"object"' || true)" ] || fail "stopped graphs leave leases"

# A stopped graph takes with it what its functions submitted.
granary submit leaves --key leaves >/dev/null
wait_until running child
granary stop leaves >/dev/null
[ "$(state child)" = cancelled ] || fail "children are stopped: $(granary info graphs)"

# Errors are data; the rest runs on; results come as they are made.
cat >"$work/third.json" <<J
{"nodes": [{"name": "t", "op": "call", "function": "third", "count": 6},
           {"name": "hold", "op": "exec", "command": ["sh", "-c", "until [ -e $work/go ]; do sleep 0.02; done"]}],
 "targets": ["t", "hold"]}
J
granary run --keep-going "$work/third.json" >"$work/run.out" 2>"$work/run.err" &
run=$!
key() { granary info graphs --json | python3 -c "import json, sys; print([g['key'] for g in json.load(sys.stdin) if g['subtasks'] == 7][0])"; }
wait_until key
graph=$(key)
granary results --follow "$graph" t >"$work/ids"
[ "$(wc -l <"$work/ids")" = 6 ] || fail "six chunks follow: $(cat "$work/ids")"
[ "$(state "$graph")" = running ] || fail "it still runs"
third=$(sed -n 3p "$work/ids")
expect 2 "no number in row 7" granary get "$third"
[ "$(granary get "$(sed -n 4p "$work/ids")")" = good ] || fail "what did not fail is there"
granary ls | grep -q "$third.*ETYPE: node 't'.*no number in row 7" || fail "ls shows an error: $(granary ls)"
granary stat "$third" | grep -q "error *ETYPE: .*no number" || fail "stat shows an error"
granary stat --json "$third" | grep -q '"error": "ETYPE"' || fail "stat --json shows an error"
# Who reads it in another graph fails with the chain of causes.
expect 1 "node 'call' \(call\): an input has failed: .*node 't'.*no number in row 7" granary submit echo --input "$third" --wait
status=0
touch "$work/go"
wait $run || status=$?
[ $status != 0 ] || fail "it has failed in the end"
grep -q "1 of 7 subtasks failed: node 't'" "$work/run.err" || fail "how many failed: $(cat "$work/run.err")"

# What a user deletes while it is still needed is made again, and what that needs.
cat >"$work/chain.json" <<J
{"nodes": [{"name": "a", "op": "exec", "command": ["echo", "hello"]},
           {"name": "b", "op": "exec", "command": ["tr", "a-z", "A-Z"], "inputs": ["a"]},
           {"name": "s", "op": "exec", "command": ["sh", "-c", "until [ -e $work/gone ]; do sleep 0.02; done"], "inputs": ["b"]},
           {"name": "z", "op": "exec", "command": ["cat"], "inputs": ["b", "s"]}], "targets": ["a", "b", "z"]}
J
granary run "$work/chain.json" >"$work/run.out" 2>"$work/run.err" &
run=$!
key() { granary info graphs --json | python3 -c "import json, sys; print([g['key'] for g in json.load(sys.stdin) if g['targets'] == 'a,b,z'][0])"; }
wait_until key
graph=$(key)
granary rm "$(granary results --follow "$graph" a)" "$(granary results --follow "$graph" b)"
touch "$work/gone"
granary get "$(granary results --follow "$graph" z)" >"$work/z"
[ "$(cat "$work/z")" = HELLO ] || fail "deleted inputs are made again: $(cat "$work/z")"
wait $run || true

# Going on as graphs, one in the other.
[ "$(granary submit relay --arg n=5 -o -)" = arrived ] || fail "a relay"
expect 1 "500 graphs go on as graphs" granary submit relay --arg n=1000 --wait

# A command that is to leave nothing leaves nothing, however it ends.
echo '{"nodes": {"wait": {"op": "exec", "command": ["sleep", "1000"]}}}' >"$work/wait.json"
waits() { granary info graphs --json | python3 -c 'import json, sys; sys.exit("wait" not in [g["targets"] for g in json.load(sys.stdin)])'; }
waits_not() { ! waits; }
cancelled='interrupted: its graph is cancelled, and nothing of it is kept'
# interrupt SIGNAL COMMAND...: sent when its graph runs; what it printed is in $work/run.err, its status in $status
interrupt() {
    env --default-signal=INT,TERM granary "${@:2}" >/dev/null 2>"$work/run.err" &
    run=$!
    wait_until waits
    kill "-$1" $run
    status=0
    wait $run 2>/dev/null || status=$?
    wait_until waits_not
}
before=$(granary graphs | wc -l)
for options in "--discard" "" "--keep kept" "--keep kept --replace"; do
    # shellcheck disable=SC2086 # several options
    interrupt INT run $options "$work/wait.json"
    [ $status = 130 ] || fail "run $options: $status"
    [ "$(wc -l <"$work/run.err")" = 1 ] && grep -q "^granary: run: $cancelled" "$work/run.err" || fail "run $options: $(cat "$work/run.err")"
done
grep -q "; 'kept' is what it was$" "$work/run.err" || fail "what was kept: $(cat "$work/run.err")"
interrupt TERM run "$work/wait.json"
[ $status = 143 ] || fail "run, terminated: $status"
interrupt KILL run --discard "$work/wait.json"
[ "$(granary graphs | wc -l)" = "$before" ] || fail "interrupted, they leave graphs: $(granary graphs)"

# So does a call that is waited for, unless its graph was named.
waits() { granary info graphs --json | python3 -c 'import json, sys; sys.exit(("call", "running") not in [(g["targets"], g["state"]) for g in json.load(sys.stdin)])'; }
for options in "--wait" "-o -"; do
    # shellcheck disable=SC2086 # several options
    interrupt INT submit heeds $options
    [ $status = 130 ] && grep -q "^granary: submit: $cancelled" "$work/run.err" || fail "submit $options: $status, $(cat "$work/run.err")"
done
[ "$(granary graphs | wc -l)" = "$before" ] || fail "interrupted, submit leaves graphs: $(granary graphs)"

# An executor that is stopped by a signal is one that hangs.
expect 6 "function 'bad:freeze' ran [0-9.]* s, its limit is 0.3 s" granary submit freeze --timeout 0.3 --wait
granary down
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
