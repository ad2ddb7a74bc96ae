/* What GRANARY_FAULT says, as rules; and the table of points. */
#ifndef BASE_FAULT_RULES_H
#define BASE_FAULT_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault/points.h"
#include "granary/types.h"

struct gr_fault_info {
    const char *name;
    const char *text;
    unsigned processes; /* a set of enum gr_fault_process */
    unsigned actions;   /* a set of 1 << enum gr_fault_action */
};

const struct gr_fault_info *gr_fault_info(enum gr_fault_point point);
/* Whether it is not in this code, but libgranary-faults.so comes to it. */
bool gr_fault_is_call(int point);

const char *gr_fault_process_name(enum gr_fault_process process);
/* As GRANARY_FAULT has it. */
const char *gr_fault_action_name(enum gr_fault_action action);

enum gr_fault_when { GR_FAULT_ONCE, GR_FAULT_FROM, GR_FAULT_CHANCE };

struct gr_fault_rule {
    unsigned processes;
    int point; /* enum gr_fault_point, also one of those for rules */
    enum gr_fault_action action;
    enum gr_fault_when when;
    int error; /* errno */
    uint64_t delay_ns;
    uint64_t n; /* the time, from 1; or the chance, of 2^32 */
    _Atomic uint64_t hits;
};

#define GR_FAULT_RULES 16

struct gr_fault_rules {
    struct gr_fault_rule rules[GR_FAULT_RULES];
    size_t count;
};

/* Errors: EINVAL, with a message that quotes what makes no sense */
granary_err gr_fault_rules_parse(const char *text, struct gr_fault_rules *ret_rules);

/* Whether the rule is about this point, and the point knows its action. */
bool gr_fault_rule_is_about(const struct gr_fault_rule *rule, enum gr_fault_point point);

/* Whether it is time for the rule to come true, at the hit with this number. */
bool gr_fault_rule_is_due(const struct gr_fault_rule *rule, uint64_t hit, uint64_t seed);

#endif
