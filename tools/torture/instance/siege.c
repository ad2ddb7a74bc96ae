/*
 * One loop deals blows when they are due, lets stopped processes go on, and rests now and then to look at what is
 * left.
 */
#include "torture/instance/siege.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "spawn/spawn.h"
#include "torture/common/interrupt.h"

#define TICK_NS      10000000
#define VICTIM_MS    3000   /* how long is waited for a process of that kind to be there */
#define WHOLE_MS     60000  /* how long an instance may take until all its processes are there again */
#define LEVEL_MS     15000  /* ... and until what was taken is back */
#define CALM_MS      700    /* of load before the level of the beginning is taken */
#define CALM_MOST_MS 180000 /* ... until each kind of worker has done something */
/* For calls of clients: a store that stands still, the next one, and `granary up` may come one after the other. */

/* ---- blows ---- */

static void
resume(struct siege *siege, bool all)
{
    for (size_t i = 0; i < siege->stopped_count;) {
        if (!all && gr_now_ns() < siege->stopped[i].until_ns) {
            i++;
            continue;
        }
        (void)gr_pidfd_signal(siege->stopped[i].pidfd, SIGCONT);
        gr_fd_close(&siege->stopped[i].pidfd);
        siege->stopped[i] = siege->stopped[--siege->stopped_count];
    }
}

void
siege_tick(struct siege *siege)
{
    siege->broken = siege->broken || !realm_tend(&siege->realm);
    resume(siege, false);
    (void)nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
}

bool
siege_is_clean(const struct siege *siege)
{
    return crowd_is_clean(&siege->crowd) && graphers_are_clean(&siege->graphers) && works_are_clean(&siege->works) &&
           siege->leaked + siege->damaged + siege->complaints + siege->outdated + siege->realm.ups_refused == 0 &&
           !siege->broken;
}

/* The processes that are no daemons, by role; NULL: it is one of the instance. */
static struct pack *
pack_of(struct siege *siege, enum role role)
{
    return role == ROLE_CLIENT    ? &siege->crowd.pack
           : role == ROLE_GRAPHER ? &siege->graphers.pack
           : role >= ROLE_WORK    ? &siege->works.all[role - ROLE_WORK].pack
                                  : NULL;
}

static pid_t
await_victim(struct siege *siege, const struct blow *blow)
{
    const struct pack *pack = pack_of(siege, blow->victim);
    int64_t deadline = gr_deadline_ns(VICTIM_MS);
    pid_t pid;

    if (pack != NULL) {
        return pack->count == 0 ? 0 : pack->pids[blow->which % pack->count];
    }
    while ((pid = realm_find(&siege->realm, blow->victim, blow->which)) == 0 && gr_now_ns() < deadline &&
           !siege->broken) {
        siege_tick(siege);
    }
    return pid;
}

bool
siege_has(void *siege, enum role role)
{
    struct siege *self = siege;

    return pack_of(self, role) != NULL || realm_find(&self->realm, role, 0) != 0;
}

/* Those that are no daemons are children of this process: their pids stay theirs. */
static bool
stop(struct siege *siege, const struct blow *blow, pid_t victim)
{
    struct stopped *stopped = &siege->stopped[siege->stopped_count];
    bool daemon = pack_of(siege, blow->victim) == NULL;

    if (siege->stopped_count == SIEGE_STOPPED_MOST) {
        return false;
    }
    if (daemon ? !realm_signal(&siege->realm, victim, SIGSTOP, &stopped->pidfd)
               : (stopped->pidfd = gr_pidfd_open(victim)) < 0 || gr_pidfd_signal(stopped->pidfd, SIGSTOP) < 0) {
        return false;
    }
    stopped->until_ns = gr_deadline_ns(blow->stop_ms);
    siege->stopped_count++;
    siege->stops[blow->victim]++;
    return true;
}

static bool
send_off(struct siege *siege, const struct blow *blow, pid_t victim)
{
    int signal = blow->kind == BLOW_TERM ? SIGTERM : SIGKILL;
    struct pack *pack = pack_of(siege, blow->victim);

    if (pack != NULL) {
        pack_replace(pack, blow->which % pack->count, signal);
    } else if (!realm_signal(&siege->realm, victim, signal, NULL)) {
        return false;
    }
    siege->realm.hit = true;
    ++*(signal == SIGTERM ? &siege->ends[blow->victim] : &siege->kills[blow->victim]);
    return true;
}

void
siege_strike(struct siege *siege, const struct blow *blow)
{
    pid_t victim;

    if (blow->kind >= BLOW_UPGRADE) {
        siege->broken = siege->broken ||
                        !realm_upgrade(&siege->realm, blow->kind == BLOW_UPGRADE ? UPGRADE_IN_PLACE : UPGRADE_REPLACE);
        return;
    }
    victim = await_victim(siege, blow);
    if (victim == 0 || !(blow->kind == BLOW_STOP ? stop(siege, blow, victim) : send_off(siege, blow, victim))) {
        siege->missed++;
    }
}

