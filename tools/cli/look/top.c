/* granary top: what an instance does at the moment, again and again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/look/look.h"
#include "cli/look/top_work.h"
#include "cli/print/again.h"
#include "cli/print/listing.h"
#include "cli/print/output.h"
#include "cli/print/spark.h"

#define TOP_CLIENTS 15
#define TOP_TABLES  10
#define BAR         50
#define EVENTS      4096
/* Times of tables from here on are the clock's: 2001. */
#define CLOCK_LEAST_NS INT64_C(1000000000000000000)

#define RATES_MOST 8

struct top {
    struct look look;
    struct work work;
    struct spark level; /* of memory that is in use */
    struct spark rates[RATES_MOST];
    struct again again;
};

struct session_row {
    granary_inspect_session_info info;
    granary_store_stat stat;
    double puts; /* each second */
};

struct client_row {
    granary_client_info info;
    uint64_t leased_bytes;
    bool waiting; /* for room */
};

/* All that one screen shows. */
struct screen {
    int64_t at_ns;
    granary_instance_info info;
    struct session_row *sessions;
    size_t session_count;
    struct client_row *clients; /* those that lease most first */
    size_t client_count;
    granary_table_info *tables; /* that change; those that take most memory first */
    size_t table_count;
};

static void
screen_fini(struct screen *screen)
{
    free(screen->sessions);
    free(screen->clients);
    free(screen->tables);
    *screen = (struct screen){.at_ns = 0};
}

/* ---- gathering ---- */

/* Who waits for room, as lease pages say. */
static void
find_waiting(granary_inspector *inspector, struct screen *screen)
{
    granary_wait_info *waits = NULL;
    size_t count = 0;

    if (granary_inspect_waits(inspector, &waits, &count) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < screen->client_count && waits[i].kind == GRANARY_WAIT_ROOM; c++) {
            struct client_row *client = &screen->clients[c];

            client->waiting = client->waiting || client->info.number == waits[i].client;
        }
    }
    free(waits);
}

static void
add_leased_bytes(granary_inspector *inspector, struct screen *screen)
{
    granary_lease_info *leases = NULL;
    size_t count = 0;
    size_t c = 0;

    if (granary_inspect_leases(inspector, NULL, &leases, &count) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) { /* both are in order of clients */
        while (c < screen->client_count && screen->clients[c].info.number < leases[i].client) {
            c++;
        }
        if (c < screen->client_count && screen->clients[c].info.number == leases[i].client) {
            screen->clients[c].leased_bytes += leases[i].bytes;
        }
    }
    free(leases);
}

/* Of the sessions only one, when it has a name. */
static granary_err
gather_sessions(granary_inspector *inspector, const char *name, struct screen *screen)
{
    granary_inspect_session_info *infos = NULL;
    size_t count = 0;
    granary_err err = granary_inspect_sessions(inspector, &infos, &count);

    screen->sessions = calloc(count + 1, sizeof *screen->sessions);
    if (err == GRANARY_OK && screen->sessions == NULL) {
        err = GRANARY_ENOMEM;
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (name == NULL || strcmp(infos[i].name, name) == 0) {
            struct session_row *row = &screen->sessions[screen->session_count++];

            row->info = infos[i];
            (void)granary_inspect_stat(inspector, infos[i].number, &row->stat);
        }
    }
    free(infos);
    return err;
}

/* Those that lease most come first; equal ones stay in order. */
static int
by_leased(const void *left, const void *right)
{
    const struct client_row *a = left;
    const struct client_row *b = right;

    return a->leased_bytes != b->leased_bytes
               ? (a->leased_bytes < b->leased_bytes) - (a->leased_bytes > b->leased_bytes)
               : (a->info.number > b->info.number) - (a->info.number < b->info.number);
}

static granary_err
gather_clients(granary_inspector *inspector, struct screen *screen)
{
    granary_client_info *infos = NULL;
    granary_err err = granary_inspect_clients(inspector, &infos, &screen->client_count);

    screen->clients = calloc(screen->client_count + 1, sizeof *screen->clients);
    if (err == GRANARY_OK && screen->clients == NULL) {
        err = GRANARY_ENOMEM;
    }
    for (size_t i = 0; i < screen->client_count && err == GRANARY_OK; i++) {
        screen->clients[i].info = infos[i];
    }
    free(infos);
    if (err == GRANARY_OK) {
        add_leased_bytes(inspector, screen);
        find_waiting(inspector, screen);
        qsort(screen->clients, screen->client_count, sizeof *screen->clients, by_leased);
    }
    return err;
}

