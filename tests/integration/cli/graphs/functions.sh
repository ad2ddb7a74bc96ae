# User code from the command line: functions and programs as nodes, arrays, chained calls, versions side by side, and
# what is said when it goes wrong.
. "$(dirname "$0")/../lib.sh"

# compile NAME SOURCE: $work/NAME.so
compile() {
    printf '#include <granary/call.h>\n#include <stdio.h>\n#include <string.h>\n%s\n' "$2" >"$work/$1.c"
    "${CC:-cc}" -shared -fPIC -Iinclude -o "$work/$1.so" "$work/$1.c"
}

# A number as an object: what these functions make and read.
number='static granary_err give(granary_call *call, int64_t value)
{
    void *out;
    granary_err err = granary_call_output(call, 0, sizeof value, &out);
    if (err == GRANARY_OK) memcpy(out, &value, sizeof value);
    return err;
}'
compile numbers "$number"'
GRANARY_FUNCTION(square)
{
    int64_t i = (int64_t)granary_call_context_get(call)->index;
    return give(call, i * i);
}
GRANARY_FUNCTION(total, .inputs_min = 1)
{
    int64_t sum = granary_call_param_int(call, "add", 0);
    for (size_t i = 0; i < granary_call_inputs(call); i++)
        sum += *(const int64_t *)granary_call_input(call, i)->data;
    return give(call, sum);
}
GRANARY_FUNCTION(grumble)
{
    fprintf(stderr, "row 7 is odd\n");
    return granary_call_fail(call, GRANARY_EINVAL, "a bad row");
}
GRANARY_FUNCTION(complain)
{
    return granary_call_fail(call, GRANARY_EINVAL, "%s is not what I wanted", granary_call_param(call, "what", "it"));
}
GRANARY_FUNCTION(half)
{
    int64_t rows;
    const int64_t *a = granary_call_column(call, "a", GRANARY_INT64, &rows);
    double *half = granary_call_new_column(call, "half", GRANARY_FLOAT64);
    for (int64_t i = 0; a != NULL && half != NULL && i < rows; i++) half[i] = (double)a[i] / 2;
    return GRANARY_OK;
}'
compile v1 "$number"'
GRANARY_FUNCTION(which) { return give(call, 1); }'
compile v2 "$number"'
GRANARY_FUNCTION(which) { return give(call, 2); }'

compile patient "$number"'
#include <unistd.h>
GRANARY_FUNCTION(patient)
{
    const char *file = granary_call_param(call, "file", "");
    char here[256];
    snprintf(here, sizeof here, "%s.here", file);
    FILE *sign = fopen(here, "w");
    if (sign != NULL) fclose(sign);
    while (access(file, F_OK) != 0 && !granary_call_cancelled(call)) usleep(2000);
    return give(call, 7);
}'

as_number() {
    od -An -td8 | tr -d ' '
}

granary up --executors 2 >/dev/null
remember_prefix

# Nothing is exported yet.
expect 4 "function 'square' is not exported in session 'default': export its library" granary submit square
expect 4 'nothing.so' granary export "$work/nothing.so"
expect 4 "library 'numbers' is not exported" granary unexport numbers
expect 2 'unexport' granary unexport