/* ---- rests ---- */

static bool
await_whole(struct siege *siege)
{
    int64_t deadline = gr_deadline_ns(WHOLE_MS);

    while (!realm_is_whole(&siege->realm) || realm_is_busy(&siege->realm)) {
        if (gr_now_ns() > deadline || siege->broken) {
            struct process processes[REALM_PROCESSES];
            size_t count = realm_processes(&siege->realm, processes);

            (void)fprintf(stderr, "torture: not every process is there again, or too many:");
            for (size_t i = 0; i < count; i++) {
                (void)fprintf(stderr, " %s %d", role_name(processes[i].role), (int)processes[i].pid);
            }
            (void)fputc('\n', stderr);
            siege->broken = true;
            return false;
        }
        siege_tick(siege);
    }
    return true;
}

void
siege_check_level(struct siege *siege)
{
    int64_t deadline = gr_deadline_ns(LEVEL_MS);
    struct level now;

    level_measure(&siege->realm, &now);
    while (level_compare(&siege->level, &now, NULL) > 0 && gr_now_ns() < deadline) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        level_measure(&siege->realm, &now);
    }
    siege->leaked += level_compare(&siege->level, &now, stderr);
}

static void
check_shape(struct siege *siege)
{
    char log[128];
    char *text = NULL;
    size_t size;
    int status = 1;
    pid_t child;

    (void)snprintf(log, sizeof log, "%s/fsck.log", siege->realm.directory);
    (void)unlink(log);
    child = spawn_command((const char *const[]){"fsck", "--instance", siege->realm.instance, "--verify", NULL}, log);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        siege->damaged++;
        if (gr_file_read(log, 1 << 20, &text, &size) == GRANARY_OK) {
            (void)fprintf(stderr, "torture: fsck: %s\n", text);
        }
        free(text);
    }
}

/* Stop the load. The instance is whole, and nobody uses it. */
bool
siege_quiet(struct siege *siege)
{
    resume(siege, true);
    if (!await_whole(siege)) {
        return false;
    }
    atomic_store(&siege->crowd.torment->stop, true);
    graphers_stop(&siege->graphers);
    works_stop(&siege->works);
    crowd_stop(&siege->crowd);
    return await_whole(siege);
}

void
siege_inspect(struct siege *siege)
{
    graphers_inspect(&siege->graphers);
    works_inspect(&siege->works);
    crowd_inspect(&siege->crowd);
    check_shape(siege);
    siege->complaints += logs_look(&siege->logs, &siege->realm, stderr);
    siege->outdated += realm_outdated(&siege->realm);
}

/* Shared memory and spill files, for `granary ls --copy` and its like, and the logs. */
static void
keep_copy(struct siege *siege)
{
    char logs[PATH_MAX];
    pid_t child;
    int status;

    if (siege->keep != NULL && !siege_is_clean(siege)) {
        (void)spawn_granary((const char *const[]){"snapshot", siege->keep, "--instance", siege->realm.instance, NULL});
        (void)snprintf(logs, sizeof logs, "%s/log", siege->realm.instance);
        child = fork();
        if (child == 0) {
            (void)execlp("cp", "cp", "-r", logs, siege->keep, (char *)NULL);
            _exit(127);
        }
        if (child > 0) {
            (void)waitpid(child, &status, 0);
        }
        siege->keep = NULL;
    }
}

void
siege_rest(struct siege *siege)
{
    if (siege_quiet(siege)) {
        siege->rests++;
        siege_inspect(siege);
        siege_check_level(siege);
        keep_copy(siege);
    }
}

void
siege_load(struct siege *siege)
{
    graphers_start(&siege->graphers);
    works_start(&siege->works);
    crowd_start(&siege->crowd);
}

/* What takes its time at first is there when the level of the beginning is taken. */
bool
siege_calm(struct siege *siege)
{
    const int64_t latest = gr_deadline_ns(CALM_MOST_MS);
    int64_t until;

    if (!graphers_learn(&siege->graphers)) {
        return false;
    }
    until = gr_deadline_ns(CALM_MS);
    siege_load(siege);
    while (!interrupted() && (gr_now_ns() < until || (!works_have_begun(&siege->works) && gr_now_ns() < latest))) {
        siege_tick(siege);
    }
    if (!siege_quiet(siege)) {
        return false;
    }
    siege_inspect(siege);
    level_measure(&siege->realm, &siege->level);
    return siege_is_clean(siege);
}