static int
by_memory(const void *left, const void *right)
{
    const granary_table_info *a = left, *b = right;

    return a->memory_bytes != b->memory_bytes
               ? (a->memory_bytes < b->memory_bytes) - (a->memory_bytes > b->memory_bytes)
               : strcmp(a->name, b->name);
}

/* Of the sessions on the screen. */
static granary_err
gather_tables(granary_inspector *inspector, struct screen *screen)
{
    granary_err err = granary_inspect_tables(inspector, &screen->tables, &screen->table_count);
    size_t kept = 0;

    for (size_t i = 0; err == GRANARY_OK && i < screen->table_count; i++) {
        for (size_t s = 0; s < screen->session_count; s++) {
            if (screen->sessions[s].info.number == screen->tables[i].session) {
                screen->tables[kept++] = screen->tables[i];
            }
        }
    }
    screen->table_count = err == GRANARY_OK ? kept : 0;
    if (screen->table_count > 0) {
        qsort(screen->tables, screen->table_count, sizeof *screen->tables, by_memory);
    }
    return err;
}

/* session: NULL: all. */
static granary_err
gather(granary_inspector *inspector, const char *session, struct screen *screen)
{
    granary_err err = granary_inspect_instance(inspector, &screen->info);

    screen->at_ns = gr_now_ns();
    if (err == GRANARY_OK) {
        err = gather_sessions(inspector, session, screen);
    }
    err = err == GRANARY_OK ? gather_clients(inspector, screen) : err;
    return err == GRANARY_OK ? gather_tables(inspector, screen) : err;
}

/* ---- rates ---- */

static const struct {
    const char *name;
    size_t offset;
    bool bytes;
} rates[] = {
    {"puts", offsetof(granary_store_stat, seals), false},
    {"deletes", offsetof(granary_store_stat, deletes), false},
    {"spill", offsetof(granary_store_stat, spill_raw), true},
    {"restore", offsetof(granary_store_stat, restore_raw), true},
    {"evictions", offsetof(granary_store_stat, evictions), false},
    {"room waits", offsetof(granary_store_stat, room_waits), false},
};
#define RATES (sizeof rates / sizeof rates[0])
_Static_assert(RATES <= RATES_MOST, "struct top has a sparkline for each");

static uint64_t
counter(const granary_store_stat *stat, size_t which)
{
    return *(const uint64_t *)(const void *)((const char *)stat + rates[which].offset);
}

/* A counter of one session, each second between two screens. */
static double
session_rate(const struct screen *screen, const struct screen *before, size_t session, size_t which)
{
    double seconds = (double)(screen->at_ns - before->at_ns) / 1e9;

    for (size_t i = 0; i < before->session_count && seconds > 0; i++) {
        if (before->sessions[i].info.number == screen->sessions[session].info.number) {
            return (double)(int64_t)(counter(&screen->sessions[session].stat, which) -
                                     counter(&before->sessions[i].stat, which)) /
                   seconds;
        }
    }
    return 0;
}

static double
total_rate(const struct screen *screen, const struct screen *before, size_t which)
{
    double total = 0;

    for (size_t i = 0; i < screen->session_count; i++) {
        total += session_rate(screen, before, i, which);
    }
    return total;
}

/* ---- showing ---- */

static void
print_bar(const granary_store_stat *stat)
{
    const struct {
        char sign;
        uint64_t bytes;
    } parts[] = {{'#', stat->sealed_bytes},
                 {'x', stat->retiring_bytes},
                 {'w', stat->writing_bytes + stat->reserved_bytes},
                 {'o', stat->pooled_bytes}};
    char bar[BAR + 1];
    size_t at = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t end;

        sum += parts[i].bytes;
        end = stat->capacity_bytes == 0 ? 0 : (size_t)((double)sum / (double)stat->capacity_bytes * BAR);
        while (at < end && at < BAR) {
            bar[at++] = parts[i].sign;
        }
    }
    memset(bar + at, '.', BAR - at);
    bar[BAR] = '\0';
    (void)printf("memory   [%s]\n", bar);
}

