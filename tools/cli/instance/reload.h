/*
 * The settings are read again while the instance runs: what can change does, of the rest is said that it needs a restart.
 * `granary reload` sends SIGHUP to the supervisor, and reads what it answers from <runtime>/reload, a line a setting.
 */
#ifndef CLI_RELOAD_H
#define CLI_RELOAD_H

#include "cli/instance/settings.h"
#include "cli/instance/supervisor/supervisor_private.h"

#define RELOAD_FILE "reload"

struct reload;

/*
 * For a supervisor that starts: settings are what it was started with, and stay; NULL: a private instance, which has none.
 * Errors: ENOMEM
 */
granary_err reload_create(const struct settings *settings, struct reload **ret_reload);

/* Read, apply, and write the answer. */
void reload_run(struct reload *reload, struct supervisor *self);

/* The active scheduler plans with the budget as it is now. */
void reload_tell_budget(struct supervisor *self);

void reload_destroy(struct reload *reload);

#endif