/* ---- beginning and end ---- */

bool
siege_begin(struct siege *siege, const struct options *options, unsigned graphers, unsigned graphs, uint64_t data,
            unsigned kinds, const char *python)
{
    struct work_site site = {.instance = siege->realm.instance,
                             .directory = siege->realm.directory,
                             .memory = options->memory,
                             .python = python,
                             .seed = options->seed};

    kinds &= python == NULL ? ~(1u << WORK_PYTHON | 1u << WORK_DASK) : work_has_dask(python) ? ~0u : ~(1u << WORK_DASK);
    *siege = (struct siege){.broken = false};
    if (!realm_create(&siege->realm, options)) {
        return false;
    }
    if (!programs_begin(&siege->realm.programs, siege->realm.directory)) {
        realm_destroy(&siege->realm);
        return false;
    }
    siege->realm.web = (kinds & 1u << WORK_PAGES) != 0;
    siege->logs.files_change = (kinds & (1u << WORK_RECALL | 1u << WORK_PARQUET)) != 0;
    if (!graphers_create(&siege->graphers, siege->realm.instance, siege->realm.directory, options, graphers, graphs) ||
        crowd_create(&siege->crowd, siege->realm.instance, siege->realm.directory, options->clients, options->scale,
                     data, options->seed) != GRANARY_OK ||
        !works_create(&siege->works, &site, kinds) || !realm_up(&siege->realm)) {
        (void)fprintf(stderr, "granary: torture: %s\n", granary_error_message());
        realm_destroy(&siege->realm);
        return false;
    }
    siege->crowd.torment->room_ms = siege->crowd.torment->patience_ms;
    return true;
}

uint32_t
siege_absent(const struct siege *siege)
{
    uint32_t absent = 0;

    for (enum work_name name = 0; name < WORKS; name++) {
        absent |= (siege->works.kinds & 1u << name) == 0 ? 1u << (ROLE_WORK + name) : 0;
    }
    absent |= (siege->works.kinds & 1u << WORK_PYTHON) == 0 ? 1u << ROLE_SLOT : 0;
    absent |= (siege->works.kinds & 1u << WORK_DASK) == 0 ? 1u << ROLE_NODE : 0;
    absent |= siege->realm.web ? 0 : 1u << ROLE_WEB;
    return absent | (siege->realm.scheduler_count > 1 ? 0 : 1u << ROLE_STANDBY);
}

bool
siege_end(struct siege *siege)
{
    bool ended_well;

    resume(siege, true);           /* an interrupt comes at any time: nodes that stand still could not end */
    pack_kill(&siege->crowd.pack); /* none is left but when the instance did not come back */
    pack_kill(&siege->graphers.pack);
    for (enum work_name name = 0; name < WORKS; name++) {
        pack_kill(&siege->works.all[name].pack);
    }
    works_end(&siege->works);
    ended_well = realm_down(&siege->realm);
    return realm_is_gone(&siege->realm) && ended_well;
}

void
siege_destroy(struct siege *siege)
{
    realm_destroy(&siege->realm);
    crowd_destroy(&siege->crowd);
    graphers_destroy(&siege->graphers);
    works_destroy(&siege->works);
}

bool
siege_report(const struct siege *siege)
{
    bool clean = siege_is_clean(siege);

    for (enum role role = 0; role < ROLES; role++) {
        if ((siege_absent(siege) & 1u << role) == 0) {
            (void)printf("%-18s killed %" PRIu64 ", stopped %" PRIu64 ", ended %" PRIu64 "\n", role_name(role),
                         siege->kills[role], siege->stops[role], siege->ends[role]);
        }
    }
    (void)printf("victims not there  %" PRIu64 "\n", siege->missed);
    (void)printf("brought up         %" PRIu64 " times\n", siege->realm.ups);
    (void)printf("upgraded           %" PRIu64 " times in place, %" PRIu64 " by up --replace, %" PRIu64
                 " tries undone by blows\n",
                 siege->realm.upgrades[UPGRADE_IN_PLACE], siege->realm.upgrades[UPGRADE_REPLACE],
                 siege->realm.upgrades_hit);
    (void)printf("not upgraded       %" PRIu64 " processes\n", siege->outdated);
    (void)printf("rests              %" PRIu64 "\n", siege->rests);
    clean = crowd_report(&siege->crowd) && clean;
    clean = graphers_report(&siege->graphers) && clean;
    clean = works_report(&siege->works) && clean;
    (void)printf("damaged by fsck    %" PRIu64 "\n", siege->damaged);
    (void)printf("bad lines in logs  %" PRIu64 "\n", siege->complaints);
    (void)printf("leaked             %" PRIu64 " kinds of things\n", siege->leaked);
    return clean;
}
