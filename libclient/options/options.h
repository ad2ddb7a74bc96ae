/*
 * The options of a program or a command: one table, from which come --help, --usage, the parser, and the checks of what
 * is given. argp (glibc) does the parsing. A row names a field of the struct that takes the value:
 *
 *      static const struct gr_option options[] = {
 *          {"timeout", 0, "DURATION", "give up after so long; default: never", GR_OPTION_MS(struct wait, timeout_ms)},
 *          {"all", 'a', NULL, "wait for all of them", GR_OPTION_FLAG(struct wait, all)},
 *          {0}};
 */
#ifndef OPTIONS_OPTIONS_H
#define OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/store.h"

enum gr_option_kind {
    GR_OPTION_IS_TEXT,
    GR_OPTION_IS_VALUE,
    GR_OPTION_IS_NUMBER,
    GR_OPTION_IS_SIZE,
    GR_OPTION_IS_DURATION,
    GR_OPTION_IS_CHOICE,
    GR_OPTION_IS_LEVELS,
    GR_OPTION_IS_TAKEN,
};

struct gr_option {
    const char *name;
    int letter;        /* 'e': -e is the same; 0: none */
    const char *value; /* what --help calls its value; NULL: it takes none */
    const char *help;
    enum gr_option_kind kind;
    size_t offset, width; /* of the field */
    int64_t least;        /* of a number, size or duration; of a value, what the field becomes */
    uint64_t most;
    const char *choices; /* "memory|sqlite" */
    /* Takes the text (NULL: there is none) into the target, or the field. Errors: EINVAL, with a message that quotes the text. */
    granary_err (*take)(void *target, char *text);
    bool as_text;   /* the field is a const char *: the text is checked, and kept as it is */
    bool optional;  /* the value may be left out, and is NULL then */
    bool hidden;    /* from --help */
    char separator; /* it may be given several times; between values in an environment variable. 0: once */
    int group;      /* of rows in --help; they stand in the order of their groups */
};

#define GR_OPTION_FIELD(type, member) .offset = offsetof(type, member), .width = sizeof(((type *)NULL)->member)
/* A const char *, as it is given. */
#define GR_OPTION_TEXT(type, member) .kind = GR_OPTION_IS_TEXT, GR_OPTION_FIELD(type, member)
/* A bool, which becomes true; or a bool or number that becomes a value. */
#define GR_OPTION_FLAG(type, member) GR_OPTION_SET(type, member, 1)
#define GR_OPTION_SET(type, member, becomes)                                                                           \
    .kind = GR_OPTION_IS_VALUE, .least = (becomes), GR_OPTION_FIELD(type, member)
/* A whole number of 4 or 8 bytes; of a size, at least so many bytes. */
#define GR_OPTION_NUMBER(type, member, from, to)                                                                       \
    .kind = GR_OPTION_IS_NUMBER, .least = (from), .most = (to), GR_OPTION_FIELD(type, member)
#define GR_OPTION_SIZE(type, member, from) .kind = GR_OPTION_IS_SIZE, .least = (from), GR_OPTION_FIELD(type, member)
/* Milliseconds, rounded up. In an int: less than 23 days, and a negative one is GRANARY_FOREVER. */
#define GR_OPTION_MS(type, member) GR_OPTION_MS_FROM(type, member, GRANARY_FOREVER)
#define GR_OPTION_MS_FROM(type, member, from)                                                                          \
    .kind = GR_OPTION_IS_DURATION, .least = (from), GR_OPTION_FIELD(type, member)
/* One of several words: as text, or in an int its position. */
#define GR_OPTION_CHOICE(type, member, words)                                                                          \
    .kind = GR_OPTION_IS_CHOICE, .choices = (words), GR_OPTION_FIELD(type, member)
/* granary_levels */
#define GR_OPTION_LEVELS(type, member) .kind = GR_OPTION_IS_LEVELS, GR_OPTION_FIELD(type, member)
/* Whatever a function makes of it; of the struct as a whole, or of a field. */
#define GR_OPTION_TAKE(function)                    .kind = GR_OPTION_IS_TAKEN, .take = (function)
#define GR_OPTION_TAKE_INTO(type, member, function) GR_OPTION_TAKE(function), GR_OPTION_FIELD(type, member)

/* A table, and the struct that its fields are of. */
struct gr_option_set {
    const struct gr_option *options; /* NULL: none */
    void *target;
    /* Hears of each that is given, when its value is taken: text lives as long as argv. NULL: nobody does */
    granary_err (*note)(void *target, const struct gr_option *option, char *text);
};

#define GR_OPTION_SETS 4
#define GR_OPTION_MANY (1 << 20)

struct gr_options {
    const char *arguments; /* what follows the options, for people; NULL: nothing */
    const char *doc;
    int least, most; /* arguments */
    struct gr_option_set sets[GR_OPTION_SETS];
    /* Whether what is given goes together; of the first set's target. Errors: EINVAL, with a message. */
    granary_err (*check)(void *target);
};

/*
 * Parse the options, which may stand among the arguments. A wrong one, too few or too many arguments end the program
 * with status 2 and a message that begins with argv[0]; --help and --usage end it with status 0.
 *
 * Returns the position in argv of the first argument; argv is put in order for that.
 */
int gr_options_parse(const struct gr_options *options, int argc, char **argv);

/* A row by its name; NULL: there is none. */
const struct gr_option *gr_option_find(const struct gr_option *options, const char *name);

/*
 * A value from elsewhere than the command line goes into its field of target; the field keeps the text, if it keeps
 * any. One without a value takes yes or no. Errors: EINVAL, with a message that quotes the text
 */
granary_err gr_option_take(const struct gr_option *option, void *target, char *text);

/*
 * "DIR" or "DIR=SIZE": a directory, and a limit of what lies there (0: none is given). The text is cut behind the
 * directory, whose slashes at the end go; with one, "DIR=1/", it is a directory in any case. Errors: EINVAL
 */
granary_err gr_option_directory(char *text, uint64_t *ret_limit);

/* A whole number. Errors: EINVAL: "'x' is no number from 1 to 8" */
granary_err gr_option_number(const char *text, int64_t least, uint64_t most, int64_t *ret_number);

#endif
