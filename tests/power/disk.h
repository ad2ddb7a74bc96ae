/*
 * Every disk that a crash may leave, from a trace.
 *
 * A crash is at a point between two operations. What a sync covered is on the disk; of the rest, each operation may be
 * or not, whatever the order (a file's bytes without its name, a rename without the bytes, a removal but not what came
 * before it), and a write may be there in part: any of its sectors of 512 bytes, or the file's new length without them.
 *
 * Disks are numbered. Number n is at point n modulo points; of a point the first has nothing that was not synced, the
 * second a random choice with torn writes, the third everything, and then random ones and systematic ones take turns:
 * all but one operation, only one, then every subset while there are no more than 12 operations to choose from.
 */
#ifndef POWER_DISK_H
#define POWER_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disks;

/* What a disk may be, more than in a trace that is as it is. For tests of the tests, and for drives that lie. */
enum disk_lies {
    DISK_NO_FILE_SYNC = 1,      /* a sync of a file did nothing */
    DISK_NO_DIRECTORY_SYNC = 2, /* ... of a directory */
};

struct disk {
    uint64_t number;
    size_t point;     /* operations that had been begun */
    size_t pending;   /* of them not synced */
    size_t applied;   /* of those on the disk */
    size_t torn;      /* of those in part */
    uint64_t hash;    /* of what is on it, and of what had been promised */
    const char *last; /* what the last operation was */
};

/* NULL, with the reason on stderr. */
struct disks *disks_load(const char *trace_path, unsigned lies);
void disks_free(struct disks *disks);

size_t disks_points(const struct disks *disks);

/* Whether the trace explains what is in the directory now: nothing was done to it in another way. Says what was. */
bool disks_explain(struct disks *disks, const char *root);

/* Choose disk `number`. */
void disks_choose(struct disks *disks, uint64_t number, uint64_t seed, struct disk *ret_disk);
/* Write the disk that was chosen last into an empty directory; files that were mapped get `garbage` bytes of noise. */
bool disks_write(struct disks *disks, const char *root, size_t garbage);

/* The notes made before the point of the disk chosen last: *index begins at 0. NULL: there are no more. */
const char *disks_note(const struct disks *disks, size_t *index);

#endif
