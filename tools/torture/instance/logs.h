/* What an instance's logs say that must not be, whatever was killed: ends that nobody had asked for, damage, loss. */
#ifndef TORTURE_LOGS_H
#define TORTURE_LOGS_H

#include <stdio.h>

#include "torture/instance/realm.h"

#define LOGS 5

struct logs {
    size_t seen[LOGS]; /* bytes of each that were looked at */
    bool files_change; /* graphs read files that change: the next scheduler may plan them in another way, and says so */
};

/* Look at what was added since the last look. Says such lines on `out`; returns how many there are. */
unsigned logs_look(struct logs *logs, const struct realm *realm, FILE *out);

#endif
