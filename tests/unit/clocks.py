"""clocks.py SOURCE: the wall clock tells people and files when something was; nothing waits by it, or ends because of it.

Whoever reads it is listed here with the reason. A new reader is a mistake, or a new line.
"""
import pathlib
import re
import sys

READERS = {
    'libclient/base/clock.h': 'gr_wall_ms() itself',
    'libclient/base/log.c': 'when a line was written',
    'libclient/client/submit.c': 'a deadline for the scheduler, which takes what is left of it and goes by its own clock',
    'executor/user/call_run.c': 'the same, of a graph that a function submits',
    'libclient/sql/parse/functions/moment.c': 'now() of a statement',
    'libclient/object/tell/subscribe.c': 'when an event was',
    'libclient/mutable/table.c': 'the time of a write; no earlier than the last one and the frontier',
    'libclient/object/read/waits.c': 'since when somebody waits',
    'store/core/events.c': 'when an event was',
    'store/client/ring.c': 'when an object was sealed',
    'store/object/alias.c': 'when an alias was made',
    'store/object/object.c': 'when an object was sealed; how old a slice is, as far as the monotonic clock agrees',
    'store/level/write.c': 'when a spill file was made',
    'store/object/session.c': 'when a session was made and used last',
    'store/ledger/ledger.c': 'since when something is held',
    'store/client/hello.c': 'since when a client is connected',
    'store/segment/segment.c': 'since when a segment is granted',
    'store/core/root.c': 'the first epoch, when the store was started',
    'sched/durable/keeper.c': 'an epoch; the last one and 1 when that is higher',
    'sched/server.c': 'what is shown, and what is left of deadlines that clients tell',
    'sched/main.c': 'the same',
    'sched/machine.c': 'when processes were started',
    'tools/cli/print/show.c': 'how long ago something was',
    'tools/cli/look/waits.c': 'how long somebody has waited',
    'tools/cli/cluster/record.c': 'when a fragment began and ended, for who reads it elsewhere',
    'tools/cli/cluster/look/why.c': 'how long a fragment has run',
    'tools/cli/instance/supervisor/supervise.c': 'when the instance was started',
    'tools/cli/instance/backup.c': 'when a backup was made',
}
ROOMS = ('libclient', 'store', 'sched', 'executor', 'tools/cli')
WALL = re.compile(r'CLOCK_REALTIME|gr_wall_ms\(|gettimeofday\(|[^\w]time\((NULL|&)')
# Waits that take an absolute wall-clock time, unless their condition was made for the monotonic clock.
WAITS = re.compile(r'pthread_cond_timedwait|sem_timedwait|pthread_mutex_timedlock|FUTEX_CLOCK_REALTIME|timerfd_create\(CLOCK_REALTIME')

source = pathlib.Path(sys.argv[1])
bad = []
seen = set()
for room in ROOMS:
    for path in sorted((source / room).rglob('*.[ch]')):
        name = str(path.relative_to(source))
        text = path.read_text()
        if WALL.search(text):
            seen.add(name)
            if name not in READERS:
                bad.append(f'{name}: reads the wall clock: wait by gr_now_ns(), or say in tests/unit/clocks.py what for')
        if WAITS.search(text) and 'pthread_condattr_setclock' not in text:
            bad.append(f'{name}: waits by the wall clock: use gr_cond_wait_ns()')
bad += [f'tests/unit/clocks.py: {name} reads the wall clock no more' for name in READERS.keys() - seen]
print('\n'.join(bad))
sys.exit(1 if bad else 0)
