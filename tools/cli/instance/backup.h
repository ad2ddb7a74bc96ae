/* What a backup is beside the files of a snapshot. */
#ifndef CLI_BACKUP_H
#define CLI_BACKUP_H

/* It tells when and of what it was made, and is written last: without it a copy is not whole, or not of one moment. */
#define BACKUP_FILE  "backup.json"
#define BACKUP_STATE "state" /* a folder with the scheduler's state */
#define BACKUP_SPILL "spill" /* a folder with spill files */
#define BACKUP_ROOT  "root"

#include <stdint.h>

#include "granary/types.h"

/* What a backup has, but for BACKUP_FILE; that has these numbers, so a copy that lacks something is known. */
struct backup_size {
    uint64_t files, bytes;
};

granary_err backup_measure(int directory, struct backup_size *ret_size);

#endif
