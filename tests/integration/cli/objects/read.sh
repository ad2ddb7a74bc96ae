#!/bin/bash
# Parts of chunks from the command line: of objects, of names, of graphs' results; in memory and spilled.
. "$(dirname "$0")/../lib.sh"

granary up --executors 1 --memory 64M >/dev/null
remember_prefix

cat >"$work/graph.json" <<'JSON'
{"nodes": {"birds": {"op": "read_csv", "path": "libclient/examples/data/birdstrikes.csv"},
           "few": {"op": "head", "input": "birds", "rows": 100},
           "square": {"op": "arange", "start": 0, "stop": 1000, "shape": [10, 100]}},
 "targets": ["few", "square"]}
JSON
granary run "$work/graph.json" --json >/dev/null 2>"$work/told" || fail "the graph: $(cat "$work/told")"
few=$(sed -n 's/.*target few is object //p' "$work/told")
square=$(sed -n 's/.*target square is object //p' "$work/told")

check() {
    [ "$(granary read "$few" --rows 3 --cols 'Cost Total $,Airport Name' --csv | head -n 1)" = 'Cost Total $,Airport Name' ] || fail "columns"
    [ "$(granary read "$few" --rows 2:50:7 --csv | wc -l)" = 8 ] || fail "rows with a step"
    cmp <(granary read "$few" --rows=-1,0 --csv) <(granary read "$few" --csv | awk 'NR == 1; NR == 2 {second = $0}; NR == 101 {print; print second}') || fail "positions"
    [ "$(granary read "$square" --index=-1,::40 --json | grep -o '"values":.*')" = '"values":[900,940,980]}}' ] ||
        fail "elements: $(granary read "$square" --index=-1,::40 --json)"
    [ "$(granary read "$square" --bytes 1:6)" = NUMPY ] || fail "bytes"
}
check
granary move --from memory "$few" "$square"
check
granary read "$few" --rows 1:3 -o "$work/two.arrow"
head -c 6 "$work/two.arrow" | grep -q ARROW1 || fail "an Arrow file"
granary read "$square" --accept lz4 -o "$work/square.lz4" 2>"$work/err"
grep -q 'lz4: .* bytes, 8128 when unpacked' "$work/err" || fail "$(cat "$work/err")"
[ "$(od -An -tx1 -N4 "$work/square.lz4" | tr -d ' ')" = 04224d18 ] || fail "an LZ4 frame"
[ "$(granary read "$square" --bytes 0:1K | wc -c)" = 1024 ] || fail "1K bytes"
expect 4 "no column '.*'; did you mean" granary read "$few" --cols "$(granary read "$few" --rows 0 --csv | sed -n '1s/,.*/x/p')"
graph=$(granary graphs --fields key | tail -n 1)
expect 4 ": no column 'nosuch'$" granary read "$graph/few" --cols nosuch
expect 2 'select rows of a frame' granary read "$few" --index 0
expect 2 'gzip' granary read "$few" --accept gzip -o "$work/none"
expect 2 'is no slice' granary read "$few" --rows x
expect 2 'one of them' granary read "$few" --rows 1 --bytes 1
expect 2 'row 100: the frame has 100|position 100' granary read "$few" --rows 100
expect 4 'starts so' granary read ffff

