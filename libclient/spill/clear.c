/* What may be thrown away of a directory of spill files. */
#include <unistd.h>

#include "spill/spill.h"

bool
level_is_litter(const struct level_file *file)
{
    bool known = file->err == GRANARY_OK || (file->err == GRANARY_ECORRUPT && file->session[0] != '\0');

    return file->err == GRANARY_ESTATE || (known && (file->flags & LEVEL_FILE_PERSISTENT) == 0);
}

static granary_err
clear_file(void *context, const struct level_file *file)
{
    (void)context;
    if (level_is_litter(file)) {
        (void)unlink(file->path);
    }
    return GRANARY_OK;
}

static granary_err
pass_record(void *context, const struct level_file *file, const struct level_record *record)
{
    (void)context;
    (void)file;
    (void)record;
    return GRANARY_OK;
}

void
level_clear_directory(const char *dir)
{
    const struct level_visitor visitor = {.file = clear_file, .record = pass_record};

    (void)level_scan_directory(dir, &visitor);
}
