/* The n-th-failure run: options, which rows there are, and the loop over n. */
#include "torture/nth/nth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault/rules.h"
#include "base/fd.h"
#include "options/options.h"
#include "spawn/spawn.h"
#include "torture/common/interrupt.h"
#include "torture/torture.h"

/* Of several rows so many trials each, spread over all n: everything would take days. */
#define EACH 10
#define LAST (UINT64_MAX / 2)

struct run {
    /* NULL, -1: all of them */
    const char *scenario;
    const char *fail;
    const char *errnos;
    int process;
    uint64_t first, last;
    uint64_t stride, each; /* 0: not said */
    bool list;
    bool sticky, json;
    /* so far */
    FILE *table;
    struct nth_row row;
    size_t rows;
    int status;
};

/* ---- one row ---- */

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

/* Every one, or so that there are as many as were asked for. */
static uint64_t
stride_of(const struct run *run)
{
    if (run->each > 0 && run->row.hits > run->each) {
        return (run->row.hits + run->each - 1) / run->each;
    }
    return run->stride > 0 ? run->stride : 1;
}

/* One fault, for n after n until it does not happen any more. Where the calm trial goes wrong no other is tried. */
static void
sweep(struct run *run, const struct nth_scenario *scenario)
{
    static char expected[NTH_OUTPUT_MOST];
    struct nth_row *row = &run->row;
    struct nth_trial trial;
    uint64_t n = run->first, stride;
    bool more;
    char bin[96];

    if (!nth_programs_make(&row->fault, bin)) {
        run->status = 1;
        return;
    }
    nth_try(scenario, &row->fault, bin, 0, expected, &trial);
    row->hits = trial.hits;
    stride = stride_of(run);
    more = trial.finding[0] == '\0';
    if (!more) {
        (void)fprintf(stderr, "granary: torture nth: %s fails without any fault: %s\n", row->scenario, trial.finding);
        row->findings++;
    }
    while (more && n <= run->last && !interrupted()) {
        nth_try(scenario, &row->fault, bin, n, expected, &trial);
        nth_row_count(row, &trial);
        more = trial.fired;
        if (run->each > 0 && row->trials % run->each == 0) {
            stride *= 2; /* there are more than the calm one told: who is killed at the end tells of none */
        }
        n += more ? stride : 0;
    }
    gr_remove_tree(bin);
    nth_row_print(row, n);
    nth_table_add(run->table, row);
    run->rows++;
    run->status = row->findings > 0 ? 1 : run->status;
}

/* ---- which there are ---- */

static bool
is_all(const struct run *run)
{
    return run->scenario == NULL || run->process < 0 || run->fail == NULL;
}

/* How it fails, one after the other. */
static const char *
actions_of(const struct run *run, const struct nth_fault *fault)
{
    if (fault->traced) {
        return "kill";
    }
    if (run->errnos != NULL && run->fail != NULL) {
        return run->errnos;
    }
    if (fault->messages) {
        return "drop,corrupt";
    }
    if (strcmp(fault->point, "alloc.any") == 0) {
        return "ENOMEM";
    }
    return run->errnos != NULL ? run->errnos : run->fail != NULL ? "EIO" : "EIO,ENOSPC,ENOMEM,EINTR,short";
}

/* Those of one failure. False: there is no going on. */
static bool
run_fail(struct run *run, const struct nth_scenario *scenario, const struct nth_fault *fault, const char *fail)
{
    char *names = strdup(actions_of(run, fault));
    char action[64];
    char *rest = NULL;
    bool good = names != NULL;

    for (char *name = good ? strtok_r(names, ",", &rest) : NULL; good && name != NULL && !interrupted();
         name = strtok_r(NULL, ",", &rest)) {
        bool plain = fault->messages || strcmp(name, "short") == 0 || strcmp(name, "kill") == 0;

        (void)snprintf(action, sizeof action, "%s%s", plain ? "" : "errno=", name);
        run->row = (struct nth_row){.scenario = scenario->name, .fail = fail, .fault = *fault, .json = run->json};
        run->row.fault.action = action;
        if (!is_known(&run->row.fault)) {
            run->status = granary_error_exit_status(GRANARY_EINVAL);
            good = false;
        } else {
            sweep(run, scenario);
        }
    }
    run->row.fault.action = NULL;
    free(names);
    return good;
}

/* Those of one process in a scenario. */
static bool
run_process(struct run *run, const struct nth_scenario *scenario, enum nth_process process)
{
    static const char *const fails[] = {"kill", "call", "alloc", "message"};

    for (size_t i = 0; i < sizeof fails / sizeof fails[0] && !interrupted(); i++) {
        const char *fail = run->fail == NULL ? fails[i] : run->fail;
        struct nth_fault fault = {.process = process,
                                  .point = strncmp(fail, "call.", 5) == 0 ? fail : "call.any",
                                  .traced = strcmp(fail, "kill") == 0,
                                  .messages = strcmp(fail, "message") == 0,
                                  .sticky = run->sticky};

        if (fault.messages) {
            fault.point = "any"; /* nothing else can be dropped, and here nothing else comes that can be damaged */
        } else if (strcmp(fail, "alloc") == 0) {
            fault.point = "alloc.any";
        }
        if (fault.messages && is_all(run) && (!scenario->whole || process == NTH_STORE)) {
            continue; /* it says none of those */
        }
        if (strcmp(fail, "alloc") == 0 && is_all(run) && process == NTH_CLIENT &&
            strcmp(scenario->work[0], "sql") == 0) {
            continue; /* libpg_query does not look whether it got memory: then it ends the statement's process */
        }
        if (!run_fail(run, scenario, &fault, fail)) {
            return false;
        }
        if (run->fail != NULL) {
            break;
        }
    }
    return true;
}