# Of a table in several chunks rows are of the whole, under one heading, and one file has them all.
{ echo i,j; seq 0 99999 | sed 's/.*/&,&/'; } >"$work/rows.csv"
granary load rows --chunk-bytes 200K "$work/rows.csv" >"$work/out"
grep -qE 'in [3-9] chunks' "$work/out" || fail "one chunk: $(cat "$work/out")"
rows() { granary read --csv --cols i "$@" rows/table | tr '\n' ' '; }
[ "$(rows --rows 0:2)" = "i 0 1 " ] || fail "the first rows: $(rows --rows 0:2)"
[ "$(rows --rows -2:)" = "i 99998 99999 " ] || fail "the last rows: $(rows --rows -2:)"
[ "$(rows --rows 10:99990:30000)" = "i 10 30010 60010 90010 " ] || fail "a step: $(rows --rows 10:99990:30000)"
[ "$(rows --rows ::-33333)" = "i 99999 66666 33333 0 " ] || fail "backwards: $(rows --rows ::-33333)"
[ "$(rows --rows 99999,5,-1,50000)" = "i 99999 5 99999 50000 " ] || fail "positions: $(rows --rows 99999,5,-1,50000)"
[ "$(rows --rows 0:0)" = "i " ] || fail "no row: $(rows --rows 0:0)"
[ "$(rows --rows 70000)" = "i 70000 " ] || fail "one row: $(rows --rows 70000)"
expect 2 'row 100000: the table has 100000' granary read --rows 1,100000 rows/table
expect 2 'rows: position 100000: there are 100000' granary read --rows 100000 rows/table
granary read --csv rows/table | cmp - "$work/rows.csv" || fail "all rows"
granary read rows/table -o "$work/again.csv"
same "$work/again.csv" "$work/rows.csv"
granary read rows/table | tail -n 1 | grep -q '100000 rows' || fail "a long table: $(granary read rows/table | tail -n 2)"
[ "$(granary read --csv --rows 1:2 --cols j 'rows/table[1]' | wc -l)" = 2 ] || fail "rows of one chunk"
expect 2 'are not one file of that format' granary read 'rows/table[0]' 'rows/table[1]' -o "$work/two.arrow"
granary forget rows
cat >"$work/cut.json" <<'JSON'
{"nodes": {"cut": {"op": "arange", "start": 0, "stop": 100000}}, "targets": ["cut"]}
JSON
granary run --keep cut --chunk-bytes 200K "$work/cut.json" >/dev/null 2>&1
granary read cut/cut | grep -q '99999' || fail "a tensor is printed whole: $(granary read cut/cut)"
[ "$(granary read --index 70000 cut/cut)" = 70000 ] || fail "an element: $(granary read --index 70000 cut/cut)"
[ "$(granary read --index=-1:0:-30000 cut/cut)" = '[99999 69999 39999  9999]' ] || fail "backwards: $(granary read --index=-1:0:-30000 cut/cut)"
expect 2 'dimension 0: position 100000: there are 100000' granary read --index 100000 cut/cut
expect 2 'leave --accept out; or name one chunk' granary read --index 0:2 --accept lz4 -o "$work/none" cut/cut
[ "$(granary read --index 0:2 'cut/cut[0]')" = '[0 1]' ] || fail "of one chunk"
granary forget cut
# Elements of a grid of chunks, as NumPy selects them.
cat >"$work/grid.json" <<'JSON'
{"nodes": {"grid": {"op": "arange", "start": 0, "stop": 60000, "shape": [60, 40, 25]}}, "targets": ["grid"]}
JSON
granary run --keep grid --chunk-bytes 40K "$work/grid.json" >/dev/null 2>&1
cat >"$work/grid.py" <<'PY'
import io, itertools, json, numpy, subprocess, sys
whole = numpy.arange(60000).reshape(60, 40, 25)
slices = [['', ':'], ['7', 7], ['-1', -1], ['3:58:9', slice(3, 58, 9)], ['::-7', slice(None, None, -7)], ['5:5', slice(5, 5)]]
for chosen in itertools.islice(itertools.product(slices[1:], repeat=3), 0, None, 4):
    words, parts = zip(*chosen)
    got = subprocess.run(['granary', 'read', 'grid/grid', '--index=' + ','.join(words), '-o', sys.argv[1]], check=True)
    got = numpy.load(sys.argv[1])
    assert got.dtype == whole.dtype and got.shape == whole[parts].shape and (got == whole[parts]).all(), words
got = json.loads(subprocess.run(['granary', 'read', 'grid/grid', '--json', '--index=59,::39'], check=True, stdout=subprocess.PIPE).stdout)
assert got['values'] == whole[59, ::39].tolist(), got
PY
[ "$(granary read --json grid/grid | wc -l)" -gt 8 ] || fail "too few chunks"
/usr/bin/python3 "$work/grid.py" "$work/part.npy" || fail "elements of a grid"
granary forget grid

# Calls of a function share a counter, each gives out what it has drawn; their results are chunks of the graph.
cat >"$work/draw.c" <<'C'
#include <granary/call.h>
#include <granary/session.h>
GRANARY_FUNCTION(draw)
{
    const int64_t one = 1;
    granary_counter *tickets;
    int64_t *out;
    granary_err err = granary_counter_open(granary_call_client(call), "tickets", &tickets);
    if (err == GRANARY_OK) err = granary_call_output_tensor(call, 0, GRANARY_INT64, 1, &one, (void **)&out);
    if (err == GRANARY_OK) *out = granary_counter_add(tickets, 1);
    return err;
}
C
"${CC:-cc}" -shared -fPIC -Iinclude -o "$work/draw.so" "$work/draw.c"
granary export "$work/draw.so" >/dev/null
granary submit draw --count 20 --key lottery --wait >/dev/null
[ "$(granary counter tickets)" = 20 ] || fail "the counter is $(granary counter tickets)"
granary read lottery/call --json | grep -o '"values":.[0-9]*' | grep -o '[0-9]*$' | sort -n | cmp - <(seq 20) || fail "tickets"
cmp <(granary read 'lottery/call[3]') <(granary read lottery/call | sed -n 4p) || fail "one chunk of a target"
expect 2 'no chunk 20, there are 20' granary read 'lottery/call[20]'
expect 4 'nosuch' granary read lottery/nosuch

