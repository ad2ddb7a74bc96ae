#!/bin/bash
# Garbage on every endpoint: the one who sends it is dropped, everybody else is served.
. "$(dirname "$0")/../lib.sh"

granary up --executors 1 >/dev/null
id=$(granary put $birds)
/usr/bin/python3 - "$work/i" <<'PY'
import os, socket, sys
for name in ("store.sock", "sched.sock", "pool.sock"):
    for size in (1, 8, 24, 4096, 100000):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.settimeout(2)
        s.connect(os.path.join(sys.argv[1], name))
        try:
            s.sendall(os.urandom(size))
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
        except OSError:
            pass
        s.close()
PY
granary get "$id" | cmp - $birds || fail "the store"
granary run --discard --csv libclient/examples/damaging.json | grep -qx 'Taxi,2,0,0' || fail "the scheduler"
granary status | grep -q '^executors  1' || fail "the executors"

# User code writes into its executor's connection, which breaks: the executor registers anew, and what it reports counts.
cat >"$work/babble.c" <<'C'
#include <granary/call.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
GRANARY_FUNCTION(babble)
{
    const char *file = granary_call_param(call, "file", "");
    char here[256];
    char noise[256];
    void *out;
    memset(noise, 0xff, sizeof noise);
    if (*file != '\0') {
        snprintf(here, sizeof here, "%s.here", file);
        close(open(here, O_CREAT | O_WRONLY, 0600));
        while (access(file, F_OK) != 0 && !granary_call_cancelled(call)) usleep(2000);
    }
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_un peer = {0};
        socklen_t size = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && strstr(peer.sun_path, "/pool.sock") != NULL)
            (void)!write(fd, noise, sizeof noise);
    }
    return granary_call_output(call, 0, 1, &out);
}
C
cat >>"$work/babble.c" <<'C'
GRANARY_FUNCTION(squander)
{
    void *out;
    granary_err err = granary_call_output(call, 0, 1, &out);
    while (open("/dev/null", O_RDONLY) >= 0);
    return err;
}
GRANARY_FUNCTION(spawn)
{
    void *out;
    granary_err err = granary_call_output(call, 0, 8, &out);
    if (err == GRANARY_OK) {
        pid_t child = fork();
        if (child == 0) for (;;) pause(); /* the output is memory of both */
        memcpy(out, (pid_t[]){child, 0}, 8);
    }
    return err;
}
GRANARY_FUNCTION(narrow)
{
    void *out;
    granary_err err = granary_call_output(call, 0, 1, &out);
    setrlimit(RLIMIT_NPROC, &(struct rlimit){1, 1});
    return err;
}
C
"${CC:-cc}" -shared -fPIC -Iinclude -o "$work/babble.so" "$work/babble.c"
granary export "$work/babble.so" >/dev/null
timeout 60 granary submit babble --count 8 --wait >/dev/null || fail "a broken connection: $(granary executors)"
grep -q CONNECTION-BROKEN "$work"/i/log/*.log || fail "no connection was broken"
# Also when its report was on its way behind the garbage, and the scheduler never read it.
is_idle() { granary executors 2>/dev/null | grep -q ' idle '; }
scheduler=$(cut -d' ' -f1 "$work/i/sched.lock")
granary submit babble --key behind --arg file="$work/go" >/dev/null
await [ -e "$work/go.here" ]
halt "$scheduler"
touch "$work/go"
await is_idle
kill -CONT "$scheduler"
granary await --timeout 60 behind >/dev/null || fail "a report behind garbage: $(granary why behind)"
! grep EXECUTOR-DIED "$work/i/log/pool.log" || fail "an executor whose connection broke was killed"
# What it spoils of its process is that process's end, and nobody else's.
for function in squander narrow; do
    granary submit $function --wait >/dev/null
    grep -q "PROCESS-SPOILED.*'$function'" "$work/i/log/pool.log" || fail "$function: its executor stays"
    granary run --discard --csv libclient/examples/damaging.json | grep -qx 'Taxi,2,0,0' || fail "after $function"
done
# A process that a function leaves behind ends with its executor, or with the instance.
child=$(granary submit spawn -o - | od -An -t d4 -N4 | tr -d ' ')
! ended "$child" || fail "the function's child is gone before its time"
granary info executors --json | grep -o '"number": *[0-9]*' | grep -o '[0-9]*$' | xargs granary executors kill >/dev/null
await ended "$child" # it does not outlive its executor
child=$(granary submit spawn -o - | od -An -t d4 -N4 | tr -d ' ')
granary down >/dev/null
! goes_on "$child" || fail "a function's child outlives the instance"