version=$(granary export "$work/numbers.so")
[ ${#version} = 32 ] || fail "export printed '$version'"
[ "$(granary export "$work/numbers.so")" = "$version" ] || fail "the same file has another version"
objects=$(granary ls | wc -l)
[ "$objects" = 2 ] || fail "an export of the same file left an object: $objects lines"

granary functions | tail -n +2 | cut -d' ' -f1 | LC_ALL=C sort -c || fail "functions in no order: $(granary functions)"

# An array of 1000, in order; then a function and a program that read all of it.
granary submit square --count 1000 --wait >"$work/squares"
[ "$(sort -u "$work/squares" | wc -l)" = 1000 ] || fail "an array of 1000 has $(sort -u "$work/squares" | wc -l) results"
[ "$(granary get "$(sed -n 32p "$work/squares")" | as_number)" = 961 ] || fail "the 32nd square is not 961"
[ "$(granary submit total --arg add=5 --input "$(sed -n 4p "$work/squares")" --input "$(sed -n 5p "$work/squares")" \
    -o - | as_number)" = 30 ] || fail "3 * 3 + 4 * 4 + 5 is not 30"
# A CSV file is one input, a frame, however it would be cut; the bytes of it are meant when it was put.
cat >"$work/width.c" <<'C'
#include <granary/call.h>
GRANARY_FUNCTION(width, .inputs_max = 3)
{
    const int64_t one = 1;
    int64_t rows = -1;
    int64_t *out;
    granary_err err = granary_call_output_tensor(call, 0, GRANARY_INT64, 1, &one, (void **)&out);
    (void)granary_call_column(call, "Cost Total $", GRANARY_INT64, &rows);
    if (err == GRANARY_OK) *out = rows * 10 + (int64_t)granary_call_inputs(call);
    return err;
}
C
"${CC:-cc}" -shared -fPIC -Iinclude -o "$work/width.so" "$work/width.c"
granary export "$work/width.so" >/dev/null
granary submit width --input "$birds" --key wide --wait >/dev/null
[ "$(granary read wide/call)" = '[100001]' ] || fail "rows and inputs: $(granary read wide/call)"
granary forget wide
expect 1 'not an Arrow file' granary submit width --input "$(granary put "$birds")" --wait
granary unexport width

# Columns of an Arrow file that cannot be read hinder only the function that asks for one.
compile asks '
GRANARY_FUNCTION(asks)
{
    int64_t rows = 0;
    const void *at = granary_call_column(call, granary_call_param(call, "column", ""), GRANARY_INT64, &rows);
    void *out;
    granary_err err = at == NULL ? GRANARY_OK : granary_call_output(call, 0, sizeof rows, &out);

    if (at != NULL && err == GRANARY_OK) memcpy(out, &rows, sizeof rows);
    return err;
}'
granary export "$work/asks.so" >/dev/null
nested=$(granary put tests/golden/arrow/nested.arrow)
[ "$(granary submit asks --input "$nested" --arg column=first -o - | od -An -td8 | tr -d ' ')" = 6 ] || fail "a column beside a list"
expect 1 "input 0: column 'map' \(Map\) is of an Arrow type that is not supported" granary submit asks --input "$nested" --arg column=map --wait
granary unexport asks
cat >"$work/chain.json" <<'EOF'
{"nodes": {
  "squares": {"op": "call", "function": "square", "count": 1000, "block": 10},
  "sum": {"op": "call", "function": "numbers:total", "input": "squares", "params": {"add": 5}},
  "text": {"op": "exec", "command": ["od", "-An", "-td8"], "input": "sum"},
  "again": {"op": "map_chunk", "function": "total", "input": "sum"},
  "birds": {"op": "object", "ids": "name:birds"},
  "lines": {"op": "exec", "command": ["sh", "-c", "sort | wc -l"], "input": "birds", "params": {"LC_ALL": "C"}}},
 "targets": ["text", "again", "lines"]}
EOF
granary put --id-from birds "$birds" >/dev/null
granary run --discard -o "again=$work/again.txt" "$work/chain.json" >"$work/out"
grep -q '332833505' "$work/out" || fail "the sum of 1000 squares and 5: $(cat "$work/out")"
grep -qx "$(sort "$birds" | wc -l)" "$work/out" || fail "sort | wc -l: $(cat "$work/out")"
[ "$(as_number <"$work/again.txt")" = 332833505 ] || fail "a function applied to each object"

# A frame in chunks through a function, and on through operators; every chunking gives the same.
{
    echo a,k
    for i in $(seq 1 2000); do echo "$i,k$((i % 7))"; done
} >"$work/t.csv"
cat >"$work/frame.json" <<EOF
{"nodes": {
  "t": {"op": "read_csv", "path": "$work/t.csv"},
  "m": {"op": "map_chunk", "input": "t", "function": "half", "columns": {"half": "float64"}},
  "f": {"op": "filter", "input": "m", "where": "half > 10"},
  "g": {"op": "groupby", "input": "f", "keys": "k", "aggregate": {"n": "size", "s": "sum(half)"}}},
 "targets": "g"}
EOF
granary run --discard --csv "$work/frame.json" >"$work/one.csv"
granary run --discard --csv --chunk-bytes 1000 "$work/frame.json" >"$work/many.csv"
same "$work/one.csv" "$work/many.csv"
awk -F, 'NR > 1 && $1 / 2 > 10 {n[$2]++; s[$2] += $1 / 2} END {print "k,n,s"; for (k in n) printf "%s,%d,%.1f\n", k, n[k], s[k]}' \
    "$work/t.csv" | sort >"$work/awk.csv"
sort "$work/one.csv" | sed 's/\(\.[0-9]\)0*$/\1/' | diff - "$work/awk.csv" || fail "halves by group"

sed 's/^a,/A,/' "$work/t.csv" >"$work/upper.csv"

# A chunk graph, with an object by name.
cat >"$work/chunks.json" <<'EOF'
{"level": "chunk", "nodes": {
  "a": {"op": "call", "function": "square", "index": 6, "count": 9},
  "b": {"op": "call", "function": "total", "inputs": ["a", "a:0"]},
  "c": {"op": "exec", "command": ["od", "-An", "-td8"], "input": "b"},
  "d": {"op": "exec", "command": ["head", "-n", "1"], "input": "object:name:birds"}}, "targets": ["c", "d"]}
EOF
granary run --discard "$work/chunks.json" >"$work/out"
grep -qw 72 "$work/out" || fail "a chunk graph: $(cat "$work/out")"
grep -q '^Airport Name' "$work/out" || fail "a chunk graph's object: $(cat "$work/out")"
granary run --explain "$work/chunks.json" | grep -q 'b = call(a, a:0)' || fail "a chunk graph is not explained"

# A graph that goes on prints what is whole, and that can be read.
echo '{"nodes": {"good": {"op": "exec", "command": ["echo", "fine"]}, "bad": {"op": "exec", "command": ["false"]},
  "after": {"op": "exec", "command": ["cat"], "input": "bad"}}, "targets": ["good", "after"]}' >"$work/parts.json"
