/* What a reader saw: how much of each writer's life, and whether it can be so. */
#ifndef TORTURE_SIGHT_H
#define TORTURE_SIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/frame.h"

#define SIGHT_LIVES 4096u /* of writers, in one round */

struct sight {
    uint32_t life;
    uint32_t appends;
    uint64_t sum; /* of the checks of their rows */
};

enum flaw {
    FLAW_NONE = 0,
    FLAW_COLUMNS = 1, /* not the table's */
    FLAW_ROW = 2,     /* nobody wrote it */
    FLAW_HALF = 3,    /* some of an append's rows, and not all */
    FLAW_ORDER = 4,   /* appends of one life in another order than they were written */
};

/* What is told of one frame. */
struct sighting {
    struct sight *sights;
    uint32_t count;
    enum flaw flaw; /* the first one, and where it is */
    uint32_t flaw_life;
    uint64_t flaw_number;
};

/* Whoever looks keeps one of these. */
struct eye;

struct eye *eye_open(void); /* NULL: out of memory */
void eye_close(struct eye *eye);
/* Look at every row of a frame. The sighting is valid until the next look. */
const struct sighting *eye_look(struct eye *eye, const granary_frame *frame, uint32_t table);

#endif
