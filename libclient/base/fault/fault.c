/* Faults at run time: points count their hits, and the rules that are due make something go wrong there. */
#include "base/fault/fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/rules.h"
#include "base/log.h"

bool gr_fault_armed;

/* One a process: points have no argument. Written before gr_fault_armed is set, but for the counts. */
static struct {
    pthread_mutex_t lock; /* of arming */
    bool done;
    granary_err err;
    char message[300];
    enum gr_fault_process process;
    struct gr_fault_rules rules;
    uint64_t seed;
    char *note; /* NULL: none */
    _Atomic uint64_t hits[GR_FAULT_POINTS];
} fault = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What this file itself does is no point. */
static _Thread_local bool within;

/* ---- telling ---- */

static void
add_hits(char **text, size_t *room, const char *name, uint64_t hits)
{
    int length = snprintf(*text, *room, "%s %d %s %llu\n", gr_fault_process_name(fault.process), (int)getpid(), name,
                          (unsigned long long)hits);

    if (hits > 0 && length > 0 && (size_t)length < *room) {
        *text += length;
        *room -= (size_t)length;
    }
}

/* In one write, for several processes tell at a time. */
static void
add_to_hits(const char *lines, size_t size)
{
    char path[4096];
    int fd;

    (void)snprintf(path, sizeof path, "%s.hits", fault.note);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        (void)!write(fd, lines, size);
        (void)close(fd);
    }
}

static void
tell_first_hit(enum gr_fault_point point)
{
    char line[128];
    char *text = line;
    size_t room = sizeof line;

    add_hits(&text, &room, gr_fault_info(point)->name, 1);
    add_to_hits(line, (size_t)(text - line));
}

static void
tell_hits(void)
{
    char lines[(GR_FAULT_POINTS + GR_FAULT_RULES) * 64 + 256];
    char name[32];
    char *text = lines;
    size_t room = sizeof lines;
    uint64_t all = 0, calls = 0;

    for (int i = 0; i < GR_FAULT_POINTS; i++) {
        uint64_t hits = atomic_load(&fault.hits[i]);

        add_hits(&text, &room, gr_fault_info((enum gr_fault_point)i)->name, hits);
        all += gr_fault_is_call(i) ? 0 : hits;
        calls += strncmp(gr_fault_info((enum gr_fault_point)i)->name, "call.", 5) == 0 ? hits : 0;
    }
    add_hits(&text, &room, "any", all);
    add_hits(&text, &room, "call.any", calls);
    for (size_t i = 0; i < fault.rules.count; i++) {
        (void)snprintf(name, sizeof name, "rule.%zu", i + 1);
        add_hits(&text, &room, name, atomic_load(&fault.rules.rules[i].hits));
    }
    add_to_hits(lines, (size_t)(text - lines));
}

void
gr_fault_end(void)
{
    if (gr_fault_armed && fault.note != NULL) {
        within = true;
        tell_hits();
    }
}

/* Whether the fault may happen: with a plain N it is only the first one that says so. */
static bool
note(const struct gr_fault_rule *rule, enum gr_fault_point point, uint64_t hit)
{
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (rule->when == GR_FAULT_ONCE ? O_EXCL : 0);
    char line[128];
    int length, fd;

    if (fault.note == NULL) {
        return true;
    }
    fd = open(fault.note, flags, 0600);
    if (fd < 0) {
        return rule->when != GR_FAULT_ONCE;
    }
    length = snprintf(line, sizeof line, "%s %s %llu\n", gr_fault_process_name(fault.process),
                      gr_fault_info(point)->name, (unsigned long long)hit);
    (void)!write(fd, line, (size_t)length);
    (void)close(fd);
    return true;
}

/* ---- happening ---- */

static void
die(void)
{
    if (fault.note != NULL) {
        tell_hits();
    }
    (void)kill(getpid(), SIGKILL);
    for (;;) {
        (void)pause();
    }
}

static void
happen(const struct gr_fault_rule *rule, enum gr_fault_point point, uint64_t hit)
{
    struct timespec time = {.tv_sec = (time_t)(rule->delay_ns / 1000000000),
                            .tv_nsec = (long)(rule->delay_ns % 1000000000)};

    if (rule->when == GR_FAULT_ONCE) {
        gr_log_info("FAULT", "point=%s action=%s n=%llu", gr_fault_info(point)->name,
                    gr_fault_action_name(rule->action), (unsigned long long)hit);
    }
    if (rule->action == GR_FAULT_KILL) {
        die();
    }
    while (rule->action == GR_FAULT_DELAY && nanosleep(&time, &time) < 0 && errno == EINTR) {
    }
}

static enum gr_fault_action
meet(enum gr_fault_point point, int *error)
{
    enum gr_fault_action action = GR_FAULT_NOTHING;

    if (atomic_fetch_add_explicit(&fault.hits[point], 1, memory_order_relaxed) == 0 && fault.note != NULL) {
        tell_first_hit(point);
    }
    for (size_t i = 0; i < fault.rules.count; i++) {
        struct gr_fault_rule *rule = &fault.rules.rules[i];
        uint64_t hit;

        if ((rule->processes & fault.process) == 0 || !gr_fault_rule_is_about(rule, point)) {
            continue;
        }
        hit = atomic_fetch_add(&rule->hits, 1) + 1;
        if (gr_fault_rule_is_due(rule, hit, fault.seed + i) && note(rule, point, hit)) {
            happen(rule, point, hit);
            if (rule->action != GR_FAULT_DELAY) {
                action = rule->action;
                *error = action == GR_FAULT_ERRNO ? rule->error : *error;
            }
        }
    }
    return action;
}