static void
print_account(const granary_store_stat *stat)
{
    char text[8][32];

    print_bar(stat);
    (void)printf("         # sealed %s   x deleted %s   w writing %s   o pooled %s   . free %s   of %s\n",
                 cli_format_size(stat->sealed_bytes, text[0]), cli_format_size(stat->retiring_bytes, text[1]),
                 cli_format_size(stat->writing_bytes + stat->reserved_bytes, text[2]),
                 cli_format_size(stat->pooled_bytes, text[3]), cli_format_size(stat->free_bytes, text[4]),
                 cli_format_size(stat->capacity_bytes, text[5]));
    (void)printf("disk     %s in spill files, %" PRIu64 " objects (%s) are there only\n",
                 cli_format_size(stat->disk_bytes, text[6]), stat->objects_spilled,
                 cli_format_size(stat->spilled_bytes, text[7]));
    (void)printf("objects  %" PRIu64 "\n", stat->objects);
}

static void
print_rates(const struct screen *screen, const struct screen *before)
{
    char text[32];

    if (before->at_ns == 0) {
        return;
    }
    (void)printf("a second");
    for (size_t i = 0; i < RATES; i++) {
        double rate = total_rate(screen, before, i);

        if (rates[i].bytes) {
            (void)printf("  %s %s", rates[i].name, cli_format_size(rate < 0 ? 0 : (uint64_t)rate, text));
        } else {
            (void)printf("  %s %.0f", rates[i].name, rate);
        }
    }
    (void)putchar('\n');
}

/* What the last screens told, one after the other. */
static void
note_last(struct top *top, const struct screen *screen, const struct screen *before)
{
    const granary_store_stat *stat = screen->session_count > 0 ? &screen->sessions[0].stat : &(granary_store_stat){0};

    if (stat->capacity_bytes > 0) {
        spark_add(&top->level, (double)(stat->capacity_bytes - stat->free_bytes) / (double)stat->capacity_bytes);
    }
    for (size_t i = 0; i < RATES && before->at_ns != 0; i++) {
        spark_add(&top->rates[i], total_rate(screen, before, i));
    }
}

/* Lines for memory, and for what has happened meanwhile. */
static void
print_last(const struct top *top)
{
    const bool ascii = !output_is_utf8();
    char line[SPARK_TEXT];
    char most[32];

    if (top->level.count < 2) {
        return;
    }
    (void)printf("\nin use     %s| 100 %%\n", spark_text(&top->level, 1, ascii, line));
    for (size_t i = 0; i < RATES; i++) {
        const double largest = spark_most(&top->rates[i]);

        if (largest <= 0) {
            continue;
        }
        if (rates[i].bytes) {
            (void)cli_format_size((uint64_t)largest, most);
        } else {
            (void)snprintf(most, sizeof most, "%.0f", largest);
        }
        (void)printf("%-10s %s| %s\n", rates[i].name, spark_text(&top->rates[i], largest, ascii, line), most);
    }
}

static const char *
session_quota(const void *row, char buffer[SHOW_TEXT])
{
    uint64_t quota = ((const struct session_row *)row)->info.quota_bytes;

    return quota == 0 ? "-" : cli_format_size(quota, buffer);
}

static const char *
session_puts(const void *row, char buffer[SHOW_TEXT])
{
    (void)snprintf(buffer, SHOW_TEXT, "%.0f", ((const struct session_row *)row)->puts);
    return buffer;
}

static const struct column session_columns[] = {
    {"session", NULL, 0, COLUMN(struct session_row, info.number)},
    {"name", "session", -24, COLUMN(struct session_row, info.name)},
    {"clients", "clients", 7, COLUMN(struct session_row, info.clients)},
    {"used_bytes", "memory", 10, COLUMN(struct session_row, info.used_bytes), .as = COLUMN_AS_SIZE},
    {"quota_bytes", "quota", 10, COLUMN(struct session_row, info.quota_bytes), .show = session_quota},
    {"seals", "puts", 10, COLUMN(struct session_row, stat.seals)},
    {NULL, "puts/s", 10, .show = session_puts},
    {0}};

static const char *
client_state(const void *row, char buffer[SHOW_TEXT])
{
    const struct client_row *client = row;

    (void)buffer;
    return client->waiting            ? "waits for room"
           : client->info.waiting > 0 ? "waits for objects"
           : client->info.alive       ? ""
                                      : "gone";
}

