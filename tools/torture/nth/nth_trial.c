/* One n: the scenario under the fault, the verdict, the scenario again without, and what is left after the end. */
#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "torture/nth/nth.h"

#define STATUS_MOST 8 /* the last exit status that is documented */
#define CALLER      2 /* of those: what was asked for makes no sense */
#define ROUNDS      3
#define ERRNO_MOST  134

/* The first finding of a trial is kept; others follow from it. */
static void __attribute__((format(printf, 2, 3))) find(struct nth_trial *trial, const char *format, ...)
{
    va_list list;

    if (trial->finding[0] == '\0') {
        va_start(list, format);
        (void)vsnprintf(trial->finding, sizeof trial->finding, format, list);
        va_end(list);
    }
}

/* ---- messages ---- */

/* The last line, without the names of programs in front. */
static const char *
last_line(const char *message)
{
    const char *line = message;
    const char *at;

    for (at = message; (at = strchr(at, '\n')) != NULL && at[1] != '\0'; at++) {
        line = at + 1;
    }
    return strncmp(line, "granary: ", 9) == 0 ? line + 9 : line;
}

/* Whether it says more than the error's name: "run: Input/output error" helps nobody. */
static bool
names_something(const char *what, const char *line)
{
    size_t length = strlen(what);

    if (strncmp(line, what, length) == 0 && strncmp(line + length, ": ", 2) == 0) {
        line += length + 2;
    }
    length = strcspn(line, "\n");
    for (int error = 1; error < ERRNO_MOST; error++) {
        const char *name = strerror(error);

        if (strlen(name) == length && strncmp(line, name, length) == 0) {
            return false;
        }
    }
    return length > 0;
}

/* What an outcome is counted by: numbers, ids and directories differ from trial to trial. */
static void
generalise(const struct nth_instance *instance, const char *line, char *text, size_t size)
{
    size_t length = 0;

    while (*line != '\0' && *line != '\n' && length + 2 < size) {
        size_t digits = strspn(line, "0123456789abcdef");
        bool word = digits < 8 && isalpha((unsigned char)line[digits]);

        if (strncmp(line, instance->directory, strlen(instance->directory)) == 0) {
            line += strlen(instance->directory);
            text[length++] = '~';
        } else if (digits > 0 && strcspn(line, "0123456789") < digits && !word) {
            line += digits;
            text[length++] = '#';
        } else {
            do {
                text[length++] = *line++;
            } while (length + 2 < size && isalnum((unsigned char)line[-1]) && isalnum((unsigned char)*line));
        }
    }
    text[length] = '\0';
}

/* ---- the verdict ---- */

/* Whether an error may be the caller's own: of what was damaged it may be, or where that is how calls fail. */
static bool
may_blame(const struct nth_fault *fault)
{
    static const char *const names[] = {"errno=EINVAL", "errno=ENAMETOOLONG", "errno=EISDIR", "errno=ENOTDIR"};
    bool may = fault->messages;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        may = may || strcmp(fault->action, names[i]) == 0;
    }
    return may;
}

/* What the work printed is what it printed in calm. */
static bool
prints_as_expected(const struct nth_trial *trial, const struct nth_instance *instance, char *expected)
{
    char path[160];
    char *text = NULL;
    size_t size = 0;
    bool same;

    (void)snprintf(path, sizeof path, "%s/out", instance->directory);
    same = gr_file_read(path, NTH_OUTPUT_MOST, &text, &size) == GRANARY_OK;
    if (same && trial->n == 0) {
        (void)snprintf(expected, NTH_OUTPUT_MOST, "%s", text);
    }
    same = same && strcmp(text, expected) == 0;
    free(text);
    return same;
}

/*
 * How something ended. Success and a clean error are outcomes, everything else is a finding.
 *
 * what      for findings
 * may_die   the fault kills this very command
 * may_fail  the fault happened meanwhile
 */
static void
judge(struct nth_trial *trial, const struct nth_instance *instance, const char *what, const struct nth_end *end,
      bool may_die, bool may_fail)
{
    const char *line = last_line(end->message);
    int status = WEXITSTATUS(end->status);
    char text[300];

    if (end->hung) {
        find(trial, "%s hangs: %s", what, end->message);
    } else if (end->interrupted) {
        if (!may_fail) {
            find(trial, "%s waits for good: %s", what, end->message);
        }
        (void)snprintf(trial->outcome, sizeof trial->outcome, "%s: waited, and was interrupted", what);
        trial->kind = NTH_WAITED;
    } else if (may_die && status == 128 + SIGKILL) { /* a process of its own was, and it says so */
        (void)snprintf(trial->outcome, sizeof trial->outcome, "killed");
        trial->kind = NTH_KILLED;
    } else if (WIFSIGNALED(end->status)) {
        if (!may_die || WTERMSIG(end->status) != SIGKILL) {
            find(trial, "%s died of signal %d: %s", what, WTERMSIG(end->status), end->message);
        }
        (void)snprintf(trial->outcome, sizeof trial->outcome, "killed");
        trial->kind = NTH_KILLED;
    } else if (status == 0) {
        if (trial->outcome[0] == '\0') {
            (void)snprintf(trial->outcome, sizeof trial->outcome, "success");
        }
    } else {
        generalise(instance, line, text, sizeof text);
        (void)snprintf(trial->outcome, sizeof trial->outcome, "%s: exit %d: %s", what, status, text);
        trial->kind = NTH_ERROR;
        if (!names_something(what, line)) {
            find(trial, "%s says not what failed: exit %d: '%s'", what, status, end->message);
        } else if (status == CALLER && !instance->may_blame) {
            find(trial, "%s blames its caller: exit %d: %s", what, status, end->message);
        } else if (!may_fail || status > STATUS_MOST) {
            find(trial, "%s failed%s: exit %d: %s", what, may_fail ? "" : " without a fault", status, end->message);
        }
    }
}

