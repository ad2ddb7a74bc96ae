/* Within the room: steps become nodes of a message, one after the other. */
#ifndef OPTIMIZE_WRITE_H
#define OPTIMIZE_WRITE_H

#include "optimize/steps.h"

struct written_name {
    const char *name; /* a node's, or one that a target will have; NULL: the place is free */
    size_t step;      /* that the node is of */
};

struct writer {
    const struct gr_steps *steps;
    Granary__Graph *graph; /* what is made */
    size_t node_room;
    const char **tops;          /* by step: the node that yields what it yields; NULL: none yet */
    struct written_name *names; /* by the hash of a name, open addressing */
    size_t name_count, name_room;
};

/*
 * All live steps. The rules GR_RULES_INTO_STEPS must have been left out.
 *
 * writer  zero but for steps; steps_write_end() follows, whatever is returned
 * Errors  ENOMEM, EINVAL
 */
granary_err steps_write(struct writer *writer);
/* Its graph goes, too, unless somebody took it. */
void steps_write_end(struct writer *writer);
/* The step that a node is of. It is one of the writer's. */
size_t steps_written_from(const struct writer *writer, const char *name);

/* ---- joins (write_join.c) ---- */

/* How a join is written whose inputs have fewer columns than they had: names that both had may be one side's now, and have
 * no suffix. */
struct written_join {
    bool is_narrowed[2];   /* input k is to lose columns below it: */
    bool *takes[2];        /* by column of input k: whether it comes in */
    Granary__Attr *own[2]; /* instead of parameters of their names, or beside the others; NULL: none. Owned */
    Granary__Attr *picks;  /* above it: its columns, as STRINGS, or a MAP to names of now; NULL: all. Owned */
};

/* Errors: ENOMEM, EINVAL */
granary_err steps_write_join(const struct gr_steps *steps, size_t i, struct written_join *ret_join);
void steps_write_join_end(struct written_join *join);

#endif