static void
run_all(struct run *run)
{
    const char *name;

    for (size_t i = 0; (name = nth_scenario_name(i)) != NULL; i++) {
        for (int process = NTH_CLIENT; process <= NTH_EXECUTOR; process++) {
            const struct nth_scenario *scenario = nth_scenario_find(name, (enum nth_process)process);

            if (scenario != NULL && (run->scenario == NULL || strcmp(run->scenario, name) == 0) &&
                (run->process < 0 || run->process == process) &&
                !run_process(run, scenario, (enum nth_process)process)) {
                return;
            }
        }
    }
}

/* ---- options ---- */

static granary_err
take_process(void *target, char *text)
{
    struct run *run = target;

    for (int i = NTH_CLIENT; i <= NTH_EXECUTOR; i++) {
        if (strcmp(text, nth_process_names[i]) == 0) {
            run->process = i;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL, "%s: client, store, sched or executor is expected", text);
}

static granary_err
take_fail(void *target, char *text)
{
    static const char *const fails[] = {"kill", "call", "alloc", "message"};
    bool known = strncmp(text, "call.", 5) == 0;

    for (size_t i = 0; i < sizeof fails / sizeof fails[0]; i++) {
        known = known || strcmp(text, fails[i]) == 0;
    }
    ((struct run *)target)->fail = text;
    return known ? GRANARY_OK
                 : gr_fail(GRANARY_EINVAL, "%s: kill, call, call.NAME, alloc or message is expected", text);
}

static granary_err
check_range(struct cli *cli)
{
    struct run *run = cli->self;

    if (run->stride == 0 && run->each == 0 && run->last == LAST && is_all(run)) {
        run->each = EACH;
    }
    return run->last < run->first ? gr_fail(GRANARY_EINVAL, "--last comes before --first") : GRANARY_OK;
}

static int
run_nth(struct cli *cli)
{
    struct run *run = cli->self;
    char *table = NULL;
    size_t size;

    if (run->list) {
        nth_scenarios_print();
        return 0;
    }
    if ((run->fail == NULL || strcmp(run->fail, "kill") == 0) &&
        !spawn_granary((const char *const[]){"torture", "nth", "trace", "0", "/dev/null", "/bin/true", NULL})) {
        return granary_error_exit_status(GRANARY_EPERM); /* said by it */
    }
    run->table = open_memstream(&table, &size);
    if (run->table == NULL) {
        perror("granary: torture nth");
        return granary_error_exit_status(GRANARY_ENOMEM);
    }
    interrupt_catch();
    nth_table_head(run->table);
    run_all(run);
    (void)fclose(run->table);
    if (run->rows > 1 && !run->json) {
        (void)printf("\n%s", table);
    }
    free(table);
    if (run->rows == 0 && run->status == 0 && !interrupted()) {
        (void)fprintf(stderr, "granary: torture nth: nothing like '%s' with '%s' in it and '%s': --list tells all\n",
                      run->scenario == NULL ? "any scenario" : run->scenario,
                      run->process < 0 ? "any process" : nth_process_names[run->process],
                      run->fail == NULL ? "any failure" : run->fail);
        return granary_error_exit_status(GRANARY_ENOENT);
    }
    return run->status;
}

static const struct gr_option list[] = {
    {"scenario", 's', "NAME", "what is done under the fault; default: all, which --list tells",
     GR_OPTION_TEXT(struct run, scenario)},
    {"process", 'p', "KIND", "whose fault: client, store, sched or executor; default: all",
     GR_OPTION_TAKE(take_process)},
    {"fail", 'f', "WHAT",
     "kill (kill -9 at a system call), call or call.NAME (a system call fails), alloc (an allocation fails), "
     "message (one between scheduler, executors and clients is lost: who waits for its answer is interrupted); "
     "default: all",
     GR_OPTION_TAKE(take_fail)},
    {"errno", 0, "NAME,...",
     "how calls fail, one after the other: names of errors, 'short' (half of what was asked for), or 'kill'; "
     "of messages: 'drop' or 'corrupt'; default: EIO; drop,corrupt; of everything: several",
     GR_OPTION_TEXT(struct run, errnos)},
    {"first", 0, "N", "begin with the N-th; default: 1", GR_OPTION_NUMBER(struct run, first, 1, UINT64_MAX / 2)},
    {"last", 0, "N", "end with the N-th; default: when the fault does not happen any more",
     GR_OPTION_NUMBER(struct run, last, 1, UINT64_MAX / 2)},
    {"stride", 0, "K", "every K-th; default: 1", GR_OPTION_NUMBER(struct run, stride, 1, UINT64_MAX / 4)},
    {"each", 0, "N",
     "of each scenario, process and failure so many, spread over all n; default where scenario, process or failure "
     "are not said: 10",
     GR_OPTION_NUMBER(struct run, each, 1, UINT64_MAX / 4)},
    {"sticky", 0, NULL, "the n-th and all that follow", GR_OPTION_FLAG(struct run, sticky)},
    {"json", 0, NULL, "print JSON, an object a line", GR_OPTION_FLAG(struct run, json)},
    {"list", 0, NULL, "list the scenarios", GR_OPTION_FLAG(struct run, list)},
    {0}};

/* What trials run. */
static const struct command play = {.program = nth_play};
static const struct command trace = {.program = nth_trace};
static const struct command_row rows[] = {{"play", .command = &play}, {"trace", .command = &trace}, {0}};

const struct command torture_nth = {.options = list,
                                    COMMAND_SELF(struct run, .process = -1, .first = 1, .last = LAST),
                                    .alone = true,
                                    .check = check_range,
                                    .run = run_nth,
                                    .rows = rows};
