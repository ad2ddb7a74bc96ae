/* HELLO: a connection becomes a client, or becomes the one it was with the store before. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/text/text.h"
#include "contract/versions.h"
#include "store/base/lease_region.h"
#include "store/base/shmfile.h"
#include "store/client/client.h"
#include "store/client/request.h"
#include "store/core/answer.h"
#include "store/core/events.h"
#include "store/object/counted.h"
#include "store/object/session.h"

/* A lease page of its own, mapped here and ready for the client. */
static granary_err
make_page(struct client *client, struct session *session, int *ret_fd)
{
    struct store *store = client->store;
    struct gr_lease_page *page;
    char name[96];
    void *bytes;
    granary_err err;
    int fd = -1;

    shmfile_name(name, store->instance.shm_prefix, session->number, "lease", client->number);
    err = shmfile_create_mapped(name, sizeof *page, &fd, &bytes);
    if (err != GRANARY_OK) {
        return err;
    }
    (void)munmap(bytes, sizeof *page);
    err = lease_region_map(store->clients.leases, fd, &client->page_place, &page);
    if (err != GRANARY_OK) {
        (void)shm_unlink(name);
        gr_fd_close(&fd);
        return err;
    }
    page->version = store->root.shm->version;
    page->client = client->number;
    page->pid = client->record->pid;
    page->start_time = client->record->start_time;
    memcpy(page->tag, client->tag, sizeof page->tag);
    FAULT_STEP(lease_page_fields);
    atomic_store_explicit(&page->magic, GR_LEASE_MAGIC, memory_order_release);
    client->page = page;
    *ret_fd = fd;
    return GRANARY_OK;
}

/* A number, and a record of who has it: before there is anything in its name. */
static granary_err
make_record(struct client *client, const struct session *session)
{
    struct root *root = &client->store->root;
    struct gr_client_record *record;
    granary_err err = root_take_client(root, &record);

    if (err != GRANARY_OK) {
        return err;
    }
    client->number = root_number(&root->shm->next_client);
    if (client->number == 0) {
        return gr_fail(GRANARY_EFULL, "this store has used up its client numbers; restart the instance");
    }
    record->session = session->number;
    record->pid = (uint32_t)client->pid;
    record->start_time = gr_process_start_time(client->pid);
    record->uid = (uint32_t)client->uid;
    record->since_ms = (uint64_t)gr_wall_ms();
    memcpy(record->tag, client->tag, sizeof record->tag);
    FAULT_STEP(client_record_fields);
    atomic_store_explicit(&record->word, client->number, memory_order_release);
    FAULT_STEP(client_record_made);
    client->record = record;
    return GRANARY_OK;
}

/* What is told to a client that is one of the session's now. page_fd is closed. */
static granary_err
welcome(struct client *client, const struct gr_frame *request, int page_fd)
{
    struct store *store = client->store;
    struct session *session = client->session;
    struct gr_hello_reply reply = {
        .client = client->number,
        .session = session->number,
        .epoch = atomic_load(&store->root.shm->epoch),
        .capacity_bytes = store->account.bytes[GR_ACCOUNT_CAPACITY],
    };
    granary_err err = client_open_doorbell(client);
    int fds[3] = {-1, page_fd, client->doorbell_fd};
    char name[96];

    if (err == GRANARY_OK) {
        shmfile_name(name, store->instance.shm_prefix, session->number, "control", SHMFILE_NO_NUMBER);
        fds[0] = shmfile_open_readonly(name, &err);
    }
    if (fds[0] >= 0) {
        session_publish(session);
        event_note(store, session, GR_EVENT_CLIENT, NULL, (uint64_t)client->pid, 0, client->number);
        client_answer(client, request, &reply, sizeof reply, fds, 3);
    }
    gr_fd_close(&fds[0]);
    gr_fd_close(&page_fd);
    return err;
}