static const struct column client_columns[] = {
    {"client", "client", 6, COLUMN(struct client_row, info.number)},
    {"session", NULL, 0, COLUMN(struct client_row, info.session)},
    {"pid", "pid", 7, COLUMN(struct client_row, info.pid)},
    {"tag", "tag", -24, COLUMN(struct client_row, info.tag)},
    {NULL, "session", 7, COLUMN(struct client_row, info.session)},
    {"leases", "leases", 8, COLUMN(struct client_row, info.leases)},
    {"leased_bytes", "leased", 10, COLUMN(struct client_row, leased_bytes), .as = COLUMN_AS_SIZE},
    {"ring_pending", "pending", 7, COLUMN(struct client_row, info.ring_pending)},
    {"waits_for_room", NULL, 0, COLUMN(struct client_row, waiting)},
    {NULL, "state", 0, .show = client_state},
    {0}};

/* How long ago the newest write was, where times are the clock's. */
static const char *
table_newest(const void *row, char buffer[SHOW_TEXT])
{
    const int64_t newest = ((const granary_table_info *)row)->newest;

    return newest < CLOCK_LEAST_NS ? "-" : show_age(newest / 1000000, buffer);
}

static void
write_times(const void *row, struct json *json)
{
    const granary_table_info *table = row;

    if (table->newest != INT64_MIN) {
        json_signed(json, "newest", table->newest);
    }
    if (table->final != INT64_MIN) {
        json_signed(json, "final", table->final);
    }
}

static const char *const durabilities[] = {"none", "interval", "commit"};

static const struct column table_columns[] = {
    {"name", "table", -24, COLUMN(granary_table_info, name)},
    {"id", NULL, 0, COLUMN(granary_table_info, id)},
    {"session", "session", 7, COLUMN(granary_table_info, session)},
    {"writers", "writers", 7, COLUMN(granary_table_info, writers)},
    {"memory_bytes", "memory", 10, COLUMN(granary_table_info, memory_bytes), .as = COLUMN_AS_SIZE},
    {"bytes", "all", 10, COLUMN(granary_table_info, bytes), .as = COLUMN_AS_SIZE},
    {"log_bytes", "log", 10, COLUMN(granary_table_info, log_bytes), .as = COLUMN_AS_SIZE},
    {"objects", "objects", 8, COLUMN(granary_table_info, objects)},
    {"row_numbers", NULL, 0, COLUMN(granary_table_info, rows)},
    {"durability", NULL, 0, COLUMN(granary_table_info, durability), COLUMN_WORDS(durabilities)},
    {"sealed", NULL, 0, COLUMN(granary_table_info, sealed)},
    {"deleted", NULL, 0, COLUMN(granary_table_info, deleted)},
    {"newest", "newest", 0, .show = table_newest, .write = write_times},
    {0}};

static const struct column account_columns[] = {
    {"free_bytes", NULL, 0, COLUMN(granary_store_stat, free_bytes)},
    {"reserved_bytes", NULL, 0, COLUMN(granary_store_stat, reserved_bytes)},
    {"writing_bytes", NULL, 0, COLUMN(granary_store_stat, writing_bytes)},
    {"sealed_bytes", NULL, 0, COLUMN(granary_store_stat, sealed_bytes)},
    {"retiring_bytes", NULL, 0, COLUMN(granary_store_stat, retiring_bytes)},
    {"pooled_bytes", NULL, 0, COLUMN(granary_store_stat, pooled_bytes)},
    {"disk_bytes", NULL, 0, COLUMN(granary_store_stat, disk_bytes)},
    {"objects", NULL, 0, COLUMN(granary_store_stat, objects)},
    {"objects_spilled", NULL, 0, COLUMN(granary_store_stat, objects_spilled)},
    {0}};

