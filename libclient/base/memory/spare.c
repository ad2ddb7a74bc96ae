/* The disk is looked at now and then: others write to it, too. */
#include "base/memory/spare.h"

#include <sys/statvfs.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text/size.h"

#define SHARE 10u
#define LOOK  ((uint64_t)16 << 20)
#define PARTS 64u /* of a small disk: so many looks until it is full */

static uint64_t
free_of(int fd, uint64_t *ret_all)
{
    struct statvfs disk;

    if (fstatvfs(fd, &disk) < 0) {
        return 0;
    }
    *ret_all = (uint64_t)disk.f_blocks * disk.f_frsize;
    return (uint64_t)disk.f_bavail * disk.f_frsize;
}

void
gr_spare_begin(int fd, struct gr_spare *ret_spare)
{
    uint64_t all = 0, left = free_of(fd, &all);

    *ret_spare = (struct gr_spare){.least = left / 2 < all / SHARE ? left / 2 : all / SHARE};
}

granary_err
gr_spare_write(struct gr_spare *spare, int fd, const void *bytes, size_t size)
{
    uint64_t all = 0, left;
    char shown[2][32];

    spare->unseen += size;
    if (spare->least > 0 && (spare->unseen >= LOOK || spare->unseen >= spare->least / PARTS)) {
        left = free_of(fd, &all);
        spare->unseen = 0;
        if (left < spare->least) {
            return gr_fail(GRANARY_EFULL,
                           "it does not end, or the disk is too small: %s are free, and %s are left to others: name "
                           "another folder "
                           "in $TMPDIR",
                           gr_size_format(left, shown[0]), gr_size_format(spare->least, shown[1]));
        }
    }
    return gr_write_all(fd, bytes, size);
}
