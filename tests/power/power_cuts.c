/*
 * Power cuts: a store and a scheduler at work on a file system that is shut down without its log at a random moment;
 * mounted again, everything promised before the cut must be there.
 *
 *   power_cuts [--cuts N] [--seed S] [--tables] ext4|xfs        (root; skips with status 77 where it cannot be done)
 *
 * A promise counts when it was answered before the cut: a sync in flight at that moment may return 0 in vain, on every
 * file system. A line appended and synced is the measure: it loses nothing either.
 */
#include "power/cuts.h"

#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/instance.h"
#include "power/beside.h"

#define LOAD_MOST_MS 60

static struct {
    uint64_t cuts, seed;
    const char *type;
    bool without_sync;
    bool tables;
} options = {.cuts = 20, .seed = 1};

static const struct argp_option option_table[] = {
    {"cuts", 'n', "N", 0, "how many (20)", 0},
    {"seed", 's', "S", 0, "of moments and sizes (1)", 0},
    {"without-sync", 'w', NULL, 0, "nothing is synced: succeeds when a broken promise is found", 0},
    {"tables", 't', NULL, 0, "durable tables alone are at work", 0},
    {0}};

static error_t
parse(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 'n':
        options.cuts = strtoull(text, NULL, 10);
        break;
    case 's':
        options.seed = strtoull(text, NULL, 10);
        break;
    case 'w':
        options.without_sync = true;
        break;
    case 't':
        options.tables = true;
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0 || (strcmp(text, "ext4") != 0 && strcmp(text, "xfs") != 0)) {
            argp_error(state, "ext4 or xfs?");
        }
        options.type = text;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "ext4 or xfs?");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = {.options = option_table,
                                   .parser = parse,
                                   .args_doc = "ext4|xfs",
                                   .doc =
                                       "Cut the power of a store and a scheduler at work, and look for what was lost."};

static void *
shared(size_t size)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED) {
        abort();
    }
    return bytes;
}

/* Everything below this process ends, daemons whose parents went first too. */
static void
kill_all(const pid_t pids[static PARTIES])
{
    for (int party = 0; party < PARTIES; party++) {
        if (pids[party] > 0) {
            (void)kill(pids[party], SIGKILL);
        }
    }
    while (wait(NULL) > 0) {
    }
}

/* Shared memory is gone after a restart of the machine. */
static void
forget_memory(const struct load *load)
{
    static const char *const names[] = {"store", "table"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char directory[96];
        struct gr_instance instance;

        (void)snprintf(directory, sizeof directory, "%s/%s", load->folder, names[i]);
        if (gr_instance_resolve(directory, &instance) == GRANARY_OK) {
            (void)gr_instance_sweep_shm(&instance);
        }
    }
}

static pid_t
fork_party(const struct load *load, enum party party, const struct ledger *check)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (check == NULL) {
            load_run(load, party);
            _exit(0);
        }
        _exit(load_check(load, party, check) ? 0 : 1);
    }
    return pid;
}

/* Who is at work before a cut: one alone, for a sync of one takes what others wrote along; or both daemons. */
static const bool at_work[][PARTIES] = {{[PARTY_STORE] = true},
                                        {[PARTY_SCHED] = true},
                                        {[PARTY_STORE] = true, [PARTY_SCHED] = true},
                                        {[PARTY_APPEND] = true},
                                        {[PARTY_TABLE] = true}};

#define MIXES (sizeof at_work / sizeof at_work[0])

/* Everybody has promised something since. */
static bool
all_at_work(const struct ledger *ledger, const bool mix[static PARTIES], const uint64_t since[static PARTIES])
{
    for (int party = 0; party < PARTIES; party++) {
        if (mix[party] && atomic_load(&ledger->promises[party]) == since[party]) {
            return false;
        }
    }
    return true;
}

