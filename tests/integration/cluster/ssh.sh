#!/bin/bash
# Machines that are reached by ssh, with a real sshd on a port of this host: docs/cluster.md's second way. Skipped (77) where it is
# not installed.
sshd=$(PATH="$PATH:/usr/sbin:/sbin" command -v sshd) && command -v ssh ssh-keygen >/dev/null || exit 77
# shellcheck source=tests/integration/cluster/plans.sh
. "$(dirname "$0")/plans.sh"
plan "$work/plan.json"
granary run -e 1 --memory 64M "$work/graph.json" >"$work/want"

# Keys, and an sshd that takes these alone. Where sessions start, granary is there, and each has a directory of its own.
mkdir -p "$work/ssh"
chmod 700 "$work/ssh" "$work"
ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/host"
ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/key"
cp "$work/ssh/key.pub" "$work/ssh/authorized"
port=$((17000 + $$ % 20000))
cat >"$work/ssh/sshd_config" <<EOF
Port $port
ListenAddress 127.0.0.1
HostKey $work/ssh/host
AuthorizedKeysFile $work/ssh/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
SetEnv PATH=$PATH XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR GRANARY_RECALL=off
EOF
cat >"$work/ssh/config" <<EOF
Host ant bee cat
    Hostname 127.0.0.1
    Port $port
Host closed
    Hostname 127.0.0.1
    Port 1
Host *
    User $(id -un)
    IdentityFile $work/ssh/key
    IdentitiesOnly yes
    StrictHostKeyChecking accept-new
    UserKnownHostsFile $work/ssh/known
    LogLevel ERROR
EOF
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
"$sshd" -D -e -f "$work/ssh/sshd_config" 2>"$work/ssh/log" &
daemon=$!
end_sshd() {
    local status=$?
    [ $status = 0 ] || tail -n 5 "$work/ssh/log" >&2
    kill $daemon 2>/dev/null || true
    (exit $status) || finish # it looks at the status
    finish
}
trap end_sshd EXIT
listens() {
    goes_on $daemon || fail "sshd: $(cat "$work/ssh/log")"
    grep -q "Server listening" "$work/ssh/log"
}
await listens

# granary knows ssh by its name alone: this one reads the configuration above.
mkdir "$work/bin"
cat >"$work/bin/ssh" <<EOF
#!/bin/sh
exec $(command -v ssh) -F "$work/ssh/config" "\$@"
EOF
chmod +x "$work/bin/ssh"
export PATH="$work/bin:$PATH"
ssh -n ant granary version >/dev/null || fail "ssh itself: $(cat "$work/ssh/log")"

on() { # HOSTS OPTION...
    granary run -e 1 --memory 64M "$work/plan.json" --on "ssh:$1" --directory "$d" "${@:2}" >"$work/got" 2>"$work/err" || fail "$1: $(cat "$work/err")"
    same "$work/got" "$work/want"
    [ -z "$(ls -A "$d")" ] || fail "left in the directory: $(ls -A "$d")"
}

# Each fragment starts an instance; a machine that is closed has its fragments run elsewhere.
on ant,closed
grep -q "on closed: ssh: connect to host 127.0.0.1 port 1: Connection refused: it is tried again" "$work/err" || fail "said: $(cat "$work/err")"
nothing_left
expect 1 "on closed: .*Connection refused" granary run -e 1 --memory 64M "$work/plan.json" --on ssh:closed --directory "$d"

# An instance on each, which is one here; a directory whose name a shell would take apart.
granary up -e 1 --memory 64M >/dev/null
d="$work/it's a \$d"
mkdir "$d"
granary run "$work/plan.json" --on ssh:ant,bee,cat --directory "$d" --discard >"$work/got" 2>"$work/err" || fail "three: $(cat "$work/err")"
same "$work/got" "$work/want"
statement="SELECT \"Origin State\" AS state, count(*) AS n FROM '$PWD/$birds' GROUP BY 1 ORDER BY 2 DESC, 1"
granary sql --on ssh:ant,bee --directory "$d" --fragment-bytes 1 "$statement" >"$work/got"
granary sql "$statement" | same /dev/stdin "$work/got"

# What they are at, and by whose clock.
granary cluster status --on ssh:ant,closed >"$work/got"
grep -Eq "^ant +$version +1 +64.0 MiB" "$work/got" || fail "status: $(cat "$work/got")"
grep -Eq "^closed .* no answer: .*Connection refused$" "$work/got" || fail "status: $(cat "$work/got")"
granary run "$work/plan.json" --on ssh:ant --directory "$d" --discard --timeline "$work/trace.json" >/dev/null 2>&1
python3 -c "import json, sys
events = json.load(open(sys.argv[1]))
assert any(event.get('cat') == 'subtask' for event in events), events
labels = [event['args']['labels'].split() for event in events if event['name'] == 'process_labels']
assert abs(float(labels[0][3])) <= float(labels[0][-2]), labels" "$work/trace.json" || fail "the timeline"

# The driver is killed while a fragment runs on the other machine: that ends with it.
executor=$(granary info executors --fields pid --json | grep -o '[0-9]*')
kill -STOP "$executor"
granary run "$work/plan.json" --on ssh:ant --directory "$d" >/dev/null 2>&1 &
run=$!
begun() {
    pgrep -f "cluster fragment .*$work" >/dev/null
}
await begun
kill -9 $run
! wait $run 2>/dev/null || fail "a driver that was killed"
kill -CONT "$executor"
ended() {
    ! pgrep -f "cluster fragment .*$work" >/dev/null
}
await ended
granary cluster why --directory "$d" | grep "its driver was killed" >/dev/null || fail "why"
granary run "$work/plan.json" --on ssh:ant --directory "$d" --discard >"$work/got" 2>/dev/null
same "$work/got" "$work/want"
[ -z "$(ls -A "$d")" ] || fail "left in the directory: $(ls -A "$d")"
