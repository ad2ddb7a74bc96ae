/*
 * The loop waits for the ends of processes. A fragment counts as done when its file DIGEST-P.done is seen from here, and a
 * fragment that finds damage removes that file of whoever wrote it: then that one runs again.
 */
#include "cli/cluster/drive.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cluster/child.h"
#include "cli/command/cli.h"

#define TRIES  3    /* of a fragment, and of a place in a row */
#define END_MS 5000 /* a process has to end after SIGTERM */
#define NOBODY SIZE_MAX

enum state { WAITING, RUNNING, DONE };

struct work {
    size_t stage;
    uint32_t partition;
    enum state state;
    unsigned copies; /* that run */
    unsigned tries;
    size_t failed_at; /* the place where it failed last; NOBODY */
};

struct slot {    /* one a place */
    size_t work; /* NOBODY: it is idle */
    pid_t pid;
    int pidfd;
    int output; /* what the process says */
    int64_t started_ns;
    bool dropped;      /* its work is done, and it is told to end */
    unsigned failures; /* in a row */
};

struct drive {
    const struct places *places;
    const struct gr_cutplan *plan;
    const char *path;
    struct work *works; /* of all stages, in their order */
    size_t *first;      /* of each stage */
    uint32_t *left;     /* of each stage: those that are not done */
    size_t count, done;
    struct slot *slots;
    struct pollfd *polls;
    int64_t *took_ns; /* by those that are done, sorted */
    size_t took_count;
    const struct drive_watch *watch;
    uint64_t *bytes; /* of each stage's results so far */
    size_t wrong;    /* a stage with more than the plan was made for; NOBODY */
    bool heeds;      /* the run ends with that */
    bool failed;
    granary_err err;
    char message[CHILD_MESSAGE_MAX];
};

static void
keep_error(struct drive *drive, granary_err err)
{
    if (!drive->failed) {
        drive->failed = true;
        drive->err = err;
        (void)snprintf(drive->message, sizeof drive->message, "%s", granary_error_message());
    }
}

static struct chunks_of
chunks_of(const struct drive *drive, const struct work *work)
{
    return (struct chunks_of){drive->places->directory, drive->plan->stages[work->stage].digest, work->partition};
}

/* ---- what can start ---- */

static bool
is_ready(const struct drive *drive, const struct work *work)
{
    const struct gr_cutplan_stage *stage = &drive->plan->stages[work->stage];

    for (size_t i = 0; i < stage->input_count; i++) {
        const struct gr_cutplan_input *input = &stage->inputs[i];
        const struct work *from = &drive->works[drive->first[input->stage]];

        if (input->take == GR_PLAN_SAME ? from[work->partition].state != DONE : drive->left[input->stage] > 0) {
            return false;
        }
    }
    return true;
}

static bool
is_usable(const struct slot *slot)
{
    return slot->failures < TRIES;
}

static size_t
count_usable(const struct drive *drive)
{
    size_t count = 0;

    for (size_t s = 0; s < drive->places->count; s++) {
        count += is_usable(&drive->slots[s]);
    }
    return count;
}

static bool
is_home(const struct drive *drive, const struct work *work)
{
    return drive->plan->stages[work->stage].home;
}

/* The next one for a place; NOBODY. Where it has just failed, it runs again only when there is no other place. */
static size_t
next_work(const struct drive *drive, size_t place)
{
    bool at_home = place == drive->places->count;
    bool alone = at_home || count_usable(drive) == 1;

    for (size_t w = 0; w < drive->count; w++) {
        const struct work *work = &drive->works[w];

        if (work->state == WAITING && is_home(drive, work) == at_home && (alone || work->failed_at != place) &&
            is_ready(drive, work)) {
            return w;
        }
    }
    return NOBODY;
}

static int64_t
slow_after_ns(const struct drive *drive)
{
    int64_t median = drive->took_count == 0 ? INT64_MAX / DRIVE_SLOW_TIMES : drive->took_ns[drive->took_count / 2];
    int64_t least = (int64_t)DRIVE_SLOW_LEAST_MS * 1000000;

    return DRIVE_SLOW_TIMES * median < least ? least : DRIVE_SLOW_TIMES * median;
}