/* Under load until a random moment; *before is what was promised then. */
static bool
load_and_cut(const struct volume *volume, const bool mix[static PARTIES], struct load *load, struct ledger *before)
{
    int64_t give_up_ns = gr_now_ns() + (int64_t)20 * 1000000000;
    uint64_t since[PARTIES];
    pid_t pids[PARTIES];
    bool ok;

    for (int party = 0; party < PARTIES; party++) {
        since[party] = atomic_load(&load->ledger->promises[party]);
        pids[party] = mix[party] ? fork_party(load, (enum party)party, NULL) : 0;
    }
    while (!(ok = all_at_work(load->ledger, mix, since)) && gr_now_ns() < give_up_ns) {
        (void)usleep(1000);
    }
    if (ok) {
        (void)usleep((useconds_t)(gr_hash64(&load->seed, sizeof load->seed) % (LOAD_MOST_MS * 1000)));
        memcpy(before, load->ledger, sizeof *before);
        ok = volume_cut(volume);
    } else {
        (void)printf("power_cuts: no load: %s\n", load->why);
    }
    kill_all(pids);
    forget_memory(load);
    return ok;
}

static bool
check_all(const bool mix[static PARTIES], const struct load *load, const struct ledger *before)
{
    bool ok = true;

    for (int party = 0; party < PARTIES; party++) {
        pid_t pids[PARTIES] = {0};
        int status = -1;

        if (!mix[party]) {
            continue;
        }
        load->why[0] = '\0';
        pids[party] = fork_party(load, (enum party)party, before);
        if (waitpid(pids[party], &status, 0) != pids[party] || status != 0) {
            (void)printf("power_cuts: seed %" PRIu64 ": %s (status %#x)\n", load->seed, load->why, (unsigned)status);
            ok = false;
        }
        pids[party] = 0;
        kill_all(pids); /* its daemons */
    }
    forget_memory(load);
    return ok;
}

static int
run(const struct volume *volume, struct load *load)
{
    struct ledger *before = malloc(sizeof *before);
    uint64_t broken = 0;
    uint64_t cut;

    for (cut = 0; cut < options.cuts && before != NULL; cut++) {
        const bool *mix = at_work[options.tables ? MIXES - 1 : cut % MIXES];

        load->seed = options.seed * 1000003 + cut;
        if (!load_and_cut(volume, mix, load, before) || !volume_remount(volume)) {
            (void)printf("power_cuts: cut %" PRIu64 " could not be done\n", cut);
            free(before);
            return 2;
        }
        broken += !check_all(mix, load, before);
        if (options.without_sync && broken > 0) { /* what it is there for was seen */
            cut++;
            break;
        }
    }
    (void)printf("power_cuts %s: seed %" PRIu64 ", %" PRIu64 " cuts, promised: %" PRIu64 " persistent objects, %" PRIu64
                 " graphs, %" PRIu64 " lines, %" PRIu64 " rows; broken %" PRIu64 "\n",
                 volume->type, options.seed, cut, atomic_load(&load->ledger->promises[PARTY_STORE]),
                 atomic_load(&load->ledger->promises[PARTY_SCHED]), atomic_load(&load->ledger->promises[PARTY_APPEND]),
                 atomic_load(&load->ledger->promises[PARTY_TABLE]), broken);
    free(before);
    return (broken > 0) != options.without_sync;
}

int
main(int argc, char **argv)
{
    struct volume volume;
    struct load load = {0};
    int status;

    (void)argp_parse(&parser, argc, argv, 0, NULL, NULL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)freopen("/dev/null", "w", stderr); /* daemons that see their disk go */
    beside_find_daemons();
    status = volume_make(&volume, options.type);
    if (status != 0) {
        return status;
    }
    if (options.without_sync) { /* what this program is there for must be seen */
        beside_preload("libno_sync.so");
    }
    load.ledger = shared(sizeof *load.ledger);
    load.why = shared(512);
    for (int party = 0; party < PARTIES; party++) {
        atomic_store(&load.ledger->next[party], 1);
        atomic_store(&load.ledger->first[party], 1);
    }
    (void)snprintf(load.folder, sizeof load.folder, "%.55s/f", volume.mount);
    status = mkdir(load.folder, 0700) == 0 ? run(&volume, &load) : 2;
    volume_remove(&volume);
    return status;
}
