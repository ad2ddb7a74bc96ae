#!/bin/bash
# A backup of a busy instance is of one moment, and becomes an instance again: here, under another name, after damage.
. "$(dirname "$0")/../lib.sh"

granary up --executors 1 --memory 32M >/dev/null
remember_prefix
granary sql 'CREATE TABLE clicks (page text)' >/dev/null
granary sql "INSERT INTO clicks VALUES ('a'), ('b')" >/dev/null
granary load strikes $birds >/dev/null
for i in 1 2 3; do
    head -c 12M /dev/urandom >"$work/object$i" # more than memory holds: some of it is spilled
    granary put --id-from "object$i" "$work/object$i" >/dev/null
done
python3 -c 'import subprocess, sys
for i in range(400): subprocess.run(["granary", "put", "--id-from", f"busy{i}", "-"], input=b"%d" % i, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)' &
writer=$!
granary snapshot --freeze "$work/backup" 2>/dev/null || fail "snapshot --freeze"
kill $writer 2>/dev/null || true
wait $writer 2>/dev/null || true
granary put - <$birds >/dev/null || fail "the store does not go on after a backup"
granary fsck --copy "$work/backup" --verify >/dev/null || fail "fsck of a backup: $(granary fsck --copy "$work/backup" --verify)"
granary sql "INSERT INTO clicks VALUES ('after the backup')" >/dev/null

# A backup whose process is killed leaves the store running.
python3 - "$work/killed" <<'END'
import os, signal, subprocess, sys
backup = subprocess.Popen(["granary", "snapshot", "--freeze", sys.argv[1]])
while not os.path.exists(sys.argv[1] + "/root"):
    if backup.poll() is not None: break
backup.send_signal(signal.SIGKILL)
backup.wait()
END
timeout 60 granary put - <$birds >/dev/null || fail "the store stays stopped after a backup that was killed"
if [ ! -e "$work/killed/backup.json" ]; then
    expect 2 'no backup: only what' granary restore "$work/killed" --instance "$work/other"
fi
expect 1 'is up: stop it' granary restore "$work/backup"
expect 4 'No such file' granary restore "$work/nothing"

# checks INSTANCE: it has what was there at the backup's moment
checks() {
    local i
    for i in 1 2 3; do
        granary get --instance "$1" "name:object$i" | cmp - "$work/object$i" || fail "object $i of $1"
    done
    [ "$(granary sql --instance "$1" --csv 'SELECT count(*) AS n FROM clicks' | tail -n 1)" = 2 ] || fail "the table of $1"
    [ "$(granary sql --instance "$1" --csv 'SELECT count(*) AS n FROM strikes' | tail -n 1)" = 10000 ] || fail "the loaded table of $1"
    granary fsck "$1" >/dev/null || fail "fsck of $1"
}

# Beside the one that goes on, under another name.
granary restore "$work/backup" --instance "$work/other" >"$work/out" || fail "restore"
grep -q 'granary up. serves them' "$work/out" || fail "what restore says: $(cat "$work/out")"
expect 1 'was killed, and its objects are there' granary restore "$work/backup" --instance "$work/other"
granary up --instance "$work/other" --executors 1 >/dev/null || fail "up after restore"
sed -n 's|.*"shm_prefix": "/\([^"]*\)".*|\1|p' "$work/other/instance.json" >>"$work/prefixes"
checks "$work/other"
granary down --instance "$work/other" >/dev/null

# In its place, when all is lost. A wrong backup leaves nothing.
granary down >/dev/null
cp -r "$work/backup" "$work/torn"
truncate -s 100 "$work/torn/root"
expect 8 'is damaged: of .* files with' granary restore "$work/torn"
expect 8 'root is damaged' granary restore --damaged "$work/torn"
[ -z "$(leftovers)" ] && [ ! -e "$work/i" ] || fail "a restore that failed left $(leftovers) $(ls "$work/i")"
cp -r "$work/backup" "$work/cut"
python3 - "$work/cut/s1.ledger" <<'END'
import os, sys
with open(sys.argv[1], "r+b") as ledger: ledger.seek(64); ledger.write(os.urandom(os.path.getsize(sys.argv[1]) - 64))
END
expect 8 'fsck --copy .* lists .* damage' granary restore "$work/cut"
truncate -s 1000 "$work/cut/s1.index"
granary restore --damaged "$work/cut" >/dev/null
granary up --executors 1 >/dev/null 2>"$work/err"
grep -q 'up: of what was there before, 0 objects and 1 session were lost or are damaged: .*/log/store.log names them' "$work/err" || fail "a session is lost in silence: $(cat "$work/err")"
granary events >"$work/out" && grep -q ' LOST .* objects 0  sessions 1' "$work/out" || fail "no event of a loss: $(granary events | tail -n 3)"
granary down >/dev/null
: >"$work/cut/backup.json"
expect 8 'does not tell what it has' granary restore "$work/cut"
[ -z "$(leftovers)" ] && [ ! -e "$work/i" ] || fail "a damaged backup left $(leftovers)"

# Programs that copy backups may leave out blocks of zeros.
cp -r --sparse=always "$work/backup" "$work/sparse"
granary restore "$work/sparse" --json | grep -q '"files": ' || fail "restore --json"
granary up --executors 1 >/dev/null
checks "$work/i"
granary down >/dev/null
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"
