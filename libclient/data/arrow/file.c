/* Arrow files on disk: looked at, then read in parts, into memory of ours. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/arrow/arrow.h"
#include "data/arrow/read.h"
#include "data/file/paths/regular.h"

struct gr_arrow_file {
    struct arrow_in file; /* its bytes: address space as large as the file, of which what was fetched is there */
    struct arrow_footer footer;
    struct gr_arrow_batch *batches;
};

/* How many rows each batch has; its columns stay where they are. */
static granary_err
batches_look(struct gr_arrow_file *file)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < file->footer.batches.count; i++) {
        err = arrow_in_look(&file->file, file->footer.batches, i, &file->batches[i].rows, &file->batches[i].bytes);
    }
    return err;
}

static granary_err
file_map(const char *path, struct gr_arrow_file *file)
{
    struct stat info;
    void *bytes;
    granary_err err = gr_regular_open(path, &file->file.fd, &info);

    if (err != GRANARY_OK) {
        return err;
    }
    bytes = mmap(NULL, (size_t)info.st_size + 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    if (bytes == MAP_FAILED) {
        return gr_fail(GRANARY_ENOMEM, "%s: no address space for %lld bytes", path, (long long)info.st_size);
    }
    file->file.bytes = bytes;
    file->file.size = (uint64_t)info.st_size;
    return GRANARY_OK;
}

granary_err
gr_arrow_file_open(const char *path, struct gr_arrow_file **ret_file)
{
    struct gr_arrow_file *file = calloc(1, sizeof *file);
    granary_err err = file == NULL ? gr_fail(GRANARY_ENOMEM, "%s: out of memory", path) : file_map(path, file);

    if (err == GRANARY_OK) {
        err = arrow_in_open(&file->file, file->file.bytes, file->file.size, file->file.fd);
        err = err == GRANARY_OK ? arrow_in_footer(&file->file, &file->footer) : err;
        if (err == GRANARY_OK) {
            file->batches = calloc(file->footer.batches.count + 1, sizeof *file->batches);
            err = file->batches == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : batches_look(file);
        }
        err = err == GRANARY_OK ? err : gr_fail_in(err, "%s", path);
    }
    if (err != GRANARY_OK) {
        gr_arrow_file_close(file);
        return err;
    }
    *ret_file = file;
    return GRANARY_OK;
}

void
gr_arrow_file_close(struct gr_arrow_file *file)
{
    if (file == NULL) {
        return;
    }
    arrow_in_close(&file->file);
    if (file->file.bytes != NULL) {
        (void)munmap((void *)(uintptr_t)file->file.bytes, file->file.size + 64);
    }
    gr_fd_close(&file->file.fd);
    free(file->batches);
    free(file);
}

size_t
gr_arrow_file_columns(const struct gr_arrow_file *file)
{
    return file->file.field_count;
}

const char *
gr_arrow_file_column(const struct gr_arrow_file *file, size_t position, granary_dtype *ret_dtype)
{
    *ret_dtype = file->file.fields[position].dtype;
    return file->file.fields[position].name;
}

const struct gr_arrow_batch *
gr_arrow_file_batches(const struct gr_arrow_file *file, size_t *ret_count)
{
    *ret_count = file->footer.batches.count;
    return file->batches;
}

granary_err
gr_arrow_file_check(struct gr_arrow_file *file, const bool *wanted)
{
    file->file.wanted = wanted;
    return arrow_in_check(&file->file);
}

granary_err
gr_arrow_file_read(struct gr_arrow_file *file, const bool *wanted, size_t first, size_t count,
                   granary_frame **ret_frame)
{
    granary_err err;

    if (first > file->footer.batches.count || count > file->footer.batches.count - first) {
        return gr_fail(GRANARY_EINVAL, "Arrow file: batches %zu to %zu of %zu", first, first + count,
                       file->footer.batches.count);
    }
    err = gr_arrow_file_check(file, wanted);
    if (err != GRANARY_OK) {
        return err;
    }
    file->file.budget = file->file.size;
    err = arrow_in_dictionaries(&file->file, &file->footer);
    if (err == GRANARY_OK) {
        err = arrow_in_batches(&file->file, file->footer.batches, first, count, ret_frame);
    }
    arrow_in_dictionaries_free(&file->file);
    return err;
}
