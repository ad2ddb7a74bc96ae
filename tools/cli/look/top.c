/* granary top: what an instance does at the moment, again and again. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/look/look.h"
#include "cli/look/top_work.h"
#include "cli/print/json.h"
#include "cli/print/show.h"

#define TOP_CLIENTS 15
#define BAR         50
#define EVENTS      4096

struct top {
    struct look look;
    struct work work;
    bool once;
    int interval_ms;
};

/* All that one screen shows. */
struct screen {
    int64_t at_ns;
    granary_instance_info info;
    granary_inspect_session_info *sessions; /* with their counters */
    granary_store_stat *stats;
    size_t session_count;
    granary_client_info *clients; /* those that lease most first */
    uint64_t *leased_bytes;
    bool *waiting; /* for room */
    size_t client_count;
};

static void
screen_fini(struct screen *screen)
{
    free(screen->sessions);
    free(screen->stats);
    free(screen->clients);
    free(screen->leased_bytes);
    free(screen->waiting);
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
            screen->waiting[c] = screen->waiting[c] || screen->clients[c].number == waits[i].client;
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
        while (c < screen->client_count && screen->clients[c].number < leases[i].client) {
            c++;
        }
        if (c < screen->client_count && screen->clients[c].number == leases[i].client) {
            screen->leased_bytes[c] += leases[i].bytes;
        }
    }
    free(leases);
}

/* Of the sessions only one, by name. */
static void
keep_session(struct screen *screen, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < screen->session_count; i++) {
        if (strcmp(screen->sessions[i].name, name) == 0) {
            screen->sessions[kept++] = screen->sessions[i];
        }
    }
    screen->session_count = kept;
}