/* ---- the trial ---- */

/* The work, until it was done once after the fault: then it must succeed. */
static void
work(struct nth_trial *trial, struct nth_instance *instance, const struct nth_fault *fault, char *expected)
{
    const struct nth_scenario *scenario = instance->scenario;
    bool client = fault->process == NTH_CLIENT;
    bool lost = fault->messages; /* a message of theirs is said again when the process is another one */
    struct nth_end end;

    for (int round = 0; round < ROUNDS && trial->finding[0] == '\0'; round++) {
        bool before = nth_fired(instance);
        bool after;

        if (client && round == 0) {
            nth_arm(instance, trial->n);
        }
        nth_run(instance, scenario->work, client && round == 0, &end);
        after = nth_fired(instance);
        judge(trial, instance, scenario->work[0][0] == 't' ? "play" : scenario->work[0], &end, client && after,
              after && (!before || lost));
        if (!end.hung && end.status == 0 && !prints_as_expected(trial, instance, expected)) {
            find(trial, "%s printed something else", scenario->work[0]);
        }
        if (end.interrupted && lost) {
            lost = false;
            if (!client) {
                nth_kill(instance);
            }
            continue;
        }
        if (before || (!after && round > 0)) {
            break;
        }
        if (after && fault->sticky && !client) {
            nth_kill(instance); /* the next one is well */
        }
    }
}

/* Up, with what has to be there before the work. False: there is nothing to work with. */
static bool
begin(struct nth_trial *trial, struct nth_instance *instance, const struct nth_fault *fault)
{
    const struct nth_scenario *scenario = instance->scenario;
    bool daemon = fault->process != NTH_CLIENT;
    struct nth_end end;

    if (daemon && scenario->before == NULL) {
        nth_arm(instance, trial->n);
    }
    if (!nth_up(instance, &end)) {
        bool fired = nth_fired(instance);

        judge(trial, instance, "up", &end, fired && strcmp(fault->action, "kill") == 0, fired);
        if (!fired || trial->finding[0] != '\0') {
            return false;
        }
        if (!nth_up(instance, &end)) { /* the fault is over */
            judge(trial, instance, "second up", &end, false, false);
            return false;
        }
    }
    if (scenario->before == NULL) {
        return true;
    }
    nth_run(instance, scenario->before, false, &end);
    if (end.hung || end.status != 0) {
        judge(trial, instance, "preparation", &end, false, false);
        return false;
    }
    if (daemon) {
        nth_arm(instance, trial->n);
    }
    nth_kill(instance);
    return true;
}

static void
finish(struct nth_trial *trial, struct nth_instance *instance, const struct nth_fault *fault)
{
    bool before = nth_fired(instance);
    struct nth_end end;
    char text[1024];
    bool kills = strcmp(fault->action, "kill") == 0;

    if (nth_outcries(instance, text, sizeof text)[0] != '\0') {
        find(trial, "somebody cried: %s", text);
    }
    if (instance->store_broken) {
        find(trial, "the store cannot be started any more");
    }
    if (instance->store_signal != 0 && instance->store_signal != SIGKILL) {
        find(trial, "the store died of signal %d", instance->store_signal);
    }
    if (instance->refusal[0] != '\0') {
        if (!names_something("store", instance->refusal)) {
            find(trial, "the store says not why it does not start: '%s'", instance->refusal);
        }
        (void)snprintf(trial->outcome + strlen(trial->outcome), sizeof trial->outcome - strlen(trial->outcome),
                       "; the store had to be started twice");
    }
    if (!nth_down(instance, &end) &&
        (before || !nth_fired(instance) || end.hung || (WIFSIGNALED(end.status) && !kills))) {
        find(trial, "down: status %x: %s", (unsigned)end.status, end.message);
    }
    if (nth_fired(instance) && !before) {
        /* What failed at the end stays for the next one, who takes it along. */
        if (!nth_up(instance, &end) || !nth_down(instance, &end)) {
            find(trial, "up and down after a fault at the end: status %x: %s", (unsigned)end.status, end.message);
        }
    }
    if (nth_leftovers(instance, text, sizeof text)[0] != '\0') {
        find(trial, "left behind:\n%s", text);
    }
    if (nth_outcries(instance, text, sizeof text)[0] != '\0') {
        find(trial, "somebody cried: %s", text);
    }
    trial->fired = nth_fired(instance);
    trial->hits = nth_hits(instance);
}

void
nth_try(const struct nth_scenario *scenario, const struct nth_fault *fault, const char *bin, uint64_t n,
        char expected[static NTH_OUTPUT_MOST], struct nth_trial *ret_trial)
{
    struct nth_instance instance = {.bin = bin,
                                    .scenario = scenario,
                                    .process = fault->process,
                                    .impatient = fault->messages,
                                    .may_blame = may_blame(fault),
                                    .dies = fault->process == NTH_STORE && strcmp(fault->action, "kill") == 0};

    *ret_trial = (struct nth_trial){.n = n};
    if (!nth_directory_make(&instance)) {
        find(ret_trial, "no directory for the trial");
        return;
    }
    if (begin(ret_trial, &instance, fault)) {
        work(ret_trial, &instance, fault, expected);
    }
    finish(ret_trial, &instance, fault);
    gr_remove_tree(instance.directory);
}