/* The one that runs longest, alone, and too long; NOBODY. *ret_due: when the next one is. */
static size_t
slow_work(const struct drive *drive, size_t place, int64_t *ret_due)
{
    const struct slot *slowest = NULL;

    for (size_t s = 0; s < drive->places->count; s++) {
        const struct slot *slot = &drive->slots[s];

        if (s != place && slot->work != NOBODY && !slot->dropped && drive->works[slot->work].copies == 1 &&
            !is_home(drive, &drive->works[slot->work]) && drive->works[slot->work].failed_at != place &&
            (slowest == NULL || slot->started_ns < slowest->started_ns)) {
            slowest = slot;
        }
    }
    if (slowest == NULL || drive->took_count == 0) {
        return NOBODY;
    }
    if (gr_now_ns() - slowest->started_ns > slow_after_ns(drive)) {
        return slowest->work;
    }
    if (slowest->started_ns + slow_after_ns(drive) < *ret_due) {
        *ret_due = slowest->started_ns + slow_after_ns(drive);
    }
    return NOBODY;
}

/* ---- processes ---- */

static granary_err
start(struct drive *drive, size_t place, size_t w)
{
    struct work *work = &drive->works[w];
    struct slot *slot = &drive->slots[place];
    struct places_command command;
    granary_err err;

    places_fragment(drive->places, place, drive->path, drive->plan->stages[work->stage].name, work->partition,
                    &command);
    err = child_start(command.argv, &slot->pid, &slot->pidfd, &slot->output);
    if (err != GRANARY_OK) {
        return err;
    }
    slot->work = w;
    slot->started_ns = gr_now_ns();
    slot->dropped = false;
    record_begin(drive->watch->record, place, work->stage, work->partition);
    work->state = RUNNING;
    work->copies++;
    return GRANARY_OK;
}

static granary_err
err_of_status(int status)
{
    static const granary_err errs[] = {GRANARY_EFAILED,      GRANARY_EFAILED, GRANARY_EINVAL,
                                       GRANARY_EUNREACHABLE, GRANARY_ENOENT,  GRANARY_EFULL,
                                       GRANARY_ETIMEDOUT,    GRANARY_EPERM,   GRANARY_ECORRUPT};
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;

    return code >= 0 && (size_t)code < sizeof errs / sizeof errs[0] ? errs[code] : GRANARY_EFAILED;
}

/* ---- what becomes of it ---- */

static void
note_time(struct drive *drive, int64_t took_ns)
{
    size_t at = drive->took_count++;

    for (; at > 0 && drive->took_ns[at - 1] > took_ns; at--) {
        drive->took_ns[at] = drive->took_ns[at - 1];
    }
    drive->took_ns[at] = took_ns;
}

/* Whether it is whole as seen from here. A directory of a network may show a file late: looking at all of it helps. */
static granary_err
check_done(const struct drive *drive, const struct work *work, uint64_t *ret_bytes)
{
    struct chunks_of of = chunks_of(drive, work);
    struct chunks chunks = {.count = 0};
    granary_err err = chunks_read(&of, &chunks);

    if (err == GRANARY_ENOENT) {
        DIR *stream = opendir(drive->places->directory);

        while (stream != NULL && readdir(stream) != NULL) {
        }
        if (stream != NULL) {
            (void)closedir(stream);
        }
        err = chunks_read(&of, &chunks);
    }
    for (size_t k = 0; k < chunks.count; k++) {
        *ret_bytes += chunks.files[k].bytes;
    }
    chunks_free(&chunks);
    return err == GRANARY_ENOENT
               ? gr_fail(err, "its results are not seen in %s: is that directory the same on all machines?",
                         drive->places->directory)
               : err;
}

