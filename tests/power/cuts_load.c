#include "power/cuts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/id.h"
#include "granary/mutable.h"
#include "granary/store.h"
#include "integration/sched/rig.h"
#include "integration/store/fixture.h"

#define ALIVE 24u /* things of a party at a time, about */

static const char *const memory[] = {"--memory", "2M", NULL};
static const char *const table_memory[] = {"--memory", "16M", NULL};

static bool fail_with(const struct load *load, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool
fail_with(const struct load *load, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(load->why, 512, format, arguments);
    va_end(arguments);
    return false;
}

static void
set_fate(const struct load *load, enum party party, uint32_t thing, enum fate fate)
{
    atomic_store(&load->ledger->fates[party][thing], (unsigned char)fate);
    if (fate == FATE_KEPT) {
        atomic_fetch_add(&load->ledger->promises[party], 1);
    }
}

static uint32_t
next_thing(const struct load *load, enum party party)
{
    uint32_t thing = atomic_fetch_add(&load->ledger->next[party], 1);

    if (thing >= THINGS_MOST) {
        _exit(3);
    }
    return thing;
}

/* Something that was promised and may go now; 0: nothing yet. */
static uint32_t
victim(const struct load *load, enum party party, uint64_t random)
{
    uint32_t first = atomic_load(&load->ledger->first[party]);
    uint32_t next = atomic_load(&load->ledger->next[party]);
    uint32_t thing;

    while (first < next && atomic_load(&load->ledger->fates[party][first]) >= FATE_DELETING) {
        atomic_store(&load->ledger->first[party], ++first);
    }
    if (next - first < ALIVE) {
        return 0;
    }
    thing = first + (uint32_t)(random % (next - first));
    return atomic_load(&load->ledger->fates[party][thing]) == FATE_KEPT ? thing : 0;
}

/* ---- the store ---- */

static uint64_t
size_of(uint32_t thing)
{
    uint64_t random = gr_hash64(&thing, sizeof thing);

    return random % 8 == 0 ? 300000 + random % 400000 : random % 60000;
}

/* party: that of objects, or of a table. */
static void
start_store(const struct load *load, enum party party, struct daemon *daemon, granary_client **ret_client)
{
    const bool is_table = party == PARTY_TABLE;
    granary_connect_options options = {.instance = daemon->directory, .reconnect_ms = -1};

    *daemon = (struct daemon){0};
    (void)snprintf(daemon->directory, sizeof daemon->directory, "%s/%s", load->folder, is_table ? "table" : "store");
    if (!daemon_restart(daemon, is_table ? table_memory : memory) ||
        granary_connect(&options, ret_client) != GRANARY_OK) {
        (void)fail_with(load, "the store does not start: %s", granary_error_message());
        _exit(1);
    }
}

static bool
put(const struct load *load, granary_client *client, uint64_t random)
{
    const granary_object_options how = {.persist = random % 4 == 0 ? 0 : GRANARY_LEVEL_DISK, .timeout_ms = 10000};
    uint32_t thing = next_thing(load, PARTY_STORE);
    granary_buffer buffer;
    granary_err err = granary_object_create_with(client, fixture_id(thing), size_of(thing), 0, &how, &buffer);

    if (err != GRANARY_OK) {
        return false;
    }
    set_fate(load, PARTY_STORE, thing, FATE_PUTTING);
    fixture_fill(buffer.data, thing, size_of(thing));
    err = granary_object_seal(client, &buffer);
    if (err == GRANARY_OK && how.persist == 0) {
        err = granary_object_move(client, fixture_id(thing), GRANARY_LEVEL_DISK, 0, 10000);
    }
    if (err == GRANARY_OK) {
        set_fate(load, PARTY_STORE, thing, FATE_KEPT);
    }
    return err == GRANARY_OK;
}

static void
run_store(const struct load *load)
{
    struct daemon daemon;
    granary_client *client = NULL;
    uint64_t random = load->seed;
    bool ok = true;

    start_store(load, PARTY_STORE, &daemon, &client);
    while (ok) {
        uint32_t old;

        random = gr_hash64(&random, sizeof random);
        old = victim(load, PARTY_STORE, random >> 8);
        if (old != 0) {
            set_fate(load, PARTY_STORE, old, FATE_DELETING);
            ok = granary_object_delete(client, fixture_id(old), 0) == GRANARY_OK;
        }
        ok = ok && put(load, client, random);
    }
}

/* 1 there, 0 not, -1 with other bytes. */
static int
look_up_object(granary_client *client, uint32_t thing)
{
    granary_view view;
    int found = 0;

    if (granary_object_get(client, fixture_id(thing), 0, &view) == GRANARY_OK) {
        found = view.data_size == size_of(thing) && fixture_content_is(view.data, thing, view.data_size) ? 1 : -1;
        granary_object_release(client, &view);
    }
    return found;
}

/* ---- the scheduler ---- */

static const char *const lines[] = {"a", "b a", "c a", "d b c"};

static bool
start_sched(const struct load *load, struct rig *rig)
{
    *rig = (struct rig){0};
    (void)snprintf(rig->directory, sizeof rig->directory, "%s/sched", load->folder);
    (void)gr_instance_resolve(rig->directory, &rig->instance);
    rig->context = gr_zmq_context_create(1);
    return rig_start(rig, "sqlite") || fail_with(load, "the scheduler does not start: %s", rig->said);
}

static void
run_sched(const struct load *load)
{
    struct rig rig;
    uint64_t random = load->seed;
    char key[16];

    if (!start_sched(load, &rig)) {
        _exit(1);
    }
    rig_executor_start(&rig, 0);
    for (;;) {
        uint32_t thing = next_thing(load, PARTY_SCHED);
        uint32_t old;

        random = gr_hash64(&random, sizeof random);
        old = victim(load, PARTY_SCHED, random >> 8);
        if (old != 0) {
            set_fate(load, PARTY_SCHED, old, FATE_DELETING);
            (void)snprintf(key, sizeof key, "g%u", old);
            if (rig_ref(&rig, GRANARY__REQUEST__BODY_DELETE, key) == GRANARY_OK) {
                set_fate(load, PARTY_SCHED, old, FATE_GONE);
            }
        }
        set_fate(load, PARTY_SCHED, thing, FATE_PUTTING);
        (void)snprintf(key, sizeof key, "g%u", thing);
        if (rig_submit(&rig, key, lines, 4) == GRANARY_OK) {
            set_fate(load, PARTY_SCHED, thing, FATE_KEPT);
        }
    }
}

static int
look_up_graph(struct rig *rig, uint32_t thing)
{
    char key[16];

    (void)snprintf(key, sizeof key, "g%u", thing);
    return rig_ref(rig, GRANARY__REQUEST__BODY_EXPLAIN, key) == GRANARY_OK;
}

/* ---- a file: what a program without any faults may expect of this file system ---- */

static void
run_append(const struct load *load)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof path, "%s/append", load->folder);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (;;) {
        uint32_t thing = next_thing(load, PARTY_APPEND);

        set_fate(load, PARTY_APPEND, thing, FATE_PUTTING);
        if (pwrite(fd, &thing, sizeof thing, (off_t)(thing * sizeof thing)) != (ssize_t)sizeof thing ||
            fdatasync(fd) < 0) {
            _exit(0);
        }
        set_fate(load, PARTY_APPEND, thing, FATE_KEPT);
    }
}