# A chunk is read when it is made, though its graph still runs; one that is not there yet can be waited for.
cat >"$work/stages.c" <<'C'
#include <granary/call.h>
#include <unistd.h>
GRANARY_FUNCTION(stages)
{
    const granary_call_context *context = granary_call_context_get(call);
    const char *file = granary_call_param(call, "file", "");
    const int64_t one = 1;
    int64_t *out;
    granary_err err = granary_call_output_tensor(call, 0, GRANARY_INT64, 1, &one, (void **)&out);
    while (context->index > 0 && access(file, F_OK) != 0 && !granary_call_cancelled(call)) usleep(2000);
    if (err == GRANARY_OK) *out = (int64_t)context->index + 70;
    return err;
}
C
"${CC:-cc}" -shared -fPIC -Iinclude -o "$work/stages.so" "$work/stages.c"
granary export "$work/stages.so" >/dev/null
granary submit stages --count 2 --block 1 --arg file="$work/go" --key stages >/dev/null
[ "$(granary read --timeout 60 'stages/call[0]')" = '[70]' ] || fail "the first chunk"
expect 1 'still runs: chunk 1 of target .call. is not ready' granary read 'stages/call[1]'
expect 6 'still runs' granary read --timeout 0.02 'stages/call[1]'
: >"$work/go"
[ "$(granary read --timeout 60 'stages/call[1]')" = '[71]' ] || fail "the second chunk"
late=000000000000000000000000000000aa
expect 4 'not found' granary read $late
granary read --timeout 60 $late --bytes 0:7 >"$work/late" &
granary put --id $late "$birds" >/dev/null
wait $! || fail "an object that was waited for"
[ "$(cat "$work/late")" = Airport ] || fail "its bytes"

# A graph that is not there; an object that is deleted, among others.
expect 4 'no graph|not found' granary read "nosuchgraph/few"
granary rm "$few"
status=0
granary read "$square" "$few" "$square" --bytes 1:6 >"$work/out" 2>"$work/err" || status=$?
[ $status = 4 ] && [ "$(cat "$work/out")" = NUMPYNUMPY ] || fail "one that is missing: $status $(cat "$work/err")"

# A session is deleted though a function in it listens to nobody; others in the instance go on.
cat >"$work/deaf.c" <<'C'
#include <granary/call.h>
#include <unistd.h>
GRANARY_FUNCTION(deaf)
{
    while (granary_call_inputs(call) == 0) usleep(1000);
    return GRANARY_OK;
}
C
"${CC:-cc}" -shared -fPIC -Iinclude -o "$work/deaf.so" "$work/deaf.c"
granary export --session doomed "$work/deaf.so" >/dev/null
granary submit --session doomed deaf --count 3 --key deaf >/dev/null
until granary tasks --json | grep -q '"state": "running"'; do :; done
granary session delete doomed
expect 4 'doomed' granary ls --session doomed
expect 4 'no graph|not found' granary read deaf/call
[ "$(granary read --timeout 60 'stages/call[1]')" = '[71]' ] || fail "another session's results"

# An object whose id was made of a name is found by it, unless the name is bound.
granary put --id-from strikes "$birds" >/dev/null
granary get name:strikes | cmp - "$birds" || fail "name: of put --id-from"
granary stat name:strikes >/dev/null
[ "$(granary read name:strikes --bytes 0:7)" = Airport ] || fail "read name:"
expect 4 "name 'nosuch'" granary get name:nosuch
granary name strikes "$square"
granary get name:strikes | head -c 6 | grep -q NUMPY || fail "a bound name comes first"

# Columns of an Arrow file that cannot be read hinder only who wants them.
nested=$(granary put tests/golden/arrow/nested.arrow)
[ "$(granary read --csv --rows 0:1 --cols text,number "$nested")" = "$(printf 'text,number\ntext 0,0.0')" ] || fail "columns beside a list"
granary get --columns text "$nested" -o "$work/text.arrow"
[ "$(granary sql --csv "select count(text) as n from '$work/text.arrow'")" = "$(printf 'n\n5')" ] || fail "get --columns"
expect 2 "column 'map' \(Map\) is of an Arrow type that is not supported" granary read --cols text,map "$nested"
expect 2 "columns 'map' \(Map\), .* not supported; select other columns" granary read "$nested"
expect 2 "select other columns \('first', .*\), as granary sql --keep NAME" granary load nested tests/golden/arrow/nested.arrow
expect 4 "no column 'tex'; did you mean 'text'" granary read --cols tex "$nested"

# What cannot be written is named; a session that is not there is said to be so.
expect 5 '^granary: /dev/full: ' granary get name:strikes -o /dev/full
expect 2 '^granary: name:strikes: --range' granary get --range 0:99999999 name:strikes
expect 4 'nosuch' granary top --once --session nosuch
granary top --once --session default >/dev/null
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left: $(leftovers)"
