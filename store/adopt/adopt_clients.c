/*
 * Clients outlive the store. Their lease pages are mapped again, so their leases continue to count. Their rings are
 * drained, without a socket, until they come back with HELLO.resume.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "store/adopt/adopt_parts.h"
#include "store/base/lease_region.h"
#include "store/base/shmfile.h"
#include "store/client/client.h"
#include "store/object/session.h"

/* The page, if the file is what its client was given. Errors: ENOENT it is not · ENOMEM · EIO · ... it cannot be told
 */
static granary_err
map_page(struct client *client, const char *name)
{
    struct store *store = client->store;
    int fd = gr_shm_open(name, O_RDWR);
    struct stat st;
    granary_err err = GRANARY_ENOENT;

    if (fd < 0 ? !gr_shm_is_missing() : fstat(fd, &st) < 0) {
        err = gr_fail_errno("shared memory %s", name);
    } else if (fd >= 0 && st.st_size >= (off_t)offsetof(struct gr_lease_page, ended)) { /* as of earlier releases */
        err = lease_region_map(store->clients.leases, fd, &client->page_place, &client->page);
    }
    gr_fd_close(&fd);
    if (err == GRANARY_OK && (atomic_load_explicit(&client->page->magic, memory_order_acquire) != GR_LEASE_MAGIC ||
                              client->page->client != client->number)) {
        lease_region_unmap(store->clients.leases, client->page_place);
        client->page = NULL;
        err = GRANARY_ENOENT;
    }
    return err;
}

/* A record without a page: nothing of that client is there that could count. */
static void
forget(struct store *store, struct gr_client_record *record)
{
    char name[96];

    shmfile_name(name, store->instance.shm_prefix, record->session, "lease", (uint32_t)atomic_load(&record->word));
    (void)shm_unlink(name);
    FAULT_STEP(adopt_client_forgotten);
    root_drop_client(record);
}

static granary_err
adopt_client(struct store *store, struct gr_client_record *record)
{
    struct session *session = session_by_number(store, record->session);
    struct client *client = NULL;
    char name[96];
    granary_err err;

    if (session == NULL) {
        forget(store, record);
        return GRANARY_OK;
    }
    err = client_alloc(store, &client);
    if (err != GRANARY_OK) {
        return err;
    }
    client->number = (uint32_t)atomic_load(&record->word);
    client->record = record;
    client->pid = (pid_t)record->pid;
    client->uid = record->uid;
    memcpy(client->tag, record->tag, sizeof client->tag);
    client->tag[sizeof client->tag - 1] = '\0';
    shmfile_name(name, store->instance.shm_prefix, session->number, "lease", client->number);
    err = map_page(client, name);
    if (err != GRANARY_OK) {
        client_free(client);
        if (err == GRANARY_ENOENT) {
            forget(store, record);
            err = GRANARY_OK;
        }
        return err;
    }
    client_join_orphan(client, session);
    return GRANARY_OK;
}

granary_err
adopt_clients(struct adoption *adoption)
{
    struct store *store = adoption->store;

    for (unsigned i = 0; i < GR_MAX_CLIENTS; i++) {
        struct gr_client_record *record = &store->root.shm->clients[i];
        granary_err err;

        if (atomic_load(&record->word) != 0 && (err = adopt_client(store, record)) != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

void
adopt_finish_entries(struct store *store)
{
    /* Before any other entry of anybody: what it did, or would have done, came before those. */
    list_each (struct client, client, &store->clients.all, in_store) {
        if (ring_is_begun(client)) {
            (void)ring_drain(client, 1);
        }
    }
}

void
adopt_drop_gone(struct store *store)
{
    list_each (struct client, client, &store->clients.all, in_store) {
        /* What was executed is told to those who sleep on it. */
        ring_publish(client);
        if (!client_watch_process(client)) {
            client_drop(client, NULL);
        }
    }
    clients_bury(store);
}
