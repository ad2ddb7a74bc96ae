#!/bin/bash
# record.sh DIRECTORY: what outlives an instance, as this release writes it, with a name that tells the versions:
#   spill-<version>/spill.<n>   persistent objects of several kinds
#   spill-<version>/<id>        the same, exported; of a failure, what a get of it says
#   state-<version>.db          graphs that have ended, failed, and not ended
# A fixture is recorded once, when a format's version is new, and never again: it stands for the files people have.
. "$(dirname "$0")/../integration/cli/lib.sh"
[ -d "${1:-}" ] || fail "usage: record.sh DIRECTORY"
to=$(realpath "$1")

# kept ID: it gets a copy on disk, and is exported
kept() {
    granary move --to disk "$1" >/dev/null
    granary export -o "$work/$1" "$1"
}

granary up --executors 1 --spill-dir "$work/spill" >/dev/null
remember_prefix

# Frames that LZ4 makes smaller, one that it does not, numbers and decimals in frames of their own, an object without data.
python3 - "$work" <<'PY'
import random, struct, sys
random.seed(6)
open(sys.argv[1] + '/text', 'wb').write(b''.join(b'line %d of many\n' % i for i in range(20000)))
open(sys.argv[1] + '/noise', 'wb').write(random.randbytes(5000))
open(sys.argv[1] + '/numbers', 'wb').write(struct.pack('<32768q', *(n * n for n in range(32768))) +
                                           struct.pack('<32768d', *(n / 100 for n in range(32768))))
open(sys.argv[1] + '/empty', 'wb')
PY
for name in text noise numbers empty; do
    kept "$(granary put "$work/$name")"
done
cat >"$work/graph.json" <<'JSON'
{"nodes": {
   "n": {"op": "arange", "stop": 600},
   "t": {"op": "from_tensor", "input": "n", "columns": ["n"]},
   "f": {"op": "assign", "input": "t",
         "columns": {"half": "n / 2", "text": "case when n % 3 = 0 then 'fizz' else null end"}}},
 "targets": ["f", "n"]}
JSON
granary run --keep ended "$work/graph.json" >/dev/null
for target in f n; do
    for id in $(granary results ended $target); do
        kept "$id"
    done
done

# A failure is an object of metadata alone.
sed 's,n / 2,n * 9223372036854775807,; s/"targets": .*/"targets": ["f"]}/' "$work/graph.json" >"$work/bad.json"
granary run --keep-going --keep failed "$work/bad.json" >/dev/null 2>&1 || true
failure=$(granary results failed f | cut -c 1-32)
granary move --to disk "$failure" >/dev/null
{ granary get "$failure" 2>&1 >/dev/null || true; } | sed 's/^granary: [^:]*: /granary: /' >"$work/$failure"

# Its executor stands still, so this one has been planned and not run when everything dies at once.
executor=$(granary executors --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["pid"])')
kill -STOP "$executor"
granary run --keep pending "$work/graph.json" >/dev/null 2>&1 &
until granary graphs pending 2>/dev/null | grep -q running; do :; done
python3 - "$work/i" <<'PY'
import json, os, signal, sqlite3, sys, time
told = json.load(open(sys.argv[1] + '/instance.json'))
state = sys.argv[1] + '/state.db'
while True:  # what nobody waits for is committed a little later
    if sqlite3.connect(state).execute("select 1 from entry where space = 'graphs' and key = x'%s'" % b'pending'.hex()).fetchone():
        break
for who in ('supervisor', 'pool', 'sched', 'store'):
    os.kill(told[who + '_pid'], signal.SIGKILL)
db = sqlite3.connect(state)
db.execute('pragma wal_checkpoint(truncate)')
db.close()
PY
kill -KILL "$executor"
wait 2>/dev/null || true

version() { python3 -c 'import struct, sys
data = open(sys.argv[1], "rb").read(72)
print(struct.unpack(sys.argv[2], data[int(sys.argv[3]):][:4])[0])' "$@"; }
files=("$work"/spill/granary-*/spill.*)
spill=$to/spill-$(version "${files[0]}" '<I' 8)
mkdir "$spill"
cp "${files[@]}" "$spill"
cp "$work"/????????????????????????????????  "$spill"
cp "$work/i/state.db" "$to/state-$(version "$work/i/state.db" '>I' 60).db"
ls -l "$to" "$spill"