expect 1 'target after has failed' granary run --keep-going "$work/parts.json"
grep -qx fine "$work/out" || fail "what is whole is not printed: $(cat "$work/out")"
key=$(grep -o 'graph [0-9a-f]\{32\}' "$work/err" | cut -d' ' -f2)
[ "$(granary read "$key/good" -o -)" = fine ] || fail "what is whole is not read"
expect 1 "'false' ended with exit status 1" granary read "$key/after"
expect 1 "'false' ended with exit status 1" granary run --discard "$work/parts.json"
[ ! -s "$work/out" ] || fail "printed although it has not gone on: $(cat "$work/out")"

# What goes wrong names the node and says what user code said.
expect 1 "node 'call'.*milk is not what I wanted" granary submit complain --arg what=milk --wait
expect 1 '^  row 7 is odd' granary submit grumble --wait # what it printed last
expect 4 '^granary: input nosuch.csv: cannot be read: No such file or directory$' granary submit square --input nosuch.csv
expect 4 "did you mean 'square'" granary submit sqare
expect 4 "no column 'a'; did you mean 'A'" granary run <(sed "s|$work/t.csv|$work/upper.csv|" "$work/frame.json")
expect 2 'takes at least 1 inputs' granary submit total
expect 1 "node 'call'.*(exit|status|3)" granary run <(echo '{"nodes": {"call": {"op": "exec", "command": ["sh", "-c", "exit 3"]}}}')
id=$(granary put "$work/t.csv")
granary rm "$id"
expect 4 "$id" granary submit square --input "$id" --wait

# Two versions side by side: the newest by name, each by its version; a graph keeps what it was bound to.
one=$(granary export --name which "$work/v1.so")
two=$(granary export --name which "$work/v2.so")
[ "$(granary submit which -o - | as_number)" = 2 ] || fail "not the newest version"
[ "$(granary submit "which@$one:which" -o - | as_number)" = 1 ] || fail "not the version asked for"
expect 4 'not exported' granary submit "which@00000000000000000000000000000000:which"
granary unexport "which@$two"
[ "$(granary submit which -o - | as_number)" = 1 ] || fail "not the version that is left"
granary export --name other "$work/v2.so" >/dev/null
expect 2 'is in the libraries .* write' granary submit which
granary unexport other
granary unexport which
expect 4 "'which' is not exported" granary submit which

# A key belongs to the session that gave it first.
granary session create other
granary submit --key mine "numbers:square" --wait >/dev/null
expect 1 "session 'default' has one of that key" granary submit --session other --key mine square
granary session delete other

# A session that went and came again has nothing of the earlier one. A file that was lost is exported again.
granary session create again
granary export --session again "$work/v1.so" >/dev/null
granary functions --session again | grep -q '^v1:which' || fail "the session's functions: $(granary functions)"
! granary functions --session again | grep -q square || fail "functions of another session"
granary session delete again
expect 4 "session 'again': not found" granary functions --session again
! granary functions | grep -q ' again ' || fail "functions of a deleted session: $(granary functions)"
granary session create again
expect 4 "'which' is not exported in session 'again'" granary submit --session again which
granary export --session again "$work/v1.so" >/dev/null
file=$(granary ls --session again --json | grep -o '[0-9a-f]\{32\}')
granary unref --session again --owner export:v1 "$file"
granary rm --session again "$file"
expect 4 'deleted from the store: export it again' granary submit --session again which --wait
granary export --session again "$work/v1.so" >/dev/null
[ "$(granary submit --session again which -o - | as_number)" = 1 ] || fail "exported again to a new session"

# A graph that waits keeps what is unexported, and an executor that comes late gets it still.
granary export "$work/patient.so" >/dev/null
key=$(granary submit patient --count 2 --retries 3 --arg "file=$work/go")
timeout 60 sh -c "until [ -e '$work/go.here' ]; do sleep 0.02; done" || fail "the patient function does not begin"
granary unexport patient
expect 4 "'patient' is not exported" granary submit patient
granary info executors --json | grep -o '"number": *[0-9]*' | grep -o '[0-9]*$' | xargs granary executors kill >/dev/null
touch "$work/go"
granary submit --key "$key" patient --count 2 --retries 3 --arg "file=$work/go" --wait >"$work/ids" || fail "what was unexported while it ran"
[ "$(wc -l <"$work/ids")" = 2 ] || fail "two results of an unexported function: $(cat "$work/ids")"

# They survive the scheduler, and nothing of them is left when they are gone.
pid=$(sed 's/ .*//' "$work/i/sched.lock")
kill -9 "$pid"
timeout 60 sh -c 'until granary submit square -o /dev/null 2>/dev/null; do sleep 0.05; done' || fail "no other scheduler"
[ "$(granary submit square --count 3 --wait | wc -l)" = 3 ] || fail "after the scheduler's death"
granary unexport numbers
expect 4 "'square' is not exported" granary submit square
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
