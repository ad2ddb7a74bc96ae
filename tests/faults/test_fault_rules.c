/* GRANARY_FAULT as text: what it means, and what is refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/fault/rules.h"
#include "granary/types.h"

static void
text_becomes_rules(void **state)
{
    struct gr_fault_rules rules;

    (void)state;
    assert_int_equal(gr_fault_rules_parse("", &rules), GRANARY_OK);
    assert_int_equal(rules.count, 0);
    assert_int_equal(gr_fault_rules_parse("store/any:kill@17;segment_created:delay=1.5ms@3+;;sched/"
                                          "call.any:errno=ENOSPC@0.5%;alloc.any:errno=ENOMEM@1",
                                          &rules),
                     GRANARY_OK);
    assert_int_equal(rules.count, 4);
    assert_int_equal(rules.rules[0].processes, GR_FAULT_STORE);
    assert_int_equal(rules.rules[0].point, GR_FAULT_any);
    assert_int_equal(rules.rules[0].action, GR_FAULT_KILL);
    assert_int_equal(rules.rules[0].when, GR_FAULT_ONCE);
    assert_int_equal(rules.rules[0].n, 17);
    assert_int_equal(rules.rules[1].point, GR_FAULT_segment_created);
    assert_int_equal(rules.rules[1].when, GR_FAULT_FROM);
    assert_int_equal(rules.rules[1].delay_ns, 1500000);
    assert_int_equal(rules.rules[2].processes, GR_FAULT_SCHED);
    assert_int_equal(rules.rules[2].error, ENOSPC);
    assert_int_equal(rules.rules[2].when, GR_FAULT_CHANCE);
    assert_int_equal(rules.rules[3].error, ENOMEM);
}

static void
nonsense_is_named(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"kill", "POINT:ACTION@WHEN"},
        {"any:kill", "POINT:ACTION@WHEN"},
        {"any@1:kill", "POINT:ACTION@WHEN"},
        {"any:kill@1;nowhere:kill@1", "nowhere:kill@1: 'nowhere' is no point: `granary faults`"},
        {"index2:kill@1", "'index2' is no point"},
        {"stor/any:kill@1", "'stor' is no process"},
        {"sched/segment_created:kill@1", "no point of that process"},
        {"any:explode@1", "'explode' is no action"},
        {"any:nothing@1", "'nothing' is no action"},
        {"segment_created:corrupt@1", "does not know 'corrupt': `granary faults`"},
        {"any:kill=9@1", "takes no value"},
        {"any:delay@1", "wants a value"},
        {"any:delay=soon@1", "'soon' is no duration"},
        {"alloc.any:errno=EWHAT@1", "'EWHAT' is no error's name"},
        {"any:kill@0", "N from 1"},
        {"any:kill@-1", "'-1' is no time"},
        {"any:kill@", "'' is no time"},
        {"any:kill@1.5", "N from 1"},
        {"any:kill@2x", "'2x' is no time"},
        {"any:kill@0x2", "'0x2' is no time"},
        {"any:kill@101%", "'101%' is no time"},
        {"any:kill@1;any:kill@1;any:kill@1;any:kill@1;any:kill@1;any:kill@1;any:kill@1;any:kill@1;any:kill@1;"
         "any:kill@1;any:kill@1;any:kill@1;any:kill@1;any:kill@1;any:kill@1;any:kill@1;any:kill@1",
         "more than 16"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_fault_rules rules;

        if (gr_fault_rules_parse(cases[i].text, &rules) != GRANARY_EINVAL ||
            strncmp(granary_error_message(), "GRANARY_FAULT: ", 15) != 0 ||
            strstr(granary_error_message(), cases[i].words) == NULL) {
            fail_msg("%s: %s", cases[i].text, granary_error_message());
        }
    }
}

static unsigned
times_due(const struct gr_fault_rule *rule, uint64_t seed)
{
    unsigned times = 0;

    for (uint64_t hit = 1; hit <= 10000; hit++) {
        times += gr_fault_rule_is_due(rule, hit, seed);
    }
    return times;
}

static void
rules_come_true_when_they_say(void **state)
{
    struct gr_fault_rules rules;
    bool differ = false;

    (void)state;
    assert_int_equal(gr_fault_rules_parse("any:kill@7;any:kill@7+;any:kill@10%;any:kill@0%;any:kill@100%", &rules),
                     GRANARY_OK);
    assert_int_equal(times_due(&rules.rules[0], 1), 1);
    assert_true(gr_fault_rule_is_due(&rules.rules[0], 7, 1));
    assert_int_equal(times_due(&rules.rules[1], 1), 10000 - 6);
    assert_in_range(times_due(&rules.rules[2], 1), 900, 1100);
    assert_int_equal(times_due(&rules.rules[3], 1), 0);
    assert_int_equal(times_due(&rules.rules[4], 1), 10000);
    for (uint64_t hit = 1; hit <= 100; hit++) {
        assert_int_equal(gr_fault_rule_is_due(&rules.rules[2], hit, 5), gr_fault_rule_is_due(&rules.rules[2], hit, 5));
        differ |= gr_fault_rule_is_due(&rules.rules[2], hit, 5) != gr_fault_rule_is_due(&rules.rules[2], hit, 6);
    }
    assert_true(differ);
}

static void
any_is_what_knows_the_action(void **state)
{
    struct gr_fault_rules rules;

    (void)state;
    assert_int_equal(gr_fault_rules_parse("any:kill@1;call.any:errno=EIO@1;call.any:short@1", &rules), GRANARY_OK);
    assert_true(gr_fault_rule_is_about(&rules.rules[0], GR_FAULT_segment_created));
    assert_false(gr_fault_rule_is_about(&rules.rules[0], GR_FAULT_call_read));
    assert_false(gr_fault_rule_is_about(&rules.rules[0], GR_FAULT_alloc_any));
    assert_true(gr_fault_rule_is_about(&rules.rules[1], GR_FAULT_call_open));
    assert_false(gr_fault_rule_is_about(&rules.rules[1], GR_FAULT_alloc_any));
    assert_false(gr_fault_rule_is_about(&rules.rules[1], GR_FAULT_segment_created));
    assert_true(gr_fault_rule_is_about(&rules.rules[2], GR_FAULT_call_read));
    assert_false(gr_fault_rule_is_about(&rules.rules[2], GR_FAULT_call_open));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_rules),
        cmocka_unit_test(nonsense_is_named),
        cmocka_unit_test(rules_come_true_when_they_say),
        cmocka_unit_test(any_is_what_knows_the_action),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
