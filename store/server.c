/* The loop: one thread that does everything but reading and writing files. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/barrier.h"
#include "base/clock.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/futex.h"
#include "base/log.h"
#include "store/client/client.h"
#include "store/client/doze.h"
#include "store/client/greeting.h"
#include "store/client/teardown.h"
#include "store/core/core.h"
#include "store/core/events.h"
#include "store/flow/compact.h"
#include "store/flow/grant.h"
#include "store/flow/move.h"
#include "store/object/counted.h"
#include "store/object/hold.h"
#include "store/object/object.h"
#include "store/store.h"

#define SPIN_NS        10000     /* after the last ring entry, before the store sleeps: a client may need this cpu */
#define EVENTS_NS      20000     /* how often sockets are looked at while rings are busy */
#define PUBLISH_NS     1000000   /* ... and the account shown to sessions that did nothing themselves */
#define SHOW_NS        10000000  /* ... and to the rest of many sessions, when there is nothing else to do */
#define RECHECK_NS     100000000 /* deleted objects that are still leased */
#define RECHECK_LOOKS  128u      /* ... at some of them in a turn */
#define ORPHANS_NS     20000000  /* rings of clients that have not come back yet */
#define FEW_RINGS      16u       /* so few are all looked at in every turn */
#define ALL_RINGS_TURN 16u       /* otherwise all of them, every so many turns */
#define EVENTS         64

