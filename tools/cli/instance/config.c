/* granary config: the settings that an instance would start with, and where each comes from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/command.h"
#include "cli/instance/settings.h"
#include "cli/print/listing.h"

struct config {
    struct settings settings;
    bool example;
};

static const struct gr_option config_options[] = {
    {"config", 0, "FILE", "read FILE in place of /etc/granary/NAME.conf and ~/.config/granary/NAME.conf",
     GR_OPTION_TEXT(struct config, settings.config)},
    {"example", 0, NULL, "print a configuration file with all settings, as comments",
     GR_OPTION_FLAG(struct config, example)},
    {0}};

/* What a help sentence says of the default: "automatic". */
static const char *
default_of(const struct gr_option *option)
{
    const char *at = strstr(option->help, "default: ");

    return at == NULL ? "none" : at + strlen("default: ");
}

/* One value. */
struct shown {
    const char *name;
    const char *value;
    char from[PATH_MAX + 16];
};

static const char *
show_value(const void *row, char buffer[SHOW_TEXT])
{
    return show_text(((const struct shown *)row)->value, buffer);
}

static const char *
show_from(const void *row, char buffer[SHOW_TEXT])
{
    return show_text(((const struct shown *)row)->from, buffer);
}

static const struct column columns[] = {{"name", "name", -14, COLUMN(struct shown, name)},
                                        {"value", NULL, 0, COLUMN(struct shown, value)},
                                        {NULL, "value", -32, .show = show_value},
                                        {"from", NULL, 0, COLUMN(struct shown, from)},
                                        {NULL, "from", 0, .show = show_from},
                                        {0}};

static const struct setting *
row_of(const struct settings *settings, const struct gr_option *option)
{
    for (unsigned i = 0; i < settings->count; i++) {
        if (settings->rows[i].option == option && settings->rows[i].count > 0) {
            return &settings->rows[i];
        }
    }
    return NULL;
}

static void
print_settings(const struct settings *settings, bool is_json)
{
    struct listing listing = {0};
    bool any = false;

    listing_begin(&listing, columns, is_json);
    for (const struct gr_option *option = settings_options; option->name != NULL; option++) {
        const struct setting *row = row_of(settings, option);
        struct shown shown = {.name = option->name, .value = default_of(option), .from = "built in"};

        if (row == NULL) {
            listing_row(&listing, &shown);
        }
        for (unsigned v = 0; row != NULL && v < row->count; v++) {
            shown.value = row->values[v];
            (void)settings_place(row, v, shown.from, sizeof shown.from);
            listing_row(&listing, &shown);
        }
    }
    listing_end(&listing);
    for (unsigned i = 0; i < 2 && !is_json; i++) {
        const struct settings_file *file = &settings->files[i];
        char path[SHOW_TEXT];

        if (file->path[0] != '\0') {
            (void)printf("%s%s%s", any ? ", " : "files: ", show_text(file->path, path),
                         file->read ? "" : " (not there)");
            any = true;
        }
    }
    (void)fputs(any ? "\n" : "", stdout);
}

/* A comment of lines that are not too long. */
static void
print_comment(const char *text)
{
    size_t used = 0;

    for (size_t length; *text != '\0'; text += length + (text[length] == ' ')) {
        length = strcspn(text, " ");
        if (used == 0 || used + 1 + length > 96) {
            used = (size_t)printf("%s# %.*s", used == 0 ? "" : "\n", (int)length, text);
        } else {
            used += (size_t)printf(" %.*s", (int)length, text);
        }
    }
    (void)putchar('\n');
}

static void
print_example(void)
{
    (void)puts(
        "# Settings of an instance of granary. `granary up` reads /etc/granary/NAME.conf, and then, with more weight,\n"
        "# ~/.config/granary/NAME.conf; NAME is that of the instance: default, unless --instance gives another one.\n"
        "# `granary config` shows what counts, and where it comes from. Lines that begin with # count nothing.");
    for (const struct gr_option *option = settings_options; option->name != NULL; option++) {
        (void)putchar('\n');
        print_comment(option->help);
        (void)printf("#%s = %s\n", option->name, option->value == NULL ? "yes" : option->value);
    }
}

static int
run_config(struct cli *cli)
{
    struct config *config = cli->self;
    struct gr_instance instance;
    granary_err err;

    if (config->example) {
        print_example();
        return GRANARY_OK;
    }
    err = gr_instance_resolve(cli->instance, &instance);
    if (err == GRANARY_OK) {
        err = settings_read(&config->settings, &instance);
    }
    if (err == GRANARY_OK) {
        print_settings(&config->settings, cli->json);
    }
    return err;
}

static void
end_config(struct cli *cli)
{
    settings_clear(&((struct config *)cli->self)->settings);
}

static const struct access config_access = {.options = settings_options, .note = settings_note};

const struct command command_config = {.options = config_options,
                                       .access = &config_access,
                                       COMMAND_ZERO(struct config),
                                       .plain = true,
                                       .run = run_config,
                                       .end = end_config};
