/*
 * The settings of an instance: what `granary up` is told by its options, by variables of the environment and by two
 * configuration files. One table says which there are; a setting has the same name everywhere.
 *
 * Of several places the first one in this order counts, with all of its values:
 *
 *      the command line      --memory 4G
 *      the environment       GRANARY_MEMORY=4G
 *      the user's file       memory = 4G in ~/.config/granary/NAME.conf, or in the file of --config
 *      the machine's file    memory = 4G in /etc/granary/NAME.conf
 *      what is built in
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <limits.h>

#include "cli/instance/supervisor/supervisor.h"
#include "contract/shm.h"
#include "options/options.h"

#define SETTINGS_MOST  40 /* rows of the table */
#define SETTING_VALUES 32 /* of one that may be given several times */
#define SETTING_LIST   4096

enum setting_from { FROM_BUILT_IN, FROM_SYSTEM, FROM_USER, FROM_ENVIRONMENT, FROM_COMMAND };

struct setting {
    const struct gr_option *option;
    enum setting_from from;
    const char *path; /* of a file or the variable */
    unsigned count;
    char *values[SETTING_VALUES];
    unsigned lines[SETTING_VALUES];
};

/* What all places together come to. */
struct settled {
    struct supervisor_options options; /* executors -1: not given */
    char resources[1024];              /* of all, separated by commas */
    char *spill_dirs[GR_SPILL_DIRS + 1];
    unsigned spill_count;
    const char *confine; /* yes, no, strict; NULL: not given */
    char confine_read[SETTING_LIST], confine_write[SETTING_LIST];
    const char *topology;
    int pressure; /* 1: yes, 0: no, -1: as it is a service */
};

/* One of the two, or of --config. */
struct settings_file {
    char path[PATH_MAX]; /* "": there is none, the instance has no name */
    bool read;
    char *text;
};

struct settings {
    struct settled settled; /* first: the options' fields are of it */
    const char *config;     /* of --config; NULL: $GRANARY_CONFIG, or the two files */
    struct setting rows[SETTINGS_MOST];
    unsigned count;
    struct settings_file files[2]; /* the user's, the machine's */
    char *environment[SETTINGS_MOST];
    char config_path[PATH_MAX]; /* of --config, whole: it is read again from elsewhere */
    bool again;                 /* the environment is another one's, and not read again */
};

/* The table, whose fields are those of struct settled; and who hears of those on the command line, for struct access. */
extern const struct gr_option settings_options[];
granary_err settings_note(void *settings, const struct gr_option *option, char *text);

/* A FILE in place of the two: an option of who has settings. */
#define SETTINGS_CONFIG_OPTION                                                                                         \
    {                                                                                                                  \
        "config", 0, "FILE", "read FILE in place of /etc/granary/NAME.conf and ~/.config/granary/NAME.conf",           \
            GR_OPTION_TEXT(struct settings, config)                                                                    \
    }

/*
 * Read all places, and settle what counts. What the command line noted stays, so it can be done again.
 *
 * Errors  EINVAL an unknown name, a wrong value, or two that contradict each other: with file, line and remedy ·
 *         ENOENT no such file, of --config · errno's
 */
granary_err settings_read(struct settings *settings, const struct gr_instance *instance);

/*
 * A copy to be read again later, in a process whose environment was changed meanwhile: it has the command line's and the
 * environment's values of the first one, which must outlive it.
 */
void settings_again(const struct settings *settings, struct settings *ret_again);

/* Where a value comes from: "built in", "command line", "$GRANARY_MEMORY", "FILE:3". Returns buffer. */
const char *settings_place(const struct setting *setting, unsigned value, char *buffer, size_t size);

/* Give back what was read. The command line's notes stay. */
void settings_clear(struct settings *settings);

#endif