/* session: NULL: all. */
static granary_err
gather(granary_inspector *inspector, const char *session, struct screen *screen)
{
    granary_err err = granary_inspect_instance(inspector, &screen->info);

    screen->at_ns = gr_now_ns();
    if (err == GRANARY_OK) {
        err = granary_inspect_sessions(inspector, &screen->sessions, &screen->session_count);
    }
    if (err == GRANARY_OK) {
        err = granary_inspect_clients(inspector, &screen->clients, &screen->client_count);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (session != NULL) {
        keep_session(screen, session);
    }
    screen->stats = calloc(screen->session_count + 1, sizeof *screen->stats);
    screen->leased_bytes = calloc(screen->client_count + 1, sizeof *screen->leased_bytes);
    screen->waiting = calloc(screen->client_count + 1, sizeof *screen->waiting);
    if (screen->stats == NULL || screen->leased_bytes == NULL || screen->waiting == NULL) {
        return GRANARY_ENOMEM;
    }
    for (size_t i = 0; i < screen->session_count; i++) {
        (void)granary_inspect_stat(inspector, screen->sessions[i].number, &screen->stats[i]);
    }
    add_leased_bytes(inspector, screen);
    find_waiting(inspector, screen);
    return GRANARY_OK;
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
        if (before->sessions[i].number == screen->sessions[session].number) {
            return (double)(int64_t)(counter(&screen->stats[session], which) - counter(&before->stats[i], which)) /
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

static void
print_screen(const struct screen *screen, const struct screen *before)
{
    char text[SHOW_TEXT];
    char size[32];
    char quota[32];
    char age[32];
    size_t waiting = 0;

    (void)printf("%s  store %s, pid %u, epoch %" PRIu64 ", up %s\n", show_text(screen->info.runtime, text),
                 granary_store_life_name(screen->info.life), screen->info.pid, screen->info.epoch,
                 show_age(screen->info.started_ms, age));
    if (screen->session_count > 0) { /* each session shows the account of the whole store */
        print_account(&screen->stats[0]);
    }
    print_rates(screen, before);
    (void)printf("\n%-24s  %7s  %10s  %10s  %10s  %10s\n", "session", "clients", "memory", "quota", "puts", "puts/s");
    for (size_t i = 0; i < screen->session_count; i++) {
        const granary_inspect_session_info *session = &screen->sessions[i];

        (void)printf("%-24s  %7u  %10s  %10s  %10" PRIu64 "  %10.0f\n", show_text(session->name, text),
                     session->clients, cli_format_size(session->used_bytes, size),
                     session->quota_bytes == 0 ? "-" : cli_format_size(session->quota_bytes, quota),
                     screen->stats[i].seals, session_rate(screen, before, i, 0));
    }
    (void)printf("\n%6s  %7s  %-24s  %7s  %8s  %10s  %7s  %s\n", "client", "pid", "tag", "session", "leases", "leased",
                 "pending", "state");
    for (size_t i = 0; i < screen->client_count; i++) {
        const granary_client_info *client = &screen->clients[i];

        waiting += screen->waiting[i];
        if (i < TOP_CLIENTS) {
            (void)printf("%6u  %7u  %-24s  %7u  %8" PRIu64 "  %10s  %7" PRIu64 "  %s\n", client->number, client->pid,
                         show_text(client->tag, text), client->session, client->leases,
                         cli_format_size(screen->leased_bytes[i], size), client->ring_pending,
                         screen->waiting[i]    ? "waits for room"
                         : client->waiting > 0 ? "waits for objects"
                         : client->alive       ? ""
                                               : "gone");
        }
    }
    if (screen->client_count > TOP_CLIENTS) {
        (void)printf("... %zu clients more\n", screen->client_count - TOP_CLIENTS);
    }
    (void)printf("\n%zu clients wait for room\n", waiting);
}

static void
print_screen_json(struct top *top, const struct screen *screen, const struct screen *before)
{
    const granary_store_stat *stat = screen->session_count > 0 ? &screen->stats[0] : &(granary_store_stat){0};
    struct json json = {0};

    json_open(&json, NULL, '{');
    json_text(&json, "store", granary_store_life_name(screen->info.life));
    json_unsigned(&json, "pid", screen->info.pid);
    json_unsigned(&json, "epoch", screen->info.epoch);
    json_signed(&json, "started_ms", screen->info.started_ms);
    json_unsigned(&json, "capacity_bytes", screen->info.capacity_bytes);
    json_unsigned(&json, "free_bytes", stat->free_bytes);
    json_unsigned(&json, "reserved_bytes", stat->reserved_bytes);
    json_unsigned(&json, "writing_bytes", stat->writing_bytes);
    json_unsigned(&json, "sealed_bytes", stat->sealed_bytes);
    json_unsigned(&json, "retiring_bytes", stat->retiring_bytes);
    json_unsigned(&json, "pooled_bytes", stat->pooled_bytes);
    json_unsigned(&json, "disk_bytes", stat->disk_bytes);
    json_unsigned(&json, "objects", stat->objects);
    json_unsigned(&json, "objects_spilled", stat->objects_spilled);
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
    json_open(&json, "sessions", '[');
    for (size_t i = 0; i < screen->session_count; i++) {
        json_open(&json, NULL, '{');
        json_unsigned(&json, "session", screen->sessions[i].number);
        json_text(&json, "name", screen->sessions[i].name);
        json_unsigned(&json, "clients", screen->sessions[i].clients);
        json_unsigned(&json, "used_bytes", screen->sessions[i].used_bytes);
        json_unsigned(&json, "quota_bytes", screen->sessions[i].quota_bytes);
        json_unsigned(&json, "seals", screen->stats[i].seals);
        json_close(&json);
    }
    json_close(&json);
    json_open(&json, "clients", '[');
    for (size_t i = 0; i < screen->client_count; i++) {
        json_open(&json, NULL, '{');
        json_unsigned(&json, "client", screen->clients[i].number);
        json_unsigned(&json, "session", screen->clients[i].session);
        json_unsigned(&json, "pid", screen->clients[i].pid);
        json_text(&json, "tag", screen->clients[i].tag);
        json_unsigned(&json, "leases", screen->clients[i].leases);
        json_unsigned(&json, "leased_bytes", screen->leased_bytes[i]);
        json_unsigned(&json, "ring_pending", screen->clients[i].ring_pending);
        json_bool(&json, "waits_for_room", screen->waiting[i]);
        json_close(&json);
    }
    json_close(&json);
    work_print_json(&top->work, &top->look, &json);
    json_close(&json);
}

/* Those that lease most come first; the other arrays of the screen follow. */
static void
sort_clients(struct screen *screen)
{
    for (size_t i = 1; i < screen->client_count; i++) { /* at most GR_MAX_CLIENTS, and mostly in order */
        for (size_t j = i; j > 0 && screen->leased_bytes[j] > screen->leased_bytes[j - 1]; j--) {
            granary_client_info client = screen->clients[j];
            uint64_t bytes = screen->leased_bytes[j];
            bool waiting = screen->waiting[j];

            screen->clients[j] = screen->clients[j - 1];
            screen->leased_bytes[j] = screen->leased_bytes[j - 1];
            screen->waiting[j] = screen->waiting[j - 1];
            screen->clients[j - 1] = client;
            screen->leased_bytes[j - 1] = bytes;
            screen->waiting[j - 1] = waiting;
        }
    }
}

/* ---- the command ---- */

static volatile sig_atomic_t stopped;

static void
stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static granary_err
check_top(void *target)
{
    const struct top *top = target;

    return top->interval_ms >= 50 && top->interval_ms <= 3600000
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "--interval: it is from 50ms to 1h");
}

/* A terminal that gives keys at once; ret_before: how it was. False: there is none, or it is another job's. */
static bool
keys_begin(struct termios *ret_before)
{
    struct termios keys;

    if (tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, ret_before) < 0) {
        return false;
    }
    keys = *ret_before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    return tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

/* Until the next screen, a signal, or (keys: the terminal gives them) a `q`. */
static void
pause_ms(int ms, bool keys)
{
    int64_t deadline_ns = gr_deadline_ns(ms);
    struct pollfd key = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
    char byte = '\0';

    while (stopped == 0 && poll(&key, 1, gr_left_ms(deadline_ns)) > 0) {
        if (read(STDIN_FILENO, &byte, 1) != 1 || byte == 'q' || byte == 'Q') {
            stopped = 1; /* the terminal is gone, or asked to */
        }
    }
}

static granary_err
show(struct top *top, struct screen *before, bool terminal)
{
    struct screen screen = {.at_ns = 0};
    granary_err err = gather(top->look.inspector, top->look.cli->session, &screen);

    if (err != GRANARY_OK) {
        screen_fini(&screen);
        return err;
    }
    sort_clients(&screen);
    if (terminal) {
        (void)fputs("\033[H\033[J", stdout);
    }
    if (top->look.cli->json) {
        print_screen_json(top, &screen, before);
    } else {
        print_screen(&screen, before);
        work_print(&top->work, &top->look);
    }
    (void)fflush(stdout);
    screen_fini(before);
    *before = screen;
    return GRANARY_OK;
}

int
command_top(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"once", 0, NULL, "print one screen", GR_OPTION_FLAG(struct top, once)},
        {"interval", 'd', "DURATION", "between two screens; default 1", GR_OPTION_MS(struct top, interval_ms)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .doc = "Show what the instance does: memory, rates, sessions, and who leases most. `q` ends it.",
        .check = check_top};
    struct top top = {.look = {.cli = cli}, .interval_ms = 1000};
    struct sigaction action = {.sa_handler = stop};
    struct screen before = {.at_ns = 0};
    struct termios terminal_before;
    bool terminal, keys, there;
    int status;
    granary_err err;

    (void)look_arguments(&arguments, &top, &top.look, argc, argv);
    status = look_open(&top.look);
    if (status == 0 && cli->session != NULL && (status = look_session(&top.look, &there)) != 0) {
        look_close(&top.look);
    }
    if (status != 0) {
        return status;
    }
    terminal = isatty(STDOUT_FILENO) && !top.once && !cli->json;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL); /* the terminal is to be as it was */
    keys = terminal && keys_begin(&terminal_before);
    do {
        err = show(&top, &before, terminal);
        if (!top.once && err == GRANARY_OK && stopped == 0) {
            pause_ms(top.interval_ms, keys);
        }
    } while (err == GRANARY_OK && !top.once && stopped == 0 && ferror(stdout) == 0);
    if (keys) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
    }
    work_fini(&top.work);
    screen_fini(&before);
    if (err != GRANARY_OK) {
        status = cli_fail_plain(err);
    }
    look_close(&top.look);
    return status;
}
