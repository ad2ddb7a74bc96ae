#!/bin/bash
# An instance as a service: in the foreground, under a manager that hears how it goes and hands over the socket.
. "$(dirname "$0")/../lib.sh"

# A start that cannot be ends with its message and status; one that is up already is not disturbed.
expect 4 'granary: up: --spill-dir .*make it first' granary up --foreground --spill-dir "$work/no/dir"
granary up --executors 1 >/dev/null
remember_prefix
expect 1 'is up already' granary up --foreground
granary status >/dev/null || fail "status"
granary down >/dev/null

# A manager: it starts the service, prints what it is told, line by line, and passes the signals that it reads from stdin on.
cat >"$work/manager.py" <<'END'
import os, signal, socket, subprocess, sys
third = os.open("/dev/null", os.O_RDONLY)  # the number of a socket that is handed over
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(sys.argv[1])
environment = dict(os.environ, NOTIFY_SOCKET=sys.argv[1].replace("\0", "@"), **({"WATCHDOG_USEC": "200000"} if "watched" in sys.argv else {}))
path = os.environ["GRANARY_INSTANCE"] + "/store.sock"
sockets = []
if "socket" in sys.argv:
    os.makedirs(os.path.dirname(path), mode=0o700)
    sockets.append(socket.socket(socket.AF_UNIX))
    sockets[0].bind(path)
    os.chmod(path, 0o600)
    sockets[0].listen(64)
code = """import os, sys
if sys.argv[1] != "0": os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execvp("granary", ["granary", "up", "--foreground", "--executors", "1", "--memory", "64M"])"""
if sockets: os.dup2(sockets[0].fileno(), 3)
service = subprocess.Popen([sys.executable, "-c", code, str(len(sockets))], env=environment, pass_fds=[3] if sockets else [])
notify.settimeout(60)
def hear(what):
    while True:
        text = notify.recv(4096).decode()
        if what in text.split("\n"):
            return text
def end(message):
    service.kill(); service.wait(); sys.exit(message)
if "early" in sys.argv:  # stopped while it starts
    hear("STATUS=starting")
    while not os.path.exists(os.environ["GRANARY_INSTANCE"] + "/log/store.log"): pass
    service.send_signal(signal.SIGTERM)
    sys.exit(service.wait(60))
text = hear("READY=1")
if "STATUS=1 executors, 0 restarts of daemons" not in text: end("what it says when it is ready: " + text)
if "watched" in sys.argv:
    for i in range(3): hear("WATCHDOG=1")
subprocess.run(["granary", "put", sys.argv[2]], check=True, stdout=subprocess.DEVNULL)
if sockets:  # who connects while nobody serves is served by the next store
    for name in ("a", "b"):
        pid = int(open(os.environ["GRANARY_INSTANCE"] + "/instance.json").read().split('"store_pid": ')[1].split(",")[0])
        os.kill(pid, signal.SIGKILL)
        subprocess.run(["granary", "put", sys.argv[2]], check=True, stdout=subprocess.DEVNULL)
service.send_signal(signal.SIGTERM)
hear("STOPPING=1")
status = service.wait(60)
if sockets and not os.path.exists(path): sys.exit("the manager's socket is gone")
sys.exit(status)
END

python3 "$work/manager.py" "$work/notify" $birds watched >"$work/out" || fail "a service: $(cat "$work/out")"
grep -q 'is up in .* (1 executor; memory 64.0 MiB' "$work/out" || fail "what a service prints: $(cat "$work/out")"
[ ! -e "$work/i" ] || fail "a service that was stopped left $(find "$work/i")"
python3 "$work/manager.py" "$work/notify2" $birds socket >/dev/null || fail "a service with a socket"
[ "$(find "$work/i" -mindepth 1)" = "$work/i/store.sock" ] || fail "left beside the manager's socket: $(find "$work/i")"
rm -r "$work/i"
python3 "$work/manager.py" "$work/notify3" $birds early || fail "a service that is stopped while it starts: exit status $?"
[ ! -e "$work/i" ] || fail "a service stopped while it started left $(find "$work/i")"
[ -z "$(leftovers)" ] || fail "left behind: $(leftovers)"

# In the background, too: whoever ends `granary up` while it starts does not want the instance.
for signal in TERM INT; do
    GRANARY_FAULT='cli/daemon_ready:delay=3s@1' python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp("granary", ["granary", "up", "--executors", "1", "--memory", "64M"])' 2>"$work/err" &
    starter=$!
    await [ -e "$work/i/log/store.log" ]
    kill -$signal $starter
    status=0
    wait $starter || status=$?
    [ $status != 0 ] && grep -q '^granary: up: stopped ' "$work/err" || fail "up that is stopped: status $status: $(cat "$work/err")"
    [ ! -e "$work/i" ] && [ -z "$(leftovers)" ] || fail "up that was stopped left $(leftovers) $(find "$work/i")"
