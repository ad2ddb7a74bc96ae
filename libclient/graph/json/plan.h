/*
 * A plan: a graph that was cut into fragments, as JSON. docs/fragments.md describes it.
 *
 * Only what a driver needs is read; other members may say more for people and for other drivers.
 */
#ifndef GRAPH_JSON_PLAN_H
#define GRAPH_JSON_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"
#include "schema/granary.pb-c.h"

#define GR_PLAN_FORMAT     1     /* of the newest that is understood */
#define GR_PLAN_DIGEST     32    /* hex digits */
#define GR_PLAN_PARTITIONS 65536 /* of a stage, at most */

/* Which chunks of another stage a fragment reads: docs/fragments.md. */
enum gr_cutplan_take { GR_PLAN_SAME, GR_PLAN_PART, GR_PLAN_ALL };

struct gr_cutplan_input {
    size_t node;  /* of the graph: its attribute `ids` is to be set */
    size_t stage; /* one before */
    enum gr_cutplan_take take;
};

struct gr_cutplan_stage {
    const char *name;
    const char *digest;
    uint32_t partitions;
    Granary__Graph *graph; /* with one target */
    size_t *part_of;       /* nodes whose attribute `part` is to be set */
    size_t part_of_count;
    struct gr_cutplan_input *inputs;
    size_t input_count;
    bool home;       /* it runs in the instance that cut the graph, which has tables that it reads */
    uint32_t chunks; /* of each fragment's result; 0: any number */
};

struct gr_cutplan_target {
    const char *name;
    size_t stage; /* it has one partition */
};

/* A way was chosen in the belief that a stage's results have at most so many bytes. */
struct gr_cutplan_guess {
    size_t stage;
    double most_bytes;
};

struct gr_cutplan {
    const char *version; /* of the granary that cut the graph */
    struct gr_cutplan_stage *stages;
    size_t stage_count;
    struct gr_cutplan_target *targets;
    size_t target_count;
    struct gr_cutplan_guess *guesses;
    size_t guess_count;
    struct gr_region *region; /* all of it, but for the graphs */
};

/* Whether the text is a plan, of whatever format, and no graph. */
bool gr_cutplan_is_meant(const char *text, size_t length);

/*
 * Read a plan.
 *
 * text      length bytes of UTF-8
 * ret_plan  *gives* it, to be freed with gr_cutplan_destroy()
 * Errors    EINVAL "line 3, column 7: ..." for broken JSON; "stage 's1': ..." for members that are wrong · EVERSION of a
 *           newer format · ENOMEM
 */
granary_err gr_cutplan_from_json(const char *text, size_t length, struct gr_cutplan **ret_plan);
void gr_cutplan_destroy(struct gr_cutplan *plan);

/* A stage by its name; plan->stage_count: there is none. */
size_t gr_cutplan_find(const struct gr_cutplan *plan, const char *name);

#endif