/* Others that run the same are told to end. */
static void
drop_copies(struct drive *drive, size_t w)
{
    for (size_t s = 0; s <= drive->places->count; s++) {
        struct slot *slot = &drive->slots[s];

        if (slot->work == w && !slot->dropped) {
            slot->dropped = true;
            (void)gr_pidfd_signal(slot->pidfd, SIGTERM);
        }
    }
}

/* Those that it reads, and that are not whole any more, run again. */
static void
look_at_inputs(struct drive *drive, const struct work *work)
{
    const struct gr_cutplan_stage *stage = &drive->plan->stages[work->stage];
    uint64_t bytes = 0;

    for (size_t i = 0; i < stage->input_count; i++) {
        struct work *from = &drive->works[drive->first[stage->inputs[i].stage]];

        for (uint32_t p = 0; p < drive->plan->stages[stage->inputs[i].stage].partitions; p++) {
            if (from[p].state == DONE && check_done(drive, &from[p], &bytes) != GRANARY_OK) {
                record_lost(drive->watch->record, from[p].stage, p);
                from[p].state = WAITING;
                from[p].tries++;
                drive->left[from[p].stage]++;
                drive->done--;
                drive->took_count--;
            }
        }
    }
}

/* Whether another try cannot help: what was asked is wrong, or all machines that are left have told the same. */
static bool
is_final(const struct drive *drive, size_t place, const struct work *work, granary_err err)
{
    return err == GRANARY_EINVAL || ((err == GRANARY_ENOENT || err == GRANARY_EPERM) &&
                                     (place == drive->places->count || work->tries >= count_usable(drive)));
}

/* told: the fragment says so itself. */
static void
failed_work(struct drive *drive, size_t place, struct work *work, granary_err err, bool told)
{
    struct slot *slot = &drive->slots[place];
    const char *name = drive->places->list[place].name;

    work->failed_at = place;
    work->tries++;
    slot->failures++;
    if (err == GRANARY_ECORRUPT) {
        char message[CHILD_MESSAGE_MAX];

        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        look_at_inputs(drive, work);
        slot->failures = 0; /* it is not the place's fault */
        (void)gr_fail(err, "%s", message);
    }
    if (told && is_final(drive, place, work, err)) {
        keep_error(drive, err);
        return;
    }
    if (work->tries >= TRIES) {
        keep_error(drive, gr_fail_in(err, "%d tries", TRIES));
        return;
    }
    cli_note("%s: it is tried again", granary_error_message());
    if (work->copies == 0) {
        work->state = WAITING;
    }
    if (!is_usable(slot) && place < drive->places->count) {
        record_out(drive->watch->record, place);
        cli_note("%s has failed %d times in a row: it gets nothing more", name, TRIES);
        if (count_usable(drive) == 0) {
            keep_error(drive, gr_fail_in(err, "no machine is left"));
        }
    }
}

/* Another way may be better when results are larger than the plan was made for. */
static void
compare_guesses(struct drive *drive, size_t stage)
{
    for (size_t g = 0; g < drive->plan->guess_count; g++) {
        const struct gr_cutplan_guess *guess = &drive->plan->guesses[g];

        if (drive->heeds && guess->stage == stage && drive->left[stage] == 0 &&
            (double)drive->bytes[stage] > guess->most_bytes) {
            drive->wrong = stage;
        }
    }
}

/* Why it has failed: the process's own words, with what they leave out. Returns err. */
static granary_err
describe_failure(const struct drive *drive, size_t place, const struct work *work, int status, granary_err err)
{
    const char *stage = drive->plan->stages[work->stage].name;
    char message[CHILD_MESSAGE_MAX];

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        (void)snprintf(message, sizeof message, "%s", granary_error_message());
    } else {
        child_message(drive->slots[place].output, message);
    }
    if (WIFSIGNALED(status)) {
        (void)snprintf(message, sizeof message, "its process was killed by signal %d", WTERMSIG(status));
    }
    (void)gr_fail(err, "%s", message);
    return strstr(message, stage) != NULL ? err
                                          : gr_fail_in(err, "stage '%s', partition %u, on %s", stage, work->partition,
                                                       drive->places->list[place].name);
}