static void
accept_clients(struct store *store)
{
    for (int i = 0; i < EVENTS; i++) {
        int fd =
            FAULT_FAILS(client_accept) ? -1 : accept4(store->doors.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0) {
            (void)client_accept(store, fd);
            continue;
        }
        if ((errno == EMFILE || errno == ENFILE) && store->doors.spare_fd >= 0) {
            /* Out of descriptors: the spare one lets us tell the caller, instead of spinning on its request. */
            gr_fd_close(&store->doors.spare_fd);
            fd = accept4(store->doors.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
            gr_fd_close(&fd);
            store->doors.spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
            gr_log_warn("CLIENT-REFUSED", "why=out of descriptors");
        }
        return;
    }
}

static void
handle_event(struct store *store, struct source *source)
{
    struct client *client = source->owner;

    switch (source->kind) {
    case SOURCE_LISTEN:
        accept_clients(store);
        break;
    case SOURCE_STOP:
        store->stopping = true;
        break;
    case SOURCE_DOORBELL:
        doze_note_bell(store);
        break;
    case SOURCE_WORKER:
        workers_reap(store->workers);
        break;
    case SOURCE_CLIENT_SOCKET:
        if (!client->gone) {
            client_readable(client);
        }
        break;
    case SOURCE_CLIENT_PROCESS:
        client_drop(client, NULL);
        break;
    }
}

static bool
doomed_turn(struct store *store, int64_t now_ns)
{
    (void)now_ns;
    if (!store->clients.any_doomed) {
        return false;
    }
    list_each (struct client, client, &store->clients.all, in_store) {
        if (client->doomed) {
            client_drop(client, client->deaf ? "it does not read its answers" : NULL);
        }
    }
    store->clients.any_doomed = false;
    return false;
}

/* Returns how many there were. */
static int
handle_events(struct store *store, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(store->doors.epoll_fd, events, EVENTS, timeout_ms);

    for (int i = 0; i < count; i++) {
        handle_event(store, events[i].data.ptr);
    }
    return count;
}

/* Some of the deleted objects that were leased. True: there are more to look at. */
static bool
recheck_turn(struct store *store, int64_t now_ns)
{
    bool due = now_ns >= store->sessions.recheck_ns;
    unsigned looks = RECHECK_LOOKS;
    bool more = false;

    if (store->sessions.deleting == 0) {
        return false;
    }
    list_each (struct session, session, &store->sessions.all, in_store) {
        session->recheck_deleting = session->recheck_deleting || (due && session->deleting_count > 0);
        if (looks > 0 && session_recheck_deleting(session, &looks)) {
            /* The list is in no order that matters: the others come first the next time. */
            list_append(&store->sessions.all, &session->in_store);
            more = true;
        }
    }
    if (due) {
        store->sessions.recheck_ns = now_ns + RECHECK_NS;
    }
    return more;
}

static int64_t
recheck_next_ns(const struct store *store)
{
    return store->sessions.deleting > 0 ? store->sessions.recheck_ns : INT64_MAX;
}

/* ---- the turn ---- */

/*
 * What each turn of the loop does, in this order. run: true when there may be more to do at once. next_ns: when it is due
 * although nothing happens; NULL: never.
 */
static const struct {
    bool (*run)(struct store *store, int64_t now_ns);
    int64_t (*next_ns)(const struct store *store);
} turns[] = {
    {counted_turn, NULL},
    {recheck_turn, recheck_next_ns},
    {hold_turn, NULL},
    {doomed_turn, NULL},
    {memory_turn, memory_next_ns},
    {moves_turn, moves_next_ns},
    {compact_turn, compact_next_ns},
    {teardown_turn, teardown_next_ns},
    {greeting_turn, greeting_next_ns},
    {events_wake, NULL},
};

#define TURNS (sizeof turns / sizeof turns[0])

static bool
work(struct store *store, int64_t now_ns, bool lately)
{
    bool busy = doze_drain(store, now_ns, lately) > 0;

    for (size_t i = 0; i < TURNS; i++) {
        busy = turns[i].run(store, now_ns) || busy;
    }
    store_flush_touched(store); /* of requests and turns: nobody sleeps through what they did */
    return busy;
}

static int64_t
earlier(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* Nothing to do: tell the clients that rings need the doorbell now, look once more, and wait for an event. */
static unsigned
sleep_until_event(struct store *store)
{
    int64_t now_ns = gr_now_ns();
    int64_t wake_ns = INT64_MAX;
    unsigned entries;

    if (store->clients.orphans > 0) {
        doze_note_bell(store);
    }
    entries = doze_sleep(store, now_ns);
    if (entries > 0) {
        return entries;
    }
    for (size_t i = 0; i < TURNS; i++) {
        wake_ns = turns[i].next_ns == NULL ? wake_ns : earlier(wake_ns, turns[i].next_ns(store));
    }
    if (store->clients.orphans > 0) { /* they ring the doorbell of a store that is gone */
        clients_check_orphans(store);
        wake_ns = earlier(wake_ns, now_ns + ORPHANS_NS);
    }
    if (doze_publish(store)) {
        wake_ns = earlier(wake_ns, now_ns + SHOW_NS);
    }
    (void)handle_events(store, store->clients.any_doomed ? 0 : gr_left_ms(wake_ns));
    return 0;
}

bool
store_turn(struct store *store)
{
    bool busy = work(store, gr_now_ns(), false);

    busy = doze_sleep(store, gr_now_ns()) > 0 || busy;
    if (store->clients.orphans > 0) {
        doze_note_bell(store);
        clients_check_orphans(store);
    }
    (void)doze_publish(store);
    busy = handle_events(store, 0) > 0 || busy;
    clients_bury(store);
    return busy;
}

void
store_run(struct store *store)
{
    int64_t busy_ns = 0;
    int64_t events_ns = 0;
    int64_t publish_ns = 0;

    for (uint64_t turn = 0; !store->stopping; turn++) {
        bool lately = store->clients.rings > FEW_RINGS && turn % ALL_RINGS_TURN != 0;
        int64_t now_ns = gr_now_ns();

        if (work(store, now_ns, lately)) {
            busy_ns = now_ns;
        }
        if (now_ns - busy_ns > SPIN_NS) {
            if (sleep_until_event(store) > 0) {
                busy_ns = gr_now_ns();
            }
        } else if (now_ns - events_ns > EVENTS_NS) {
            if (now_ns - publish_ns > PUBLISH_NS) {
                (void)doze_publish(store);
                publish_ns = now_ns;
            }
            (void)handle_events(store, 0);
            events_ns = now_ns;
        } else {
            gr_cpu_relax();
        }
        clients_bury(store);
    }
}