done

# With the manager's socket alone, a command that looks for an instance first starts it, and waits until all of it is there.
cat >"$work/lazy.py" <<'END'
import os, select, signal, socket, subprocess, sys
directory = os.environ["GRANARY_INSTANCE"]
os.makedirs(directory, mode=0o700)
listener = socket.socket(socket.AF_UNIX)
listener.bind(directory + "/store.sock")
listener.listen(64)
command = subprocess.Popen(sys.argv[2:])
select.select([listener], [], [], 60)[0] or sys.exit("nobody connects")
if sys.argv[1] == "fails":
    listener.close()
    sys.exit(command.wait(60))
os.dup2(listener.fileno(), 3)
code = """import os
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execvp("granary", ["granary", "up", "--foreground", "--executors", "1", "--memory", "64M"])"""
service = subprocess.Popen([sys.executable, "-c", code], pass_fds=[3], stdout=subprocess.DEVNULL)
status = command.wait(60)
service.send_signal(signal.SIGTERM)
service.wait(60)
sys.exit(status)
END
python3 "$work/lazy.py" starts granary sql --keep six 'SELECT 6 * 7 AS n' >"$work/out" 2>&1 || fail "sql by the socket: $(cat "$work/out")"
grep -qx '42' "$work/out" && grep -q "kept as table 'six'" "$work/out" || fail "sql by the socket: $(cat "$work/out")"
rm -r "$work/i"
expect 3 'what is behind it did not start: .systemctl' python3 "$work/lazy.py" fails granary sql 'SELECT 1'
rm -r "$work/i"

# The units are right, and a hardened one exposes little. Skipped where systemd's tools are not there.
units=$GRANARY_SOURCE/tools/packaging/systemd
units_are_right_and_expose_little() {
    local unit exposure
    mkdir -p "$work/units"
    for unit in "$units"/*/*.service "$units"/*/*.socket; do
        sed "s|/usr/bin/granary|$GRANARY_BIN/granary|" "$unit" >"$work/units/${unit##*/}"
    done
    for unit in "$work"/units/*@.service; do
        mv "$unit" "${unit%@.service}@default.service"
        systemd-analyze --man=no verify "${unit%@.service}@default.service" >"$work/verify" 2>&1 || fail "verify $unit: $(cat "$work/verify")"
    done
    exposure=$(systemd-analyze security --offline=yes "$units/system/granary-shared@.service" | sed -n 's/.*Overall exposure level[^:]*: \([0-9.]*\).*/\1/p')
    awk -v exposure="$exposure" 'BEGIN { exit !(exposure != "" && exposure <= 3.0) }' || fail "exposure level '$exposure' is more than 3"
}
! command -v systemd-analyze >/dev/null || units_are_right_and_expose_little

# doctor knows what logind and tmpfiles do to an instance; an error is explained by name, number and exit status.
root=$work/root
mkdir -p "$root/run/systemd/users" "$root/etc/systemd" "$root/etc/tmpfiles.d" "$root/var/lib/systemd/linger"
# doctor_says PATTERN
doctor_says() {
    GRANARY_DOCTOR_ROOT=$root granary doctor >"$work/doctor" || true
    grep -qE "$1" "$work/doctor" || fail "doctor: no '$1' in: $(cat "$work/doctor")"
}
doctor_says '^attention +log-out +when user .* logs out, logind removes his shared memory'
printf '[Login]\n#RemoveIPC=yes\nRemoveIPC=no\n' >"$root/etc/systemd/logind.conf"
doctor_says '^ok +log-out +shared memory stays'
echo 'RemoveIPC=yes' >"$root/etc/systemd/logind.conf"
touch "$root/var/lib/systemd/linger/$(id -un)"
doctor_says '^ok +log-out +user .* lingers'
! grep -q cleaning "$work/doctor" || fail "a directory that nobody cleans: $(cat "$work/doctor")"
echo 'q /var/tmp 1777 root root 30d' >"$root/etc/tmpfiles.d/tmp.conf"
doctor_says '^attention +cleaning +systemd-tmpfiles removes files of /var/tmp/granary-'
cp "$GRANARY_SOURCE/tools/packaging/systemd/tmpfiles.d/granary.conf" "$root/etc/tmpfiles.d/"
doctor_says '^ok +cleaning +systemd-tmpfiles spares'
granary explain EFULL | grep -q '^GRANARY_EFULL (-5, exit status 5): full' || fail "explain by name"
[ "$(granary explain 5 | grep -c Remedy)" = 2 ] || fail "explain by exit status"
granary explain --json -8 | grep -q '"name": "GRANARY_ECORRUPT".*"remedy"' || fail "explain by number"
expect 4 "no error 'E0': .granary explain. lists all" granary explain E0