/* ---- a table ---- */

static granary_mutable *
start_table(const struct load *load, struct daemon *daemon, granary_client **ret_client)
{
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64};
    const granary_mutable_options options = {.flags = GRANARY_MUTABLE_OPEN, .durability = GRANARY_DURABLE_COMMIT};
    granary_mutable *table = NULL;

    start_store(load, PARTY_TABLE, daemon, ret_client);
    if (granary_mutable_create_frame(*ret_client, "kept", &column, 1, &options, &table) != GRANARY_OK) {
        (void)fail_with(load, "no table: %s", granary_error_message());
        _exit(1);
    }
    return table;
}

/* One row a write, of the thing's number. */
static void
run_table(const struct load *load)
{
    struct daemon daemon;
    granary_client *client = NULL;
    granary_mutable *table = start_table(load, &daemon, &client);
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK) {
        const int64_t thing = next_thing(load, PARTY_TABLE);
        const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = 1, .values = &thing};

        set_fate(load, PARTY_TABLE, (uint32_t)thing, FATE_PUTTING);
        err = granary_mutable_append(table, &column, 1, 1, NULL, NULL);
        if (err == GRANARY_OK) {
            set_fate(load, PARTY_TABLE, (uint32_t)thing, FATE_KEPT);
        }
    }
}