/* Whoever watches hears of a run that has ended; the thread's error stays. */
static void
tell_watchers(const struct drive *drive, size_t place, const struct work *work, granary_err err, uint64_t bytes)
{
    const struct drive_watch *watch = drive->watch;
    const struct slot *slot = &drive->slots[place];
    const char *outcome = slot->dropped ? "overtaken" : err == GRANARY_OK ? "done" : "failed";
    struct gr_buf said = {0};
    char message[CHILD_MESSAGE_MAX];

    (void)snprintf(message, sizeof message, "%s", err == GRANARY_OK || slot->dropped ? "" : granary_error_message());
    record_end(watch->record, place, work->stage, work->partition, outcome, bytes, message);
    if (watch->clocks != NULL) {
        trace_fragment(watch->trace, place + 1, drive->plan->stages[work->stage].name, work->partition,
                       slot->started_ns, gr_now_ns(), bytes, outcome);
        if (child_said(slot->output, &said) == GRANARY_OK && said.size > 0) {
            trace_runs(watch->trace, place + 1, &watch->clocks[place], said.bytes);
        }
        gr_buf_free(&said);
    }
    if (err != GRANARY_OK) {
        (void)gr_fail(err, "%s", message);
    }
}

/* A process has ended. */
static void
end_slot(struct drive *drive, size_t place)
{
    struct slot *slot = &drive->slots[place];
    size_t w = slot->work;
    struct work *work = &drive->works[w];
    int status = 0;
    uint64_t bytes = 0;
    granary_err err;

    (void)waitpid(slot->pid, &status, 0);
    gr_fd_close(&slot->pidfd);
    slot->work = NOBODY;
    work->copies--;
    err = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? check_done(drive, work, &bytes) : err_of_status(status);
    err = err == GRANARY_OK ? err : describe_failure(drive, place, work, status, err);
    tell_watchers(drive, place, work, err, bytes);
    if (slot->dropped || work->state == DONE || drive->failed) {
        /* It does not matter any more. */
    } else if (err == GRANARY_OK) {
        work->state = DONE;
        drive->left[work->stage]--;
        drive->done++;
        slot->failures = 0;
        drive->bytes[work->stage] += bytes;
        compare_guesses(drive, work->stage);
        note_time(drive, gr_now_ns() - slot->started_ns);
        drop_copies(drive, w);
    } else {
        failed_work(drive, place, work, err, WIFEXITED(status) && WEXITSTATUS(status) != 0);
    }
    gr_fd_close(&slot->output);
}

/* ---- the loop ---- */

/* Give idle places something to do. Returns when to look again. */
static int64_t
fill_places(struct drive *drive)
{
    int64_t due = INT64_MAX;

    for (size_t s = 0; s <= drive->places->count && !drive->failed; s++) {
        struct slot *slot = &drive->slots[s];
        size_t w;
        granary_err err;

        if (slot->work != NOBODY || !is_usable(slot)) {
            continue;
        }
        w = next_work(drive, s);
        w = w == NOBODY && s < drive->places->count ? slow_work(drive, s, &due) : w;
        err = w == NOBODY ? GRANARY_OK : start(drive, s, w);
        if (err != GRANARY_OK) {
            keep_error(drive, err);
        }
    }
    return due;
}

/* Wait until a process ends, or until then, and take note. Returns whether any runs. */
static bool
wait_for_ends(struct drive *drive, int64_t until_ns)
{
    size_t n = 0;

    for (size_t s = 0; s <= drive->places->count; s++) {
        if (drive->slots[s].work != NOBODY) {
            drive->polls[n++] = (struct pollfd){.fd = drive->slots[s].pidfd, .events = POLLIN};
        }
    }
    if (n == 0) {
        return false;
    }
    (void)poll(drive->polls, n, gr_left_ms(until_ns));
    for (size_t s = 0; s <= drive->places->count; s++) {
        if (drive->slots[s].work != NOBODY && gr_pidfd_ended(drive->slots[s].pidfd)) {
            end_slot(drive, s);
        }
    }
    return true;
}