static granary_err
join(struct client *client, struct session *session, const struct gr_frame *request)
{
    int page_fd = -1;
    granary_err err = make_record(client, session);

    if (err != GRANARY_OK) {
        return err;
    }
    err = make_page(client, session, &page_fd);
    if (err != GRANARY_OK) {
        root_drop_client(client->record);
        client->record = NULL;
        return err;
    }
    client_join(client, session);
    return welcome(client, request, page_fd);
}

/* A client of the store before this one comes back. Errors: ENOENT there is none such, or not any more */
static granary_err
resume(struct client *client, const struct gr_hello *hello, const struct gr_frame *request)
{
    struct store *store = client->store;
    struct client *orphan = client_find_orphan(client, hello->resume);
    granary_err err = GRANARY_OK;
    char name[96];
    int fd;

    if (orphan == NULL) {
        return gr_fail(GRANARY_ENOENT, "the store knows of no client %u of process %d", hello->resume,
                       (int)client->pid);
    }
    shmfile_name(name, store->instance.shm_prefix, orphan->session->number, "lease", orphan->number);
    fd = gr_shm_open(name, O_RDWR | O_NONBLOCK);
    if (fd < 0) {
        return gr_fail(GRANARY_ENOENT, "the lease page of client %u is gone", hello->resume);
    }
    err = client_take_socket(orphan, client);
    if (err != GRANARY_OK) {
        gr_fd_close(&fd);
        return err;
    }
    ring_drain_once(orphan);
    if (orphan->gone) {
        gr_fd_close(&fd);
        return GRANARY_OK;
    }
    counted_settle(orphan);
    count(orphan->session, GR_COUNTER_reconnects, 1);
    err = welcome(orphan, request, fd);
    return err == GRANARY_OK ? GRANARY_OK : client_answer_error(orphan, request, err);
}

/* Others will read it in their messages. */
static void
take_tag(struct client *client, const char *tag)
{
    (void)snprintf(client->tag, sizeof client->tag, "%.*s", (int)sizeof client->tag - 1, tag);
    gr_text_blank(client->tag, strlen(client->tag), "");
}

granary_err
on_hello(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_hello hello = {0};
    struct session *session;
    granary_err err;

    /* Whatever a later version appends, its numbers come first. */
    memcpy(&hello, frame->body, frame->head.size < sizeof hello ? frame->head.size : sizeof hello);
    if (frame->head.size < 2 * sizeof(uint32_t)) {
        return gr_fail(GRANARY_EPROTO, "HELLO of %u bytes", frame->head.size);
    }
    if (!gr_store_known(hello.version) || hello.shm_version > client->store->root.shm->version) {
        return client_answer_error(
            client, &frame->head,
            gr_fail(GRANARY_EVERSION,
                    "the store speaks protocol %u (shared memory %u), the client %u (%u): use the same release of both",
                    GR_STORE_VERSION, client->store->root.shm->version, hello.version, hello.shm_version));
    }
    if (frame->head.size != sizeof hello) {
        return gr_fail(GRANARY_EPROTO, "HELLO of %u bytes", frame->head.size);
    }
    hello.session[sizeof hello.session - 1] = '\0';
    hello.tag[sizeof hello.tag - 1] = '\0';
    session_name_own(client, hello.session);
    take_tag(client, hello.tag);
    if (hello.resume != 0) {
        err = resume(client, &hello, &frame->head);
        return err == GRANARY_OK || client->gone ? GRANARY_OK : client_answer_error(client, &frame->head, err);
    }
    session = session_find(client->store, hello.session);
    if (session == NULL && (hello.flags & GR_HELLO_EXISTING) != 0) {
        err = gr_fail(GRANARY_ENOENT, "session '%s': not found", hello.session);
    } else {
        err = session_get(client->store, hello.session, client->uid, &session);
    }
    if (err == GRANARY_OK) {
        err = session_check_user(session, client);
    }
    if (err == GRANARY_OK) {
        err = join(client, session, &frame->head);
    }
    return err == GRANARY_OK ? GRANARY_OK : client_answer_error(client, &frame->head, err);
}
