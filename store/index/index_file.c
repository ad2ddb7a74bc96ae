/*
 * The index's file: as large as an index can ever be, with memory only behind what is used. What is given memory here
 * is published afterwards, so nobody touches a hole, and a full /dev/shm is an error and no SIGBUS.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "store/base/shmfile.h"
#include "store/index/index_parts.h"

#define MEMORY_PAGE 4096u

static void
name_of(const struct index *index, char ret_name[96])
{
    shmfile_name(ret_name, index->prefix, index->session, "index", SHMFILE_NO_NUMBER);
}

static granary_err
open_file(struct index *index, bool fresh)
{
    char name[96];
    struct stat st;

    name_of(index, name);
    if (fresh) {
        return shmfile_create(name, GR_INDEX_SPAN, &index->fd);
    }
    index->fd = gr_shm_open(name, O_RDWR);
    if (index->fd < 0 || fstat(index->fd, &st) < 0) {
        return gr_fail_errno("shared memory %s", name);
    }
    return st.st_size == (off_t)GR_INDEX_SPAN ? GRANARY_OK
                                              : gr_fail(GRANARY_ECORRUPT, "shared memory %s: not an index", name);
}

granary_err
index_open(struct index *index, const char *prefix, uint32_t session, _Atomic uint32_t *depth, bool fresh)
{
    granary_err err;
    void *base;

    *index = (struct index){.session = session, .depth = depth, .first_free = INDEX_NO_PAGE, .fd = -1};
    (void)snprintf(index->prefix, sizeof index->prefix, "%s", prefix);
    index->pages = calloc(GR_INDEX_MAX_PAGES, sizeof *index->pages);
    if (index->pages == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for the index of session %u", session);
    }
    err = open_file(index, fresh);
    if (err != GRANARY_OK) {
        return err;
    }
    base = mmap(NULL, GR_INDEX_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, index->fd, 0);
    if (base == MAP_FAILED) {
        char name[96];

        err = gr_fail_errno("map the index of session %u", session);
        name_of(index, name);
        if (fresh) {
            (void)shm_unlink(name);
        }
        return err;
    }
    (void)madvise(base, GR_INDEX_SPAN, MADV_DONTFORK);
    index->base = base;
    return GRANARY_OK;
}

granary_err
index_back(struct index *index, uint64_t at, uint64_t have, uint64_t want)
{
    if (want <= have) {
        return GRANARY_OK;
    }
    if (FAULT_FAILS(index_pages) || gr_fd_allocate(index->fd, at + have, want - have) < 0) {
        return gr_fail_errno("the index of session %u cannot grow", index->session);
    }
    /* Sooner than a fault each; where the kernel does not know it, faults it is. */
    (void)madvise(index->base + at + have, want - have, MADV_POPULATE_WRITE);
    return GRANARY_OK;
}

static uint64_t
whole_pages(uint64_t bytes)
{
    return (bytes + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
}

granary_err
index_grow_directory(struct index *index, uint32_t depth)
{
    uint64_t want = whole_pages(sizeof(uint64_t) << depth);
    granary_err err = index_back(index, GR_INDEX_DIRECTORY_AT, index->directory_bytes, want);

    if (err == GRANARY_OK && want > index->directory_bytes) {
        index->directory_bytes = want;
    }
    return err;
}

granary_err
index_grow_records(struct index *index, uint32_t count)
{
    uint64_t want = whole_pages(count * sizeof(struct gr_page_record));
    granary_err err = index_back(index, GR_INDEX_RECORDS_AT, index->record_bytes, want);

    if (err == GRANARY_OK && want > index->record_bytes) {
        index->record_bytes = want;
    }
    return err;
}

granary_err
index_grow_pages(struct index *index)
{
    uint32_t page = index->page_count;
    granary_err err;

    if (page == GR_INDEX_MAX_PAGES) {
        return gr_fail(GRANARY_EFULL, "index full: the session has as many objects as one can have");
    }
    if (index->kept_small) {
        return gr_fail(GRANARY_EFULL,
                       "index full: the user's sessions have their share of memory for ledgers and indexes");
    }
    err = index_grow_records(index, page + 1);
    if (err == GRANARY_OK) {
        err = index_back(index, GR_INDEX_PAGES_AT, page * GR_PAGE_BYTES, (page + 1) * GR_PAGE_BYTES);
    }
    if (err == GRANARY_OK) {
        index->page_count++;
        index->pages[page].next_free = index->first_free;
        index->first_free = page;
    }
    return err;
}

uint64_t
index_bytes(const struct index *index)
{
    return index->directory_bytes + index->record_bytes + index->page_count * GR_PAGE_BYTES;
}

granary_err
index_create(struct index *index, const char *prefix, uint32_t session, _Atomic uint32_t *depth)
{
    granary_err err = index_open(index, prefix, session, depth, true);

    if (err == GRANARY_OK) {
        err = index_grow_directory(index, 0);
    }
    if (err == GRANARY_OK) {
        err = index_grow_pages(index);
    }
    if (err != GRANARY_OK) {
        index_fini(index);
        return err;
    }
    atomic_store_explicit(depth, 0, memory_order_relaxed);
    index_begin(index);
    return GRANARY_OK;
}

void
index_close(struct index *index)
{
    if (index->base != NULL) {
        (void)munmap(index->base, GR_INDEX_SPAN);
    }
    if (index->pages != NULL) {
        gr_fd_close(&index->fd);
    }
    free(index->pages);
    *index = (struct index){.fd = -1};
}

void
index_fini(struct index *index)
{
    char name[96];

    if (index->base != NULL) {
        name_of(index, name);
        (void)shm_unlink(name);
    }
    index_close(index);
}
