/* Random joins of filtered and renamed tables on the real kernels: whichever rules are left out, a target is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "optimize/optimize.h"
#include "runner.h"

#define COLUMNS_MAX 24
#define GRAPHS      150

/* A node so far, and its columns, all of int64. */
struct made {
    char node[8];
    char names[COLUMNS_MAX][16];
    int count;
};

struct maker {
    unsigned seed;
    int nodes;
    struct gr_buf json;
};

static int
roll(struct maker *maker, int sides)
{
    return rand_r(&maker->seed) % sides;
}

static const char *
any_column(struct maker *maker, const struct made *made)
{
    return made->names[roll(maker, made->count)];
}

static bool
has_column(const struct made *made, const char *name)
{
    for (int i = 0; i < made->count; i++) {
        if (strcmp(made->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Begin the next node over another one. */
static void
begin(struct maker *maker, struct made *made, const char *op)
{
    gr_buf_addf(&maker->json, ", \"n%d\": {\"op\": \"%s\"", maker->nodes, op);
    if (made->node[0] != '\0') {
        gr_buf_addf(&maker->json, ", \"input\": \"%s\"", made->node);
    }
    (void)snprintf(made->node, sizeof made->node, "n%d", maker->nodes++);
}

static void
put_filter(struct maker *maker, struct made *made)
{
    static const char *const tests[] = {"> 2", "< 4", "is not null", "!= 3", "in (1, 2, 5)"};

    begin(maker, made, "filter");
    gr_buf_addf(&maker->json, ", \"where\": \"`%s` %s", any_column(maker, made), tests[roll(maker, 5)]);
    if (roll(maker, 3) == 0) {
        gr_buf_addf(&maker->json, " and `%s` > `%s` - 2", any_column(maker, made), any_column(maker, made));
    }
    gr_buf_addf(&maker->json, "\"}");
}

/* Some of the columns, many under names of others; some are computed. */
static void
put_project(struct maker *maker, struct made *made)
{
    static const char *const names[] = {"k", "a", "b", "c", "k#1", "a_x", "a_y"};
    struct made kept = {.count = 0};
    int many = 1 + roll(maker, 4);
    bool renames = roll(maker, 3) > 0;
    bool all = roll(maker, 4) == 0;

    begin(maker, made, "project");
    gr_buf_addf(&maker->json, ", \"columns\": {");
    for (int i = 0; i < (all ? made->count : many); i++) {
        const char *from = all ? made->names[i] : any_column(maker, made);
        const char *name = renames && !all ? names[roll(maker, 7)] : from;

        if (has_column(&kept, name)) {
            continue;
        }
        gr_buf_addf(&maker->json, "%s\"%s\": \"`%s`%s\"", kept.count > 0 ? ", " : "", name, from,
                    roll(maker, 12) == 0 ? " + 1" : "");
        (void)snprintf(kept.names[kept.count++], sizeof kept.names[0], "%s", name);
    }
    gr_buf_addf(&maker->json, "}}");
    memcpy(kept.node, made->node, sizeof kept.node);
    *made = kept;
}

static void
put_select(struct maker *maker, struct made *made)
{
    made->count = 1 + roll(maker, made->count);
    begin(maker, made, "select");
    gr_buf_addf(&maker->json, ", \"columns\": [");
    for (int i = 0; i < made->count; i++) {
        gr_buf_addf(&maker->json, "%s\"%s\"", i > 0 ? ", " : "", made->names[i]);
    }
    gr_buf_addf(&maker->json, "]}");
}

/* Filters, projects and selects on one another. */
static void
put_chain(struct maker *maker, struct made *made)
{
    for (int many = roll(maker, 5); many > 0; many--) {
        switch (roll(maker, 5)) {
        case 0:
        case 1:
            put_filter(maker, made);
            break;
        case 2:
            put_select(maker, made);
            break;
        default:
            put_project(maker, made);
        }
    }
}

static struct made
put_table(struct maker *maker)
{
    static const char *const columns[2][4] = {{"k", "a", "b", "c"}, {"k", "b", "a", "d"}};
    int file = roll(maker, 2);
    struct made made = {.count = 4};

    gr_buf_addf(&maker->json, "%s\"n%d\": {\"op\": \"read_csv\", \"path\": \"%s.csv\"}", maker->nodes > 0 ? ", " : "",
                maker->nodes, file == 0 ? "t" : "u");
    (void)snprintf(made.node, sizeof made.node, "n%d", maker->nodes++);
    for (int c = 0; c < 4; c++) {
        (void)snprintf(made.names[c], sizeof made.names[c], "%s", columns[file][c]);
    }
    put_chain(maker, &made);
    return made;
}

/* The columns of a join's pairs. */
static struct made
pair_columns(const struct made *left, const struct made *right, const char *left_on, const char *right_on)
{
    bool shared = left_on != NULL && strcmp(left_on, right_on) == 0;
    struct made pairs = {.count = 0};

    for (int i = 0; i < left->count; i++) {
        bool both = has_column(right, left->names[i]) && !(shared && strcmp(left->names[i], left_on) == 0);

        (void)snprintf(pairs.names[pairs.count++], sizeof pairs.names[0], "%.10s%s", left->names[i], both ? "_x" : "");
    }
    for (int i = 0; i < right->count; i++) {
        if (!shared || strcmp(right->names[i], right_on) != 0) {
            (void)snprintf(pairs.names[pairs.count++], sizeof pairs.names[0], "%.10s%s", right->names[i],
                           has_column(left, right->names[i]) ? "_y" : "");
        }
    }
    return pairs;
}

static struct made
put_join(struct maker *maker, const struct made *left, const struct made *right)
{
    static const char *const hows[] = {"inner", "left", "right", "outer", "semi", "anti", "semi", "anti", "cross"};
    int how = roll(maker, 9);
    const char *left_on = how == 8 ? NULL : has_column(left, "k") ? "k" : any_column(maker, left);
    const char *right_on = how == 8 ? NULL : has_column(right, "k") ? "k" : any_column(maker, right);
    struct made pairs = pair_columns(left, right, left_on, right_on);

    gr_buf_addf(&maker->json, ", \"n%d\": {\"op\": \"join\", \"inputs\": [\"%s\", \"%s\"], \"how\": \"%s\"",
                maker->nodes, left->node, right->node, hows[how]);
    if (left_on != NULL && strcmp(left_on, right_on) == 0 && roll(maker, 2) == 0) {
        gr_buf_addf(&maker->json, ", \"on\": \"%s\"", left_on);
    } else if (left_on != NULL) {
        gr_buf_addf(&maker->json, ", \"left_on\": \"%s\", \"right_on\": \"%s\"", left_on, right_on);
    }
    if (roll(maker, 2) == 0) {
        gr_buf_addf(&maker->json, ", \"where\": \"`%s` != `%s`\"", any_column(maker, &pairs),
                    any_column(maker, &pairs));
    }
    gr_buf_addf(&maker->json, "}");
    if (how >= 4 && how < 8) {
        pairs = *left;
    }
    (void)snprintf(pairs.node, sizeof pairs.node, "n%d", maker->nodes++);
    return pairs;
}

/* Two joins. Often the first one's rows, or a side of it, are read twice. */
static void
put_graph(struct maker *maker)
{
    struct made a = put_table(maker);
    struct made b = put_table(maker);
    struct made j = put_join(maker, &a, &b);
    struct made c = roll(maker, 3) == 0 ? a : put_table(maker);

    put_chain(maker, &j);
    put_chain(maker, &c);
    j = roll(maker, 2) == 0 ? put_join(maker, &j, &c) : put_join(maker, &c, &j);
    put_chain(maker, &j);
    gr_buf_addf(&maker->json, "}, \"targets\": [\"%s\"", j.node);
    if (roll(maker, 6) == 0) {
        gr_buf_addf(&maker->json, ", \"%s\"", a.node);
    }
    gr_buf_addf(&maker->json, "]}");
    gr_buf_addf(&maker->json, "%c%s", '\0', j.node); /* behind the text: the target */
}

/* ---- what is joined, and then looked up again ---- */

static struct made
made_of(const char *node, const char *names)
{
    struct made made = {.count = 4};

    (void)snprintf(made.node, sizeof made.node, "%s", node);
    for (int c = 0; c < 4; c++) {
        made.names[c][0] = names[c];
    }
    return made;
}

/* The columns of both, which have no name in common. */
static void
add_columns(struct made *made, const struct made *more)
{
    memcpy(made->names[made->count], more->names, (size_t)more->count * sizeof more->names[0]);
    made->count += more->count;
}

/* Semi-join t with x, by the keys of x, or by others. */
static void
put_later(struct maker *maker, const struct made *x, const char *table, bool two)
{
    gr_buf_addf(&maker->json, ", \"s\": {\"op\": \"join\", \"inputs\": [\"%s\", \"%s\"], \"how\": \"%s\", ", table,
                x->node, roll(maker, 12) == 0 ? "anti" : "semi");
    gr_buf_addf(&maker->json, "\"left_on\": [\"k\"%s], ", two ? ", \"a\"" : "");
    gr_buf_addf(&maker->json, "\"right_on\": [\"%s\"%s]%s}",
                roll(maker, 8) == 0   ? any_column(maker, x)
                : roll(maker, 2) == 0 ? "k"
                                      : "m",
                !two                  ? ""
                : roll(maker, 2) == 0 ? ", \"a\""
                                      : ", \"e\"",
                roll(maker, 6) == 0 ? ", \"where\": \"b_x != f\"" : "");
}

/*
 * x of t and a part of v, perhaps with more between; groups of t's rows by the keys that x has; x with these. Some keys
 * are others, and some conditions stand where they keep the rule away.
 */
static void
put_lookup(struct maker *maker)
{
    struct made t = made_of("t", "kabc");
    struct made v = made_of("v", "mefd");
    struct made w = made_of("w", "ghij");
    struct made x = made_of("x", "kabc");
    bool two = roll(maker, 4) == 0;
    bool turned = roll(maker, 3) == 0;

    add_columns(&x, &v);
    gr_buf_addf(&maker->json, "\"t\": {\"op\": \"read_csv\", \"path\": \"t.csv\"}, "
                              "\"v\": {\"op\": \"read_csv\", \"path\": \"v.csv\"}, "
                              "\"w\": {\"op\": \"read_csv\", \"path\": \"w.csv\"}");
    for (int many = roll(maker, 4); many > 0; many--) {
        put_filter(maker, &v);
    }
    if (roll(maker, 12) == 0) {
        put_filter(maker, &t);
    }
    gr_buf_addf(&maker->json, ", \"x\": {\"op\": \"join\", \"inputs\": [\"%s\", \"%s\"], \"how\": \"%s\", ",
                turned ? v.node : t.node, turned ? t.node : v.node, roll(maker, 12) == 0 ? "left" : "inner");
    gr_buf_addf(&maker->json, "\"%s_on\": [\"k\"%s], \"%s_on\": [\"m\"%s]%s}", turned ? "right" : "left",
                two ? ", \"a\"" : "", turned ? "left" : "right", two ? ", \"e\"" : "",
                roll(maker, 6) == 0 ? ", \"where\": \"c != f\"" : "");
    if (roll(maker, 3) == 0) {
        put_filter(maker, &x);
    }
    if (roll(maker, 3) == 0) {
        gr_buf_addf(&maker->json, ", \"y\": {\"op\": \"join\", \"inputs\": [\"%s\", \"w\"], \"how\": \"%s\", ", x.node,
                    roll(maker, 2) == 0 ? "inner" : "left");
        gr_buf_addf(&maker->json, "\"left_on\": [\"%s\"], \"right_on\": [\"g\"]}", any_column(maker, &x));
        (void)snprintf(x.node, sizeof x.node, "y");
        add_columns(&x, &w);
    }
    put_later(maker, &x, t.node, two ? roll(maker, 3) > 0 : roll(maker, 5) == 0);
    gr_buf_addf(&maker->json,
                ", \"r\": {\"op\": \"project\", \"input\": \"s\", \"columns\": {\"k#1\": \"k\", \"b#1\": "
                "\"b\"}}, \"g\": {\"op\": \"groupby\", \"input\": \"r\", \"keys\": \"k#1\", \"sort\": false, "
                "\"aggregate\": {\"sum\": \"sum(b#1)\", \"mean\": \"mean(b#1)\", \"min\": \"min(b#1)\", "
                "\"size\": \"size\", \"count\": \"count(b#1)\"}}");
    gr_buf_addf(&maker->json,
                ", \"j\": {\"op\": \"join\", \"inputs\": [\"%s\", \"g\"], \"how\": \"left\", \"left_on\": \"m\", "
                "\"right_on\": \"k#1\"}}, \"targets\": [\"j\"%s]}",
                x.node, roll(maker, 8) == 0 ? ", \"s\"" : "");
    gr_buf_addf(&maker->json, "%cj", '\0');
}

/* Keys that come often, once, on one side alone, and not at all; nulls. */
static void
write_table(const struct world *world, const char *name, const char *header, unsigned seed)
{
    struct gr_buf text = {0};

    gr_buf_addf(&text, "%s\n", header);
    for (int i = 0; i < 20; i++) {
        for (int c = 0; c < 4; c++) {
            if (rand_r(&seed) % 6 > 0) {
                gr_buf_addf(&text, "%d", rand_r(&seed) % (c == 0 ? 9 : 7));
            }
            gr_buf_addf(&text, c < 3 ? "," : "\n");
        }
    }
    world_file(world, name, text.bytes);
    gr_buf_free(&text);
}

static int
setup(void **state)
{
    struct world *world = malloc(sizeof *world);

    world_init(world);
    runner_init(world);
    write_table(world, "t.csv", "k,a,b,c", 5);
    write_table(world, "u.csv", "k,b,a,d", 6);
    write_table(world, "v.csv", "m,e,f,d", 7);
    write_table(world, "w.csv", "g,h,i,j", 8);
    world->options.chunk_bytes = 100;
    *state = world;
    return 0;
}

static int
teardown(void **state)
{
    struct world *world = *state;

    runner_fini(world);
    world_fini(world);
    free(world);
    return 0;
}

/* NULL: the graph was refused, or a row failed. */
static char *
run(struct world *world, const char *json, const char *target, uint32_t without)
{
    char *text = NULL;

    world->options.without_rules = without;
    if (world_plan(world, json) == GRANARY_OK && world_run(world) == GRANARY_OK) {
        text = runner_text(world, target);
    }
    runner_reset(world);
    return text;
}

/* Graphs of one kind, without any rule and with all but some. */
static void
compare_graphs(struct world *world, void (*put)(struct maker *maker))
{
    static const uint32_t without[] = {0, GR_RULE_LIFT, GR_RULE_PREDICATE, GR_RULE_MATCH,
                                       UINT32_MAX & ~(uint32_t)GR_RULE_LIFT};
    unsigned seed = 3;
    int compared = 0;

    for (int g = 0; g < GRAPHS; g++) {
        struct maker maker = {.seed = seed + (unsigned)g};
        const char *target;
        char *plain;

        gr_buf_addf(&maker.json, "{\"nodes\": {");
        put(&maker);
        target = maker.json.bytes + strlen(maker.json.bytes) + 1;
        plain = run(world, maker.json.bytes, target, UINT32_MAX);
        for (size_t w = 0; w < sizeof without / sizeof without[0] && plain != NULL; w++) {
            char *text = run(world, maker.json.bytes, target, without[w]);

            if (text == NULL || strcmp(text, plain) != 0) {
                fail_msg("%s\nwithout %x:\n%s\nwithout all:\n%s", maker.json.bytes, (unsigned)without[w],
                         text == NULL ? granary_error_message() : text, plain);
            }
            free(text);
        }
        compared += plain != NULL;
        free(plain);
        gr_buf_free(&maker.json);
    }
    assert_true(compared > GRAPHS / 2); /* of others, two columns would have one name */
}

static void
projects_go_out_of_joins_ways(void **state)
{
    compare_graphs(*state, put_graph);
}

static void
tables_are_looked_up_once(void **state)
{
    compare_graphs(*state, put_lookup);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(projects_go_out_of_joins_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(tables_are_looked_up_once, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