/* Which things have a row. The table is deleted then, and what was in it is of no interest any more. */
static bool
take_table(const struct load *load, granary_client *client, granary_mutable *table, bool there[static THINGS_MOST])
{
    granary_frame *frame = NULL;
    granary_err err = granary_mutable_read_frame(table, GRANARY_NOW, &frame);
    const int64_t *things = err == GRANARY_OK ? granary_frame_column(frame, 0)->values : NULL;

    for (int64_t i = 0; err == GRANARY_OK && i < granary_frame_rows(frame); i++) {
        /* Those before were of a table that was deleted. */
        if (things[i] < (int64_t)atomic_load(&load->ledger->first[PARTY_TABLE]) || things[i] >= THINGS_MOST ||
            there[things[i]]) {
            err = GRANARY_ECORRUPT;
        } else {
            there[things[i]] = true;
        }
    }
    granary_frame_close(frame);
    granary_mutable_close(table);
    err = err == GRANARY_OK ? granary_mutable_delete(client, "kept") : err;
    return err == GRANARY_OK ||
           fail_with(load, "the table cannot be read, or has odd rows: %s", granary_error_message());
}

void
load_run(const struct load *load, enum party party)
{
    static void (*const runs[PARTIES])(const struct load *) = {
        [PARTY_STORE] = run_store, [PARTY_SCHED] = run_sched, [PARTY_APPEND] = run_append, [PARTY_TABLE] = run_table};

    runs[party](load);
}

/* ---- after the cut ---- */

static bool
check_thing(const struct load *load, enum party party, uint32_t thing, enum fate promised, int found)
{
    static const char *const names[] = {"persistent object", "graph", "line", "row"};

    set_fate(load, party, thing, FATE_NONE);
    if (found < 0) {
        return fail_with(load, "%s %u has other bytes", names[party], thing);
    }
    if (promised == FATE_KEPT && found == 0) {
        return fail_with(load, "%s %u is lost", names[party], thing);
    }
    if ((promised == FATE_GONE || promised == FATE_NONE) && found != 0) {
        return fail_with(load, "%s %u is back", names[party], thing);
    }
    atomic_store(&load->ledger->fates[party][thing], found != 0 ? FATE_KEPT : FATE_GONE);
    return true;
}

bool
load_check(const struct load *load, enum party party, const struct ledger *before)
{
    uint32_t next = atomic_load(&load->ledger->next[party]);
    static bool rows[THINGS_MOST];
    struct daemon daemon;
    granary_client *client = NULL;
    struct rig rig;
    char path[128];
    int fd = -1;
    bool ok = true;

    if (party == PARTY_STORE) {
        start_store(load, PARTY_STORE, &daemon, &client);
    } else if (party == PARTY_TABLE) {
        granary_mutable *table = start_table(load, &daemon, &client);

        ok = take_table(load, client, table, rows);
    } else if (party == PARTY_SCHED) {
        ok = start_sched(load, &rig);
    } else {
        (void)snprintf(path, sizeof path, "%s/append", load->folder);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    for (uint32_t i = atomic_load(&load->ledger->first[party]); i < next && ok; i++) {
        enum fate now = atomic_load(&load->ledger->fates[party][i]);
        enum fate then = atomic_load(&before->fates[party][i]);
        uint32_t word = 0;
        int found;

        if (party == PARTY_APPEND) {
            found = pread(fd, &word, sizeof word, (off_t)(i * sizeof word)) == (ssize_t)sizeof word && word == i;
        } else {
            found = party == PARTY_STORE   ? look_up_object(client, i)
                    : party == PARTY_TABLE ? rows[i]
                                           : look_up_graph(&rig, i);
        }
        /* What went on while the power went may be or not. */
        ok = check_thing(load, party, i, then == now ? then : FATE_DELETING, found);
    }
    gr_fd_close(&fd);
    if (party == PARTY_TABLE) {
        atomic_store(&load->ledger->first[party], next);
    }
    granary_disconnect(client);
    return ok;
}