static void
print_screen(const struct top *top, const struct screen *screen, const struct screen *before)
{
    size_t shown = screen->client_count < TOP_CLIENTS ? screen->client_count : TOP_CLIENTS;
    char text[SHOW_TEXT];
    char age[32];
    size_t waiting = 0;

    (void)printf("%s  store %s, pid %u, epoch %" PRIu64 ", up %s\n", show_text(screen->info.runtime, text),
                 granary_store_life_name(screen->info.life), screen->info.pid, screen->info.epoch,
                 show_age(screen->info.started_ms, age));
    if (screen->session_count > 0) { /* each session shows the account of the whole store */
        print_account(&screen->sessions[0].stat);
    }
    print_rates(screen, before);
    print_last(top);
    (void)putchar('\n');
    for (size_t i = 0; i < screen->session_count; i++) {
        screen->sessions[i].puts = session_rate(screen, before, i, 0);
    }
    listing_print(session_columns, false, screen->sessions, screen->session_count, sizeof *screen->sessions);
    (void)putchar('\n');
    if (screen->table_count > 0) {
        const size_t tables = screen->table_count < TOP_TABLES ? screen->table_count : TOP_TABLES;

        listing_print(table_columns, false, screen->tables, tables, sizeof *screen->tables);
        if (screen->table_count > tables) {
            (void)printf("... %zu tables more\n", screen->table_count - tables);
        }
        (void)putchar('\n');
    }
    listing_print(client_columns, false, screen->clients, shown, sizeof *screen->clients);
    if (screen->client_count > shown) {
        (void)printf("... %zu clients more\n", screen->client_count - shown);
    }
    for (size_t i = 0; i < screen->client_count; i++) {
        waiting += screen->clients[i].waiting;
    }
    (void)printf("\n%zu clients wait for room\n", waiting);
}

static void
print_screen_json(struct top *top, const struct screen *screen, const struct screen *before)
{
    const granary_store_stat *stat = screen->session_count > 0 ? &screen->sessions[0].stat : &(granary_store_stat){0};
    struct json json = {0};

    json_open(&json, NULL, '{');
    json_text(&json, "store", granary_store_life_name(screen->info.life));
    json_unsigned(&json, "pid", screen->info.pid);
    json_unsigned(&json, "epoch", screen->info.epoch);
    json_signed(&json, "started_ms", screen->info.started_ms);
    json_unsigned(&json, "capacity_bytes", screen->info.capacity_bytes);
    listing_members(&json, account_columns, stat);
    json_open(&json, "rates", '{');
    for (size_t i = 0; i < RATES && before->at_ns != 0; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%s%s_per_s", rates[i].name, rates[i].bytes ? "_bytes" : "");
        for (char *c = name; *c != '\0'; c++) {
            *c = *c == ' ' ? '_' : *c;
        }
        json_signed(&json, name, (int64_t)total_rate(screen, before, i));
    }
    json_close(&json);
    listing_array(&json, "sessions", session_columns, screen->sessions, screen->session_count,
                  sizeof *screen->sessions);
    listing_array(&json, "tables", table_columns, screen->tables, screen->table_count, sizeof *screen->tables);
    listing_array(&json, "clients", client_columns, screen->clients, screen->client_count, sizeof *screen->clients);
    work_print_json(&top->work, &top->look, &json);
    json_close(&json);
}

/* ---- the command ---- */

static granary_err
check_top(struct cli *cli)
{
    const struct top *top = cli->self;

    return top->again.interval_ms >= AGAIN_LEAST_MS && top->again.interval_ms <= AGAIN_MOST_MS
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, AGAIN_WRONG);
}

static granary_err
show(struct top *top, struct screen *before)
{
    struct screen screen = {.at_ns = 0};
    granary_err err = gather(top->look.inspector, top->look.cli->session, &screen);

    if (err != GRANARY_OK) {
        screen_fini(&screen);
        return err;
    }
    again_clear(&top->again);
    if (top->look.cli->json) {
        print_screen_json(top, &screen, before);
    } else {
        note_last(top, &screen, before);
        print_screen(top, &screen, before);
        work_print(&top->work, &top->look);
    }
    screen_fini(before);
    *before = screen;
    return GRANARY_OK;
}

static int
run_top(struct cli *cli)
{
    struct top *top = cli->self;
    struct screen before = {.at_ns = 0};
    bool there;
    granary_err err;
    int status = cli->session != NULL ? look_session(&top->look, &there) : 0;

    if (status != 0) {
        return status;
    }
    again_begin(&top->again, !cli->json);
    do {
        err = show(top, &before);
    } while (err == GRANARY_OK && again_next(&top->again));
    again_end(&top->again);
    work_fini(&top->work);
    screen_fini(&before);
    return err;
}

static const struct gr_option top_options[] = {
    {"once", 0, NULL, "print one screen", GR_OPTION_FLAG(struct top, again.once)},
    {"interval", 'd', "DURATION", AGAIN_HELP, GR_OPTION_MS(struct top, again.interval_ms)},
    {0}};

const struct command command_top = {.options = top_options,
                                    .access = &look_access,
                                    COMMAND_SELF(struct top, .again.interval_ms = 1000),
                                    .plain = true,
                                    .check = check_top,
                                    .run = run_top};
