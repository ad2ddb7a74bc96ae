#!/bin/bash
# Logs outlive the instance, stay small, reach the journal with fields, and a disk that is full harms nothing.
. "$(dirname "$0")/../lib.sh"
export HOME=$work XDG_CONFIG_HOME=$work/none

# killed_store: a store is killed, and the next one serves: that is several lines in two logs
killed_store() {
    kill -9 "$(sed 's/.*"store_pid": \([0-9]*\).*/\1/' "$work/i/instance.json")"
    await granary put --id-from "$1" $birds >/dev/null 2>&1
}

# Kept in a directory of its name, over two runs; the daemons' lines are in the journal as well.
mkdir "$work/logs"
python3 -c 'import socket, sys
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind(sys.argv[1])
with open(sys.argv[2], "wb", 0) as out:
    while b"the end" not in (text := journal.recv(4096)): out.write(text + b"\n")' "$work/journal" "$work/heard" &
await [ -S "$work/journal" ]
GRANARY_JOURNAL=mine:$work/journal granary up --executors 1 --memory 64M --log-dir "$work/logs" >/dev/null
remember_prefix
granary down >/dev/null
[ ! -e "$work/i" ] || fail "the runtime directory is still there: $(ls -l "$work/i")"
grep -q 'store INFO STORE-READY' "$work/logs/i/store.log" || fail "the log of a run that is over"
grep -q 'supervisor INFO UP' "$work/logs/i/supervisor.log" || fail "the supervisor's log"
granary up --executors 1 --memory 64M --log-dir "$work/logs" --log warn >/dev/null
[ "$(grep -c 'STORE-READY' "$work/logs/i/store.log")" = 1 ] || fail "a level that leaves information out, or a log that was lost"
granary down >/dev/null
python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"the end", sys.argv[1])' "$work/journal"
wait
for field in 'SYSLOG_IDENTIFIER=granary-store' 'GRANARY_EVENT=STORE-READY' 'GRANARY_INSTANCE=mine' 'PRIORITY=6' 'SYSLOG_IDENTIFIER=granary-supervisor'; do
    grep -qx "$field" "$work/heard" || fail "the journal has no $field: $(cat "$work/heard")"
done

# A log that grows is cut: the newest part is in .1, and no more than two older ones are kept.
granary up --executors 1 --memory 64M --log-dir "$work/logs" --log-size 4096 --log-files 2 >/dev/null
for i in 1 2 3 4; do
    python3 -c 'import os, sys
line = b"filled up by %s" % sys.argv[2].encode() + 80 * b"x" + b"\n"
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND), 60 * line)' "$work/logs/i/store.log" $i
    await grep -qs "by $i" "$work/logs/i/store.log.1"
    await [ "$(stat -c %s "$work/logs/i/store.log")" -lt 4096 ]
done
grep -q 'by 3' "$work/logs/i/store.log.2" || fail "the log before"
[ ! -e "$work/logs/i/store.log.3" ] && [ ! -e "$work/logs/i/store.log.new" ] || fail "too many logs: $(ls "$work/logs/i")"
killed_store one
grep -q ADOPTED "$work/logs/i/store.log" || fail "a store's log after one that was cut"
granary down >/dev/null

# The disk is full, with logs that cannot grow and cannot be copied: all goes on, daemons are started anew as well.
cat >"$work/full.sh" <<'END'
mount -t tmpfs -o size=128k none "$1/logs" || exit 77
granary up --executors 1 --memory 64M --log-dir "$1/logs" --log-size 40K >/dev/null || exit 1
head -c 60000 /dev/zero | tr '\0' 'x' >>"$1/logs/i/pool.log"
cat /dev/zero >"$1/logs/filler" 2>/dev/null
kill -9 "$(sed 's/.*"store_pid": \([0-9]*\).*/\1/' "$1/i/instance.json")"
timeout 60 granary put libclient/examples/data/birdstrikes.csv >/dev/null || exit 2
timeout 60 granary sql 'SELECT 1' >/dev/null || exit 3
granary down >/dev/null || exit 4
END
status=0
unshare -rm bash "$work/full.sh" "$work" || status=$?
[ $status = 0 ] || [ $status = 77 ] || ! unshare -rm true || fail "a disk that is full: step $status"
expect 4 '^granary: up: --log-dir .*make it first' granary up --log-dir "$work/no/dir"
