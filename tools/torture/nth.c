/* The n-th-failure run: options, the loop over n, and the report. */
#include "torture/nth.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault_rules.h"
#include "base/fd.h"
#include "spawn/spawn.h"
#include "torture/interrupt.h"
#include "torture/options.h"
#include "torture/torture.h"

#define OUTCOMES_MOST 256

enum { KEY_FIRST = 0x5000, KEY_LAST, KEY_STRIDE, KEY_STICKY, KEY_JSON, KEY_ERRNO, KEY_LIST };

struct outcome {
    char text[512];
    uint64_t count;
};

struct run {
    const char *scenario_name;
    struct nth_fault fault;
    const char *fail;
    const char *errnos;
    uint64_t first, last, stride;
    bool json;
    /* so far */
    uint64_t trials, findings;
    struct outcome outcomes[OUTCOMES_MOST];
    size_t outcome_count;
};

/* ---- the report ---- */

static void
count_outcome(struct run *run, const char *text)
{
    size_t i = 0;

    while (i < run->outcome_count && strcmp(run->outcomes[i].text, text) != 0) {
        i++;
    }
    if (i == OUTCOMES_MOST) {
        return;
    }
    if (i == run->outcome_count) {
        (void)snprintf(run->outcomes[i].text, sizeof run->outcomes[i].text, "%s", text);
        run->outcomes[i].count = 0;
        run->outcome_count++;
    }
    run->outcomes[i].count++;
}

static void
print_text(const char *text)
{
    (void)putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)printf("\\%c", *text);
        } else if ((unsigned char)*text < ' ') {
            (void)printf("\\u%04x", (unsigned)*text);
        } else {
            (void)putchar(*text);
        }
    }
    (void)putchar('"');
}

/* As soon as it is there: a run may take hours. */
static void
print_finding(const struct run *run, const struct nth_trial *trial)
{
    const char *errnos = run->fault.messages                            ? run->fault.action
                         : strncmp(run->fault.action, "errno=", 6) == 0 ? run->fault.action + 6
                                                                        : "";
    char command[512];

    (void)snprintf(command, sizeof command,
                   "granary torture nth --scenario %s --process %s --fail %s%s%s%s --first %" PRIu64 " --last %" PRIu64,
                   run->scenario_name, nth_process_names[run->fault.process], run->fail,
                   errnos[0] == '\0' ? "" : " --errno ", errnos, run->fault.sticky ? " --sticky" : "", trial->n,
                   trial->n);
    if (run->json) {
        (void)printf("{\"n\": %" PRIu64 ", \"finding\": ", trial->n);
        print_text(trial->finding);
        (void)printf(", \"command\": ");
        print_text(command);
        (void)printf("}\n");
    } else {
        (void)printf("FINDING at %" PRIu64 ": %s\n  again: %s\n", trial->n, trial->finding, command);
    }
    (void)fflush(stdout);
}

static void
print_outcomes(const struct run *run, uint64_t n)
{
    if (run->json) {
        (void)printf("{\"scenario\": \"%s\", \"process\": \"%s\", \"point\": \"%s\", \"action\": \"%s\", \"trials\": "
                     "%" PRIu64 ", \"ended_at\": %" PRIu64 ", \"findings\": %" PRIu64 ", \"outcomes\": {",
                     run->scenario_name, nth_process_names[run->fault.process], run->fault.point, run->fault.action,
                     run->trials, n, run->findings);
        for (size_t i = 0; i < run->outcome_count; i++) {
            (void)printf(i == 0 ? "" : ", ");
            print_text(run->outcomes[i].text);
            (void)printf(": %" PRIu64, run->outcomes[i].count);
        }
        (void)printf("}}\n");
        return;
    }
    (void)printf("%s, %s, %s %s: %" PRIu64 " trials up to %" PRIu64 ", %" PRIu64 " findings\n", run->scenario_name,
                 nth_process_names[run->fault.process], run->fault.point, run->fault.action, run->trials, n,
                 run->findings);
    for (size_t i = 0; i < run->outcome_count; i++) {
        (void)printf("%8" PRIu64 "  %s\n", run->outcomes[i].count, run->outcomes[i].text);
    }
}

/* ---- the run ---- */

