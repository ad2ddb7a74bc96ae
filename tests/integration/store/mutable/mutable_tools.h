/* What tests of mutable tables share: a table of numbers; this program as another process that dies;
 * random operations; and damage that is undone. */
#ifndef STORE_MUTABLE_TOOLS_H
#define STORE_MUTABLE_TOOLS_H

#include <sys/types.h>

#include "granary/mutable.h"

/* ---- a table of one column, n, of int64 ---- */

extern const granary_column number_column;
granary_mutable *make_numbers(granary_client *client, const char *name);
granary_mutable *open_table(granary_client *client, const char *name);
granary_err append_number(granary_mutable *table, int64_t value, int64_t time, int64_t *ret_time);

/* The numbers at a time are these. */
void check_numbers(granary_mutable *table, int64_t time, const int64_t *numbers, int64_t count);
/* How many there are at a time, and their sum. */
int64_t count_numbers(granary_mutable *table, int64_t time, int64_t *ret_sum);

/* The message of the last error begins with the name of a table, and does not repeat it. */
void check_named(const char *kind_and_name, const char *name);

/* ---- this program as another process ---- */

/*
 * Start it with two arguments: what, and the directory of the instance. It is killed at a fault point (NULL: not). What it
 * writes to stdout comes to *ret_said.
 */
pid_t start_self(void **state, const char *what, const char *point, int *ret_said);
/* How many bytes it said until it ended. */
int64_t drain(int said);
/* In that process: a client, and a table. */
granary_err
self_open(const char *directory, const char *name, granary_client **ret_client, granary_mutable **ret_table);

/* ---- random operations ---- */

#define COURSE_HANDLES 4
#define COURSE_BACK    60 /* how far reads go back */

/* A table under random operations, and what is known of its times. */
struct course {
    granary_client *client;
    granary_mutable *handles[COURSE_HANDLES];
    size_t handle_count;
    char name[32];
    granary_mutable_options how; /* it is made */
    int64_t frontier;            /* what is final */
    int64_t newest;
    int64_t horizon; /* reads are refused before it */
    size_t operations;
    uint64_t seed;
};

/* A number of the environment. */
uint64_t setting(const char *name, uint64_t otherwise);

uint64_t draw(struct course *course, uint64_t below);
granary_mutable *draw_handle(struct course *course);
/* A time that is final, and can be read. */
int64_t draw_past(struct course *course);

/* Open the other handles of a table that was made; and close and delete it. */
void course_begin(struct course *course, granary_mutable *first);
void course_end(struct course *course);

/* Whether a time can be read. It becomes final; GRANARY_NOW is *ret_time. */
bool course_can_read(struct course *course, int64_t asked, int64_t *ret_time);
/* All processes and all memory are gone, and come back: the table is what it was, if every write of it is on disk. */
void course_cut_power(struct course *course, void **state);
/* One of the handles forgets all it knew. */
void course_reopen(struct course *course);
/* Give up history up to some time: nothing changes for reads of later ones. */
void course_retain(struct course *course);

/* ---- damage ---- */

#define GARBLED_MOST 4

/* Bytes that were changed, and what they were. */
struct garbled {
    unsigned char *bytes;
    uint64_t at[GARBLED_MOST];
    unsigned char old[GARBLED_MOST];
    int count;
};

void garble(struct garbled *garbled, void *bytes, uint64_t size, struct course *course);
void restore(const struct garbled *garbled);

#endif
