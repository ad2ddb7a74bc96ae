/* The parser of GRANARY_FAULT, and when a rule is due. */
#include "base/fault/rules.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/text/duration.h"

/* Names of processes in contract/faults.def. */
#define STORE    GR_FAULT_STORE
#define SCHED    GR_FAULT_SCHED
#define EXECUTOR GR_FAULT_EXECUTOR
#define CLIENT   GR_FAULT_CLIENT
#define CLI      GR_FAULT_CLI
#define USERS    (CLIENT | CLI | EXECUTOR)
#define ANY      (STORE | SCHED | USERS)

#define CAN(action) (1u << GR_FAULT_##action)
#define CAN_STEP    (CAN(KILL) | CAN(DELAY))
#define CAN_ACT     (CAN_STEP | CAN(ERRNO))
#define CAN_PART    (CAN_ACT | CAN(SHORT))
#define CAN_WHOLE   (CAN_ACT | CAN(CORRUPT))
#define CAN_BYTES   (CAN_PART | CAN(CORRUPT))
#define CAN_COME    (CAN_STEP | CAN(DROP) | CAN(CORRUPT))
#define CAN_SEND    (CAN_COME | CAN(ERRNO))

static const struct gr_fault_info points[GR_FAULT_POINTS] = {
#define POINT(processes_, kind, id, name_, text_)                                                                      \
    {.name = (name_), .text = (text_), .processes = (processes_), .actions = CAN_##kind},
#include "base/fault/table.h"
#undef POINT
};

static const char *const process_names[] = {"store", "sched", "executor", "client", "cli"};
static const char *const action_names[GR_FAULT_ACTIONS] = {
    [GR_FAULT_NOTHING] = "nothing", [GR_FAULT_KILL] = "kill",   [GR_FAULT_DELAY] = "delay",
    [GR_FAULT_ERRNO] = "errno",     [GR_FAULT_SHORT] = "short", [GR_FAULT_CORRUPT] = "corrupt",
    [GR_FAULT_DROP] = "drop",
};

#define TELL_LIST "`granary faults` lists what there is"

const struct gr_fault_info *
gr_fault_info(enum gr_fault_point point)
{
    return &points[point];
}

const char *
gr_fault_process_name(enum gr_fault_process process)
{
    return process_names[__builtin_ctz(process)];
}

const char *
gr_fault_action_name(enum gr_fault_action action)
{
    return action_names[action];
}

bool
gr_fault_is_call(int point)
{
    return point == GR_FAULT_call_any || (point < GR_FAULT_POINTS && strchr(points[point].name, '.') != NULL);
}

/* ---- reading ---- */

static granary_err
parse_process(char **text, unsigned *ret_processes)
{
    char *slash = strchr(*text, '/');

    *ret_processes = ANY;
    if (slash == NULL) {
        return GRANARY_OK;
    }
    *slash = '\0';
    for (unsigned i = 0; i < sizeof process_names / sizeof process_names[0]; i++) {
        if (strcmp(*text, process_names[i]) == 0) {
            *ret_processes = 1u << i;
            *text = slash + 1;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL, "'%s' is no process: store, sched, executor, client or cli", *text);
}

static granary_err
parse_point(const char *text, struct gr_fault_rule *rule)
{
    if (strcmp(text, "any") == 0) {
        rule->point = GR_FAULT_any;
        return GRANARY_OK;
    }
    if (strcmp(text, "call.any") == 0) {
        rule->point = GR_FAULT_call_any;
        return GRANARY_OK;
    }
    for (int i = 0; i < GR_FAULT_POINTS; i++) {
        if (strcmp(text, points[i].name) == 0) {
            rule->point = i;
            return (points[i].processes & rule->processes) != 0
                       ? GRANARY_OK
                       : gr_fail(GRANARY_EINVAL, "'%s' is no point of that process: " TELL_LIST, text);
        }
    }
    return gr_fail(GRANARY_EINVAL, "'%s' is no point: " TELL_LIST, text);
}

static granary_err
parse_errno(const char *text, int *ret_error)
{
    for (int error = 1; error < 200; error++) {
        const char *name = strerrorname_np(error);

        if (name != NULL && strcmp(text, name) == 0) {
            *ret_error = error;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL, "'%s' is no error's name: EIO, ENOSPC, ENOMEM, ...", text);
}

/* Whether some point that the rule is about knows its action. */
static bool
is_known(const struct gr_fault_rule *rule)
{
    for (int i = 0; i < GR_FAULT_POINTS; i++) {
        if (gr_fault_rule_is_about(rule, (enum gr_fault_point)i)) {
            return true;
        }
    }
    return false;
}

static granary_err
parse_action(char *text, struct gr_fault_rule *rule)
{
    char *value = strchr(text, '=');
    bool valued;

    if (value != NULL) {
        *value++ = '\0';
    }
    for (int i = GR_FAULT_KILL; i < GR_FAULT_ACTIONS; i++) {
        if (strcmp(text, action_names[i]) == 0) {
            rule->action = (enum gr_fault_action)i;
        }
    }
    if (rule->action == GR_FAULT_NOTHING) {
        return gr_fail(GRANARY_EINVAL, "'%s' is no action: kill, delay=DURATION, errno=NAME, short, corrupt or drop",
                       text);
    }
    valued = rule->action == GR_FAULT_DELAY || rule->action == GR_FAULT_ERRNO;
    if (valued != (value != NULL)) {
        return gr_fail(GRANARY_EINVAL, valued ? "%s wants a value: delay=DURATION, errno=NAME" : "%s takes no value",
                       text);
    }
    if (!is_known(rule)) {
        return gr_fail(GRANARY_EINVAL, "it does not know '%s': " TELL_LIST, text);
    }
    return !valued                          ? GRANARY_OK
           : rule->action == GR_FAULT_DELAY ? gr_duration_parse(value, &rule->delay_ns)
                                            : parse_errno(value, &rule->error);
}

static granary_err
parse_when(const char *text, struct gr_fault_rule *rule)
{
    char *end;
    double number;

    errno = 0;
    number = strtod(text, &end);
    if (!isdigit((unsigned char)text[0]) || errno != 0 || strpbrk(text, "xXeEpP") != NULL) {
        return gr_fail(GRANARY_EINVAL, "'%s' is no time: N, N+ or N%%", text);
    }
    if (strcmp(end, "%") == 0 && number <= 100) {
        rule->when = GR_FAULT_CHANCE;
        rule->n = (uint64_t)(number / 100 * 0x1p32);
        return GRANARY_OK;
    }
    rule->when = strcmp(end, "+") == 0 ? GR_FAULT_FROM : GR_FAULT_ONCE;
    rule->n = number < 0x1p53 ? (uint64_t)number : 0;
    return rule->n >= 1 && strchr(text, '.') == NULL && (*end == '\0' || rule->when == GR_FAULT_FROM)
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "'%s' is no time: N, N+ or N%%, N from 1", text);
}

/* The text is cut up. */
static granary_err
parse_rule(char *text, struct gr_fault_rule *rule)
{
    granary_err err = parse_process(&text, &rule->processes);
    char *colon = strchr(text, ':');
    char *at = strrchr(text, '@');

    if (err != GRANARY_OK) {
        return err;
    }
    if (colon == NULL || at == NULL || at < colon) {
        return gr_fail(GRANARY_EINVAL, "it should be [PROCESS/]POINT:ACTION@WHEN: " TELL_LIST);
    }
    *colon = *at = '\0';
    err = parse_point(text, rule);
    if (err == GRANARY_OK) {
        err = parse_action(colon + 1, rule);
    }
    return err == GRANARY_OK ? parse_when(at + 1, rule) : err;
}

granary_err
gr_fault_rules_parse(const char *text, struct gr_fault_rules *ret_rules)
{
    char *copy = strdup(text);
    char *rest = copy;
    char *item;
    granary_err err = GRANARY_OK;

    memset(ret_rules, 0, sizeof *ret_rules);
    if (copy == NULL) {
        return gr_fail(GRANARY_ENOMEM, "GRANARY_FAULT: out of memory");
    }
    while (err == GRANARY_OK && (item = strsep(&rest, ";")) != NULL) {
        size_t offset = (size_t)(item - copy);
        int length = (int)strcspn(item, ";");

        if (*item == '\0') {
            continue;
        }
        if (ret_rules->count == GR_FAULT_RULES) {
            err = gr_fail(GRANARY_EFULL, "more than %d faults", GR_FAULT_RULES);
        } else {
            err = parse_rule(item, &ret_rules->rules[ret_rules->count]);
        }
        if (err != GRANARY_OK) {
            err = gr_fail_in(GRANARY_EINVAL, "GRANARY_FAULT: %.*s", length, text + offset);
        }
        ret_rules->count++;
    }
    free(copy);
    return err;
}

/* ---- being asked ---- */

bool
gr_fault_rule_is_about(const struct gr_fault_rule *rule, enum gr_fault_point point)
{
    bool named = rule->point == (int)point || (rule->point == GR_FAULT_any && !gr_fault_is_call((int)point)) ||
                 (rule->point == GR_FAULT_call_any && strncmp(points[point].name, "call.", 5) == 0);

    return named && (points[point].actions >> rule->action & 1) != 0 &&
           (points[point].processes & rule->processes) != 0;
}

/* Any seed and number give a number of their own. */
static uint64_t
scatter(uint64_t x)
{
    return gr_mix64(x + 0x9e3779b97f4a7c15u);
}

bool
gr_fault_rule_is_due(const struct gr_fault_rule *rule, uint64_t hit, uint64_t seed)
{
    switch (rule->when) {
    case GR_FAULT_ONCE:
        return hit == rule->n;
    case GR_FAULT_FROM:
        return hit >= rule->n;
    case GR_FAULT_CHANCE:
    default:
        return scatter(scatter(seed) + hit) >> 32 < rule->n;
    }
}