/* Whether a process would take such a fault; said on stderr. */
static bool
is_known(const struct nth_fault *fault)
{
    static struct gr_fault_rules rules;
    char text[256];

    (void)snprintf(text, sizeof text, "%s:%s@1", fault->point, fault->action);
    if (gr_fault_rules_parse(text, &rules) != GRANARY_OK) {
        (void)fprintf(stderr, "granary: torture nth: %s\n", granary_error_message());
        return false;
    }
    return true;
}

/* One fault, for every n until it does not happen any more. False: not even the calm trial went well. */
static bool
sweep(struct run *run, const struct nth_scenario *scenario)
{
    static char expected[NTH_OUTPUT_MOST];
    struct nth_trial trial;
    uint64_t n = run->first;
    char bin[96];

    run->trials = run->findings = run->outcome_count = 0;
    if (!nth_programs_make(&run->fault, bin)) {
        return false;
    }
    nth_try(scenario, &run->fault, bin, 0, expected, &trial);
    if (trial.finding[0] != '\0') {
        (void)fprintf(stderr, "granary: torture nth: %s fails without any fault: %s\n", run->scenario_name,
                      trial.finding);
        gr_remove_tree(bin);
        return false;
    }
    for (; n <= run->last && !interrupted(); n += run->stride) {
        nth_try(scenario, &run->fault, bin, n, expected, &trial);
        if (trial.finding[0] != '\0') {
            run->findings++;
            print_finding(run, &trial);
        }
        if (!trial.fired) {
            break;
        }
        run->trials++;
        count_outcome(run, trial.outcome);
    }
    gr_remove_tree(bin);
    print_outcomes(run, n);
    return true;
}

static int
run_all(struct run *run, const struct nth_scenario *scenario)
{
    char *errnos = strdup(run->errnos);
    char action[64];
    char *rest = NULL;
    int status = 0;

    for (char *name = errnos == NULL ? NULL : strtok_r(errnos, ",", &rest); name != NULL && !interrupted();
         name = strtok_r(NULL, ",", &rest)) {
        if (strcmp(run->fail, "kill") == 0) {
            run->fault.action = "kill";
        } else if (run->fault.messages) {
            run->fault.action = name;
        } else if (strcmp(name, "short") == 0 || strcmp(name, "kill") == 0) {
            run->fault.action = name;
        } else {
            (void)snprintf(action, sizeof action, "errno=%s", name);
            run->fault.action = action;
        }
        if (!is_known(&run->fault)) {
            status = granary_error_exit_status(GRANARY_EINVAL);
            break;
        }
        if (!sweep(run, scenario)) {
            status = 1;
            break;
        }
        status = run->findings > 0 ? 1 : status;
        if (strcmp(run->fail, "kill") == 0) {
            break;
        }
    }
    free(errnos);
    return status;
}

/* ---- options ---- */

static enum nth_process
parse_process(const char *text, struct argp_state *state)
{
    for (int i = NTH_CLIENT; i <= NTH_EXECUTOR; i++) {
        if (strcmp(text, nth_process_names[i]) == 0) {
            return (enum nth_process)i;
        }
    }
    argp_error(state, "--process %s: client, store, sched or executor is expected", text);
    return NTH_CLIENT;
}

static void
settle(struct run *run, struct argp_state *state)
{
    run->fault.traced = strcmp(run->fail, "kill") == 0;
    if (strcmp(run->fail, "alloc") == 0) {
        run->fault.point = "alloc.any";
        run->errnos = run->errnos == NULL ? "ENOMEM" : run->errnos;
    } else if (strcmp(run->fail, "kill") == 0 || strcmp(run->fail, "call") == 0) {
        run->fault.point = "call.any";
    } else if (strncmp(run->fail, "call.", 5) == 0) {
        run->fault.point = run->fail;
    } else if (strcmp(run->fail, "message") == 0) {
        run->fault.messages = true;
        run->fault.point = "any"; /* nothing else can be dropped, and here nothing else comes that can be damaged */
        run->errnos = run->errnos == NULL ? "drop" : run->errnos;
    } else {
        argp_error(state, "--fail %s: kill, call, call.NAME, alloc or message is expected", run->fail);
    }
    run->errnos = run->errnos == NULL ? "EIO" : run->errnos;
}

