/*
 * granary doctor: a list of what this machine and this instance achieve, what limits it, and how to do better. Each
 * part of it is tried, not looked up, where that is possible.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/look/look.h"
#include "cli/print/json.h"
#include "cli/print/show.h"

enum doctor_grade {
    DOCTOR_OK,        /* as good as it gets */
    DOCTOR_LESS,      /* it works; a better host would do better */
    DOCTOR_ATTENTION, /* something needs to be done */
};

struct doctor {
    struct look look; /* the inspector is NULL when no instance is there */
    const char *spill_dir;
    struct json json;
    char trouble[SHOW_TEXT]; /* why it is NULL */
    unsigned less;
    unsigned attention;
};

/*
 * Tell of one thing.
 *
 * what    which thing, the same in every version, such as "futex_waitv"
 * fix     what to do; NULL: nothing
 * format  a sentence: what was achieved, and what limits it
 */
void doctor_tell(struct doctor *doctor, enum doctor_grade grade, const char *what, const char *fix, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));

/* The parts. */
void doctor_kernel(struct doctor *doctor);
void doctor_host(struct doctor *doctor);
void doctor_service(struct doctor *doctor);
void doctor_instance(struct doctor *doctor);

#endif
