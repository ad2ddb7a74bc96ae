/* Tables of counters: made on demand, adopted from the store before, closed with the session. */
#include "store/core/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "store/base/shmfile.h"

#define BYTES sizeof(struct gr_counters)

static void
name_of(const struct session *session, char ret_name[96])
{
    shmfile_name(ret_name, session->store->instance.shm_prefix, session->number, "counters", SHMFILE_NO_NUMBER);
}

/* For who looks at the file from outside; what is not there yet is written again by the next store. */
static void
write_head(struct gr_counters *counters, uint32_t session)
{
    atomic_store_explicit(&counters->version, GR_SHM_VERSION, memory_order_relaxed);
    atomic_store_explicit(&counters->session, session, memory_order_relaxed);
    atomic_store_explicit(&counters->magic, GR_COUNTERS_MAGIC, memory_order_release);
}

static void
count_in(struct session *session)
{
    session->has_counters = true;
    account_add(&session->store->account, GR_ACCOUNT_INDEX, BYTES);
}

granary_err
counters_open(struct session *session)
{
    char name[96];
    void *bytes;
    int fd = -1;
    granary_err err;

    if (session->has_counters) {
        return GRANARY_OK;
    }
    name_of(session, name);
    err = shmfile_create_mapped(name, BYTES, &fd, &bytes);
    if (err != GRANARY_OK) {
        return err;
    }
    FAULT_STEP(counters_before_head);
    write_head(bytes, session->number);
    (void)munmap(bytes, BYTES);
    gr_fd_close(&fd);
    count_in(session);
    return GRANARY_OK;
}

granary_err
counters_adopt(struct session *session)
{
    char name[96];
    struct stat file;
    void *bytes;
    granary_err err;
    int fd;

    name_of(session, name);
    fd = gr_shm_open(name, O_RDWR);
    if (fd < 0) {
        return gr_shm_is_missing() ? GRANARY_OK : gr_fail_errno("shared memory %s", name);
    }
    if (fstat(fd, &file) == 0 && (uint64_t)file.st_size != BYTES) { /* none that was ever counted in */
        gr_fd_close(&fd);
        (void)shm_unlink(name);
        return GRANARY_OK;
    }
    /* All of its pages: the last store may have died while it made them. */
    bytes =
        gr_fd_allocate(fd, 0, BYTES) == 0 ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    err = bytes == MAP_FAILED ? gr_fail_errno("shared memory %s", name) : GRANARY_OK;
    gr_fd_close(&fd);
    if (err != GRANARY_OK) {
        return err;
    }
    write_head(bytes, session->number);
    (void)munmap(bytes, BYTES);
    count_in(session);
    return GRANARY_OK;
}

uint64_t
counters_bytes(const struct session *session)
{
    return session->has_counters ? BYTES : 0;
}

int
counters_descriptor(const struct session *session, granary_err *ret_err)
{
    char name[96];
    int fd;

    name_of(session, name);
    fd = gr_shm_open(name, O_RDWR | O_NONBLOCK);
    if (fd < 0) {
        *ret_err = gr_fail_errno("shared memory %s", name);
    }
    return fd;
}

void
counters_close(struct session *session)
{
    char name[96];

    if (session->has_counters) {
        name_of(session, name);
        (void)shm_unlink(name);
        account_take(&session->store->account, GR_ACCOUNT_INDEX, BYTES);
        session->has_counters = false;
    }
}
