/*
 * Questions: what can be asked below /api/. Most subjects are the scheduler's tables (contract/subjects.def); the others
 * are commands of granary, whose --json is the answer (questions.def). A question is checked before anybody is asked.
 */
#ifndef WEB_QUESTION_H
#define WEB_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

#define QUESTION_KEYS   16
#define QUESTION_FIELDS 32

/* What a command prints. RAW is the answer as it is, to be saved as a file. */
enum question_form { QUESTION_JSON, QUESTION_LINES /* of JSON */, QUESTION_OBJECTS, QUESTION_TEXT, QUESTION_RAW };

struct question_row {
    const char *name;
    const char *words;   /* of the command, separated by blanks; NULL: a table of the scheduler */
    const char *options; /* parameters that become options of the command, separated by blanks */
    bool keys;           /* parameters `key` are its arguments */
    enum question_form form;
};

struct question {
    const struct question_row *row;
    char *texts; /* what the following point into */
    size_t used;
    const char *keys[QUESTION_KEYS];
    size_t key_count;
    const char *fields[QUESTION_FIELDS];
    size_t field_count;
    uint64_t cursor;
    uint32_t limit;         /* 0: as many as the one who is asked thinks right */
    uint32_t last;          /* of a table: only so many rows of its end; 0: all */
    const char *options[8]; /* --NAME=VALUE */
    size_t option_count;
};

/* NULL: there is none of that name. */
const struct question_row *question_find(const char *name);

/* Zero is the state before. Errors: EINVAL no such parameter, or no such value · ENOMEM */
granary_err question_begin(struct question *question, const struct question_row *row);
granary_err question_add(struct question *question, const char *name, const char *value);
void question_fini(struct question *question);

#endif