enum gr_fault_action
gr_fault_meet(enum gr_fault_point point)
{
    enum gr_fault_action action = GR_FAULT_NOTHING;
    int error = errno;

    if (!within) {
        within = true;
        action = meet(point, &error);
        within = false;
    }
    errno = error;
    return action;
}

bool
gr_fault_leaves(enum gr_fault_point point, void *bytes, size_t *size)
{
    enum gr_fault_action action = gr_fault_meet(point);

    if (action == GR_FAULT_SHORT && *size > 1) {
        *size /= 2;
    } else if (action == GR_FAULT_CORRUPT) {
        gr_fault_spoil(bytes, *size);
    }
    return action != GR_FAULT_ERRNO;
}

ssize_t
gr_fault_pread(enum gr_fault_point point, int fd, void *bytes, size_t size, off_t at)
{
    enum gr_fault_action action = GR_FAULT_NOTHING;
    ssize_t n;

    if (__builtin_expect(gr_fault_armed, false)) {
        action = gr_fault_meet(point);
    }
    n = action == GR_FAULT_ERRNO ? -1 : pread(fd, bytes, action == GR_FAULT_SHORT && size > 1 ? size / 2 : size, at);
    if (action == GR_FAULT_CORRUPT && n > 0) {
        gr_fault_spoil(bytes, (size_t)n);
    }
    return n;
}

void
gr_fault_spoil(void *bytes, size_t size)
{
    if (size > 0) {
        ((unsigned char *)bytes)[size / 2] ^= 0x55;
    }
}

/* ---- being armed ---- */

/* A child that goes on counts for itself. */
static void
begin_again(void)
{
    for (int i = 0; i < GR_FAULT_POINTS; i++) {
        atomic_store(&fault.hits[i], 0);
    }
    for (size_t i = 0; i < fault.rules.count; i++) {
        atomic_store(&fault.rules.rules[i].hits, 0);
    }
}

/* The library that was loaded before all others comes to the points that are no part of this code. */
static granary_err
attach_calls(void)
{
    void (*attach)(enum gr_fault_action(*)(enum gr_fault_point));
    void *symbol = dlsym(RTLD_DEFAULT, "granary_faults_attach");

    for (size_t i = 0; i < fault.rules.count && symbol == NULL; i++) {
        if (gr_fault_is_call(fault.rules.rules[i].point)) {
            return gr_fail(GRANARY_EINVAL, "GRANARY_FAULT: call.* and alloc.* need the library that comes to them: set "
                                           "LD_PRELOAD=.../libgranary-faults.so");
        }
    }
    if (symbol != NULL) {
        memcpy(&attach, &symbol, sizeof attach);
        attach(gr_fault_meet);
    }
    return GRANARY_OK;
}

/* What is started again rolls anew: what was noted so far tells it apart. */
static uint64_t
seed_of_process(const char *text)
{
    struct stat noted = {0};

    if (fault.note != NULL) {
        (void)stat(fault.note, &noted);
    }
    return (text == NULL ? (uint64_t)gr_now_ns() : strtoull(text, NULL, 0)) + ((uint64_t)fault.process << 32) +
           ((uint64_t)noted.st_size << 40);
}

static bool
is_number(const char *text)
{
    char *end;

    (void)strtoull(text, &end, 0);
    return end != text && *end == '\0';
}

static granary_err
arm(enum gr_fault_process process)
{
    const char *text = secure_getenv("GRANARY_FAULT");
    const char *note_path = secure_getenv("GRANARY_FAULT_NOTE");
    const char *seed = secure_getenv("GRANARY_FAULT_SEED");
    granary_err err;

    fault.process = process;
    if (text == NULL && note_path == NULL) {
        return GRANARY_OK;
    }
    fault.note = note_path == NULL ? NULL : strdup(note_path);
    err = gr_fault_rules_parse(text == NULL ? "" : text, &fault.rules);
    if (err == GRANARY_OK && seed != NULL && !is_number(seed)) {
        err = gr_fail(GRANARY_EINVAL, "GRANARY_FAULT_SEED: '%s' is no number", seed);
    }
    if (err == GRANARY_OK) {
        fault.seed = seed_of_process(seed);
        (void)pthread_atfork(NULL, NULL, begin_again);
        if (fault.note != NULL) {
            (void)atexit(gr_fault_end);
        }
        within = true;
        err = attach_calls();
        within = false;
    }
    if (err == GRANARY_OK) {
        gr_log_info("FAULTS-ARMED", "process=%s GRANARY_FAULT=%s", gr_fault_process_name(process),
                    text == NULL ? "" : text);
        gr_fault_armed = true;
    }
    return err;
}

granary_err
gr_fault_arm(enum gr_fault_process process)
{
    (void)pthread_mutex_lock(&fault.lock);
    if (!fault.done) {
        fault.done = true;
        fault.err = arm(process);
        if (fault.err != GRANARY_OK) {
            (void)snprintf(fault.message, sizeof fault.message, "%s", granary_error_message());
        }
    }
    (void)pthread_mutex_unlock(&fault.lock);
    return fault.err == GRANARY_OK ? GRANARY_OK : gr_fail(fault.err, "%s", fault.message);
}
