/* Joins run as the planner would have them run. Every function fails the running test when something is wrong. */
#ifndef TESTS_KERNEL_JOIN_TOOLS_H
#define TESTS_KERNEL_JOIN_TOOLS_H

#include "frame_tools.h"

/* How a join is run here: everything but left_on, right_on and how has a default. */
struct way {
    const char *left_on;
    const char *right_on;
    const char *how;
    const char *where;
    const char *filter;
    const char *indicator;
    bool null_aware;
    bool unique;
    int parts;  /* of the build; 0: one */
    int pieces; /* of the right side; 0: one */
};

/* Prepare the build of a part of the right side, which is cut into pieces. */
void join_start_build(struct kernel_test *test, const granary_frame *left, granary_frame *const *pieces, int count,
                      const granary_frame *right, const struct way *way, int part);
/* Prepare the probe. builds: one a part, which have run; NULL: none is needed */
void join_start_probe(struct kernel_test *test, const granary_frame *left, granary_frame *const *pieces, int count,
                      const granary_frame *right, const struct way *way, const struct kernel_test *builds);

/* A frame in pieces of about as many rows. */
void frame_cut(const granary_frame *frame, int count, granary_frame **ret_pieces);

/* Builds and probe. The result owns all it has. */
granary_frame *joined_in_a_way(const granary_frame *left, const granary_frame *right, struct way way);
granary_frame *joined(const granary_frame *left, const granary_frame *right, const char *left_on, const char *right_on,
                      const char *how);
/* The same, whose result as CSV text is this. */
void assert_joined(const granary_frame *left, const granary_frame *right, struct way way, const char *csv);

#endif