/* End what still runs. */
static void
stop_slots(struct drive *drive)
{
    int64_t deadline = gr_deadline_ns(END_MS);
    bool any = true;

    for (int round = 0; round < 2; round++) {
        for (size_t s = 0; s <= drive->places->count; s++) {
            struct slot *slot = &drive->slots[s];

            if (slot->work != NOBODY) {
                slot->dropped = true;
                (void)gr_pidfd_signal(slot->pidfd, round == 0 ? SIGTERM : SIGKILL);
            }
        }
        while (any && (round == 1 || gr_now_ns() < deadline)) {
            any = wait_for_ends(drive, round == 0 ? deadline : INT64_MAX);
        }
    }
}

static granary_err
run(struct drive *drive, int timeout_ms)
{
    int64_t deadline = gr_deadline_ns(timeout_ms > 0 ? timeout_ms : -1);

    while (drive->done < drive->count && !drive->failed && drive->wrong == NOBODY) {
        int64_t due = fill_places(drive);

        if (gr_now_ns() >= deadline) {
            keep_error(drive, gr_fail(GRANARY_ETIMEDOUT, "not done after %.1f s: %zu of %zu fragments were done",
                                      timeout_ms / 1000.0, drive->done, drive->count));
        } else if (!drive->failed && !wait_for_ends(drive, due < deadline ? due : deadline)) {
            keep_error(drive, gr_fail(GRANARY_EUNREACHABLE, "no machine can run what is left"));
        }
    }
    stop_slots(drive);
    return drive->failed ? gr_fail(drive->err, "%s", drive->message) : GRANARY_OK;
}

static granary_err
make_works(struct drive *drive)
{
    const struct gr_cutplan *plan = drive->plan;
    size_t w = 0;

    for (size_t s = 0; s < plan->stage_count; s++) {
        drive->count += plan->stages[s].partitions;
    }
    drive->works = calloc(drive->count, sizeof *drive->works);
    drive->first = calloc(plan->stage_count, sizeof *drive->first);
    drive->bytes = calloc(plan->stage_count, sizeof *drive->bytes);
    drive->left = calloc(plan->stage_count, sizeof *drive->left);
    drive->took_ns = calloc(drive->count, sizeof *drive->took_ns);
    drive->slots = calloc(drive->places->count + 1, sizeof *drive->slots);
    drive->polls = calloc(drive->places->count + 1, sizeof *drive->polls);
    if (drive->works == NULL || drive->first == NULL || drive->left == NULL || drive->bytes == NULL ||
        drive->took_ns == NULL || drive->slots == NULL || drive->polls == NULL) {
        return gr_no_memory("plan");
    }
    for (size_t s = 0; s < plan->stage_count; s++) {
        drive->first[s] = w;
        drive->left[s] = plan->stages[s].partitions;
        for (uint32_t p = 0; p < plan->stages[s].partitions; p++) {
            drive->works[w++] = (struct work){.stage = s, .partition = p, .failed_at = NOBODY};
        }
    }
    for (size_t s = 0; s <= drive->places->count; s++) {
        drive->slots[s].work = NOBODY;
    }
    return GRANARY_OK;
}

granary_err
drive(const struct places *places, const struct gr_cutplan *plan, const char *path, int timeout_ms,
      const struct drive_watch *watch, size_t *ret_wrong, uint64_t *ret_bytes)
{
    struct drive drive = {
        .places = places, .plan = plan, .path = path, .watch = watch, .wrong = NOBODY, .heeds = ret_wrong != NULL};
    granary_err err = make_works(&drive);

    record_plan(watch->record, path);
    err = err == GRANARY_OK ? run(&drive, timeout_ms) : err;
    if (err == GRANARY_OK && drive.wrong != NOBODY) {
        *ret_wrong = drive.wrong;
        *ret_bytes = drive.bytes[drive.wrong];
    }
    free(drive.works);
    free(drive.first);
    free(drive.left);
    free(drive.bytes);
    free(drive.took_ns);
    free(drive.slots);
    free(drive.polls);
    return err;
}