static error_t
parse(int key, char *text, struct argp_state *state)
{
    struct run *run = state->input;

    switch (key) {
    case 's':
        run->scenario_name = text;
        return 0;
    case 'p':
        run->fault.process = parse_process(text, state);
        return 0;
    case 'f':
        run->fail = text;
        return 0;
    case KEY_ERRNO:
        run->errnos = text;
        return 0;
    case KEY_FIRST:
        run->first = options_number(text, 1, UINT64_MAX / 2, state);
        return 0;
    case KEY_LAST:
        run->last = options_number(text, 1, UINT64_MAX / 2, state);
        return 0;
    case KEY_STRIDE:
        run->stride = options_number(text, 1, UINT64_MAX / 4, state);
        return 0;
    case KEY_STICKY:
        run->fault.sticky = true;
        return 0;
    case KEY_JSON:
        run->json = true;
        return 0;
    case KEY_LIST:
        nth_scenarios_print();
        exit(0);
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", text);
        return 0;
    case ARGP_KEY_END:
        if (run->last < run->first) {
            argp_error(state, "--last comes before --first");
        }
        settle(run, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int
torture_nth(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"scenario", 's', "NAME", 0, "what is done under the fault; default: put_get. --list tells all", 0},
        {"process", 'p', "KIND", 0, "whose fault: client, store, sched or executor; default: store", 0},
        {"fail", 'f', "WHAT", 0,
         "kill (kill -9 at a system call), call or call.NAME (a system call fails), alloc (an allocation fails), "
         "message (one between scheduler, executors and clients is lost: who waits for its answer is interrupted); "
         "default: kill",
         0},
        {"errno", KEY_ERRNO, "NAME,...", 0,
         "how calls fail, one after the other: names of errors, 'short' (half of what was asked for), or 'kill'; "
         "of messages: 'drop' or 'corrupt'; default: EIO, drop",
         0},
        {"first", KEY_FIRST, "N", 0, "begin with the N-th; default: 1", 0},
        {"last", KEY_LAST, "N", 0, "end with the N-th; default: when the fault does not happen any more", 0},
        {"stride", KEY_STRIDE, "K", 0, "every K-th; default: 1", 0},
        {"sticky", KEY_STICKY, NULL, 0, "the n-th and all that follow", 0},
        {"json", KEY_JSON, NULL, 0, "print JSON, an object a line", 0},
        {"list", KEY_LIST, NULL, 0, "list the scenarios", 0},
        {0},
    };
    static const struct argp parser = {
        list,
        parse,
        NULL,
        "Let one thing fail in one process of a private instance: the first, the second, ... until all have had their "
        "turn. Each time the work must succeed or end with an error that says why, the instance must serve on, and "
        "leave nothing behind. Exit status 1 if anything else was found.",
        NULL,
        NULL,
        NULL};
    static char name[] = "granary torture nth";
    static struct run run;
    const struct nth_scenario *scenario;

    if (argc > 1 && strcmp(argv[1], "play") == 0) {
        return nth_play(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "trace") == 0) {
        return nth_trace(argc - 1, argv + 1);
    }
    run = (struct run){.scenario_name = "put_get",
                       .fault = {.process = NTH_STORE},
                       .fail = "kill",
                       .first = 1,
                       .last = UINT64_MAX / 2,
                       .stride = 1};
    argv[0] = name;
    argp_err_exit_status = granary_error_exit_status(GRANARY_EINVAL);
    (void)argp_parse(&parser, argc, argv, 0, NULL, &run);
    scenario = nth_scenario_find(run.scenario_name, run.fault.process);
    if (scenario == NULL) {
        (void)fprintf(stderr, "granary: torture nth: no scenario '%s' in which '%s' takes part: --list tells all\n",
                      run.scenario_name, nth_process_names[run.fault.process]);
        return granary_error_exit_status(GRANARY_ENOENT);
    }
    if (run.fault.traced &&
        !spawn_granary((const char *const[]){"torture", "nth", "trace", "0", "/dev/null", "/bin/true", NULL})) {
        return granary_error_exit_status(GRANARY_EPERM); /* said by it */
    }
    interrupt_catch();
    return run_all(&run, scenario);
}
