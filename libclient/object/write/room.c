/*
 * Room to write: data segments the store granted to this process, carved from the start on.
 *
 *   a room is     entered by            objects of it may be open   next
 *   current       room_install()        yes                         closing, idle, spare
 *   spare         room_offer()          no                          current, idle (the store took it)
 *   dedicated     room_install()        one                         idle
 *   closing       room_close()          yes                         idle
 *   idle          room_retire()         no                          current, dedicated (granted again), unmapped
 *
 * An idle room keeps its mapping: when the store grants the segment again, its pages are mapped already.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "object/client.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE          ((uint64_t)4096)
#define PAGE_UP(size) (((size) + PAGE - 1) & ~(PAGE - 1))
#define ROOM_FIRST    ((uint64_t)1 << 20)  /* the first shared room; each next is twice as large */
#define ROOM_LARGEST  ((uint64_t)64 << 20) /* ... up to this */
#define ROOM_OWN      ((uint64_t)8 << 20)  /* objects of this size get a room of their own */
#define ROOM_LEAST    ((uint64_t)64 << 10)
#define ROOM_SHARE    32 /* of a little store's memory shared rooms are smaller, and objects have their own sooner */
#define POPULATE_STEP ((uint64_t)256 << 10)
/* The socket is lent to other threads this often while the store makes room. */
#define SLICE_MS 250

struct room *
room_of(granary_client *client, uint32_t segment)
{
    struct segment *entry = segment_entry(client, segment);

    return entry == NULL || entry->room == NULL || !entry->room->ours ? NULL : entry->room;
}

/* Nothing is being made in the current room: the store may take it for others. */
static void
room_offer(granary_client *client, const struct room *room)
{
    atomic_store(&client->page->spare_room, GR_OFFER(room->segment));
}

/* Before the current room is used again, or goes: there is none any more if the store has taken it meanwhile. */
static void
room_take_back(granary_client *client)
{
    struct room *room = client->room;
    _Atomic uint64_t *word = &client->page->spare_room;

    if (room != NULL && !gr_offer_withdraw(word, GR_OFFER(room->segment)) &&
        atomic_load(word) == (GR_OFFER(room->segment) | GR_OFFER_TAKEN)) {
        room->ours = false;
        room->current = false;
        client->room = NULL;
    }
}

static void
room_retire(granary_client *client, struct room *room)
{
    uint64_t position;

    room->ours = false;
    if (ring_push(client, &(struct gr_ring_entry){.op = GR_RING_RETIRE, .segment = room->segment}, NULL, false,
                  &position) != GRANARY_OK) {
        room->next = client->unretired;
        client->unretired = room;
    }
}

void
room_forget_unretired(granary_client *client, const struct room *room)
{
    struct room **place = &client->unretired;

    while (*place != NULL && *place != room) {
        place = &(*place)->next;
    }
    if (*place != NULL) {
        *place = room->next;
    }
}

/* Tell what could not be told while there was no store. Takes the lock itself. */
static void
rooms_retire_late(granary_client *client)
{
    struct room *room;

    (void)pthread_mutex_lock(&client->lock);
    while ((room = client->unretired) != NULL) {
        client->unretired = room->next;
        room_retire(client, room);
        if (client->unretired == room) {
            break;
        }
    }
    (void)pthread_mutex_unlock(&client->lock);
}

/* No more is carved here. */
static void
room_close(granary_client *client, struct room *room)
{
    room->current = false;
    client->room = client->room == room ? NULL : client->room;
    if (room->ours && room->outstanding == 0) {
        room_retire(client, room);
    }
}

void
room_return(granary_client *client, uint32_t segment)
{
    uint64_t position;

    (void)pthread_mutex_lock(&client->lock);
    (void)ring_push(client, &(struct gr_ring_entry){.op = GR_RING_RETIRE, .segment = segment}, NULL, false, &position);
    (void)pthread_mutex_unlock(&client->lock);
}

void
room_settle(granary_client *client, struct room *room)
{
    room->outstanding--;
    if (room->outstanding == 0 && room->current) {
        room_offer(client, room);
    } else if (room->outstanding == 0) {
        room_retire(client, room);
    }
}

void
room_surrender(struct room *room)
{
    (void)munmap(room->base, room->mapped_bytes);
    room->base = NULL;
    room->mapped_bytes = 0;
}

static bool
shm_has(uint64_t bytes)
{
    struct statvfs shm;

    return statvfs("/dev/shm", &shm) == 0 && (uint64_t)shm.f_bavail * shm.f_frsize >= bytes;
}

/* EFAULT: writing there would be a SIGBUS, for the file system gives no more pages, or the file ends before. */
static granary_err
no_pages(const struct room *room, int error)
{
    if (error == EFAULT && shm_has(2 * ROOM_LARGEST)) {
        return gr_fail(GRANARY_ECORRUPT, "room in segment %u: its file is too short: some process has cut it",
                       room->segment);
    }
    errno = error;
    return error == ENOSPC || error == EFAULT
               ? gr_fail(GRANARY_EFULL,
                         "/dev/shm is full: free some of it, or start the store with a smaller memory budget")
               : gr_fail_errno("pages for a room");
}

/* Which pages touching it cannot fail on: what the store says, or all of them before Linux 5.14. */
static granary_err
room_allocate(struct room *room, uint64_t warm_bytes, int fd)
{
    room->populated = room->fresh ? 0 : warm_bytes < room->size_bytes ? warm_bytes : room->size_bytes;
    room->fresh = false;
    if (madvise(room->base, 0, MADV_POPULATE_WRITE) == 0 || room->populated == room->size_bytes) {
        return GRANARY_OK;
    }
    if (gr_fd_allocate(fd, 0, room->size_bytes) < 0) {
        return no_pages(room, errno);
    }
    room->populated = room->size_bytes;
    return GRANARY_OK;
}

/* Give pages to the first end bytes, so that writing them cannot fail. */
static granary_err
room_populate(struct room *room, uint64_t end)
{
    uint64_t from = room->populated & ~(PAGE - 1);

    while (from < end) {
        uint64_t step = end - from > ROOM_LARGEST ? ROOM_LARGEST : PAGE_UP(end - from);

        if (madvise(room->base + from, step, MADV_POPULATE_WRITE) < 0) {
            if (errno == EINTR || errno == EAGAIN) {
                continue;
            }
            return no_pages(room, errno);
        }
        from += step;
        room->populated = from;
    }
    return GRANARY_OK;
}

/* ---- asking for room; with the ticket, without the lock ---- */

/* Find or make the room of a granted segment, mapped. */
static granary_err
room_map(granary_client *client, const struct gr_room_reply *reply, int fd, struct room **ret_room)
{
    struct segment *entry = segment_entry(client, reply->segment);
    struct room *room = entry == NULL ? NULL : entry->room;
    granary_err err;
    void *base;

    if (room != NULL && room->mapped_bytes == reply->size_bytes) {
        *ret_room = room;
        return room->ours ? gr_fail(GRANARY_EPROTO, "the store granted segment %u twice", room->segment) : GRANARY_OK;
    }
    if (entry == NULL || (room == NULL && (room = calloc(1, sizeof *room)) == NULL)) {
        return gr_fail(GRANARY_ENOMEM, "room: out of memory");
    }
    err = segment_mmap(fd, reply->size_bytes, PROT_READ | PROT_WRITE, &base);
    if (err != GRANARY_OK) {
        if (entry->room == NULL) {
            free(room);
        }
        return gr_fail_in(err, "room in segment %u", reply->segment);
    }
    if (room->base != NULL) {
        (void)munmap(room->base, room->mapped_bytes);
    } else if (entry->room == NULL) {
        atomic_fetch_add(&client->map_count, 1);
    }
    room->segment = reply->segment;
    room->base = base;
    room->mapped_bytes = reply->size_bytes;
    room->fresh = true;
    *ret_room = room;
    return GRANARY_OK;
}

/* ret_full: the current room before, which is not any more; counted as outstanding until it is settled. */
static granary_err
room_install(granary_client *client, struct gr_frame_in *frame, uint64_t min_bytes, bool own, struct room **ret_room,
             struct room **ret_full)
{
    struct gr_room_reply reply;
    struct room *room = NULL;
    granary_err err;

    memcpy(&reply, frame->body, sizeof reply);
    if (reply.size_bytes < min_bytes) {
        return gr_fail(GRANARY_EPROTO, "the store granted less room than was asked for");
    }
    (void)pthread_mutex_lock(&client->lock);
    if (!own) {
        room_take_back(client);
    }
    err = room_map(client, &reply, frame->fds[0], &room);
    if (err == GRANARY_OK) {
        segment_entry(client, reply.segment)->room = room;
        room->size_bytes = reply.size_bytes;
        err = room_allocate(room, reply.warm_bytes, frame->fds[0]);
    }
    if (err == GRANARY_OK) {
        room->used = 0;
        room->outstanding = 0;
        room->ours = true;
        room->current = !own;
        room_forget_unretired(client, room);
        if (!own) {
            if (client->room != NULL) {
                client->room->current = false;
                client->room->outstanding++;
                *ret_full = client->room;
            }
            client->room = room;
        }
        *ret_room = room;
        if (client->socket.unwanted == reply.segment) {
            client->socket.unwanted = 0; /* a late answer granted it to the request that is asked again */
        }
    } else if (err == GRANARY_ENOMEM || err == GRANARY_EFULL || err == GRANARY_ECORRUPT) {
        client->socket.unwanted = reply.segment;
    }
    (void)pthread_mutex_unlock(&client->lock);
    return err;
}

bool
room_take_granted(granary_client *client)
{
    uint64_t asked = atomic_load_explicit(&client->page->asked_room, memory_order_relaxed);

    return gr_offer_withdraw(&client->page->asked_room, asked);
}

static bool
current_fits(granary_client *client, uint64_t footprint)
{
    bool fits;

    (void)pthread_mutex_lock(&client->lock);
    fits = client->room != NULL && client->room->size_bytes - client->room->used >= footprint;
    (void)pthread_mutex_unlock(&client->lock);
    return fits;
}

/*
 * One request, which is answered in answer_ms; nothing is waited for beyond until_ns. *ret_room stays NULL when another
 * thread fetched room that will do.
 */
static granary_err
room_ask(granary_client *client, const struct gr_room *request, bool own, int64_t answer_ms, int64_t until_ns,
         struct room **ret_room)
{
    struct gr_frame_in frame = {.fd_count = 0};
    struct room *full = NULL;
    granary_err err = GRANARY_OK;

    if (!socket_take_until(client, until_ns)) {
        return gr_fail(GRANARY_EFULL, "no room in time: others of this process waited for some");
    }
    if (own || !current_fits(client, request->min_bytes)) {
        err = socket_ask_until(client, GR_STORE_ROOM, request, sizeof *request, answer_ms, until_ns, &frame);
        while (err == GRANARY_OK && !room_take_granted(client)) {
            gr_frame_in_reset(&frame);
            err = socket_ask_until(client, GR_STORE_ROOM, request, sizeof *request, answer_ms, until_ns, &frame);
        }
        if (err == GRANARY_OK) {
            err = room_install(client, &frame, request->min_bytes, own, ret_room, &full);
            gr_frame_in_reset(&frame);
        }
    }
    socket_give(client);
    if (full != NULL) {
        (void)pthread_mutex_lock(&client->lock);
        room_settle(client, full);
        (void)pthread_mutex_unlock(&client->lock);
    }
    return err;
}

/* The NUMA node this thread runs on; -1: unknown. */
static int32_t
cpu_node(void)
{
    unsigned cpu;
    unsigned node;

    return getcpu(&cpu, &node) == 0 ? (int32_t)node : -1;
}

static granary_err
room_request(granary_client *client, uint64_t footprint, uint64_t want, bool own, int64_t deadline_ns,
             struct room **ret_room)
{
    struct gr_room request = {.min_bytes = own ? PAGE_UP(footprint) : footprint,
                              .want_bytes = want,
                              .node = cpu_node(),
                              .request = request_next(client)};
    bool begun = wait_begin(client, GR_WAIT_room, NULL, footprint);
    int64_t began_ns = gr_now_ns();
    char full[512] = ""; /* why there was none when the store said so last */
    granary_err err;

    for (;;) {
        int64_t left = deadline_ns == INT64_MAX ? REQUEST_TIMEOUT_MS : gr_left_ms(deadline_ns);
        int64_t answer = left < REQUEST_LEAST_MS ? REQUEST_LEAST_MS : left;
        int64_t until_ns = deadline_ns == INT64_MAX ? INT64_MAX : gr_deadline_ns(answer);

        request.timeout_ms = left < SLICE_MS ? left : SLICE_MS;
        err = room_ask(client, &request, own, answer, until_ns, ret_room);
        if (err != GRANARY_EFULL || left <= request.timeout_ms || client_is_given_up()) {
            break;
        }
        (void)snprintf(full, sizeof full, "%s", granary_error_message());
        request.again = 1; /* from now on the store answers when there is room, or the slice is over */
    }
    wait_end(client, begun);
    if (err == GRANARY_EUNREACHABLE && full[0] != '\0' && client_alive(client)) {
        err = gr_fail(GRANARY_EFULL, "%s", full); /* the time was over before it answered once more */
    }
    if (err == GRANARY_OK) {
        client_timed(client, GR_LATENCY_room_wait, began_ns);
        rooms_retire_late(client);
    }
    segment_counted(client);
    return err;
}

/* What the session may have in memory. */
static uint64_t
quota_of(const granary_client *client)
{
    uint64_t quota = atomic_load_explicit(&client->control->quota_bytes, memory_order_relaxed);

    return quota == 0 || quota > client->capacity_bytes ? client->capacity_bytes : quota;
}

/* A small part of that: what dies in a room stays in use until the room is closed. */
static uint64_t
share_of(const granary_client *client, uint64_t most)
{
    uint64_t share = quota_of(client) / ROOM_SHARE / PAGE * PAGE;

    return share > most ? most : share < ROOM_LEAST ? ROOM_LEAST : share;
}

/* The largest room to be shared by objects. */
static uint64_t
shared_most(const granary_client *client)
{
    return share_of(client, ROOM_LARGEST);
}

static uint64_t
room_want(granary_client *client, uint64_t footprint)
{
    uint64_t largest = shared_most(client);
    uint64_t want = client->room_want < ROOM_FIRST ? ROOM_FIRST : client->room_want;

    want = want > largest ? largest : want;
    client->room_want = want * 2;
    return PAGE_UP(want < footprint ? footprint : want);
}

/*
 * Objects of nearly the same size, such as a table's chunks, get rooms of the same size. A freed room then suits the
 * next one, with its pages, and nobody makes new ones. A sixteenth is spent at most.
 */
static uint64_t
own_want(uint64_t bytes)
{
    uint64_t step = PAGE;

    while (step * 32 <= bytes) {
        step *= 2;
    }
    return (bytes + step - 1) / step * step;
}

/* ---- carving; with the lock ---- */

static granary_err
carve_own(granary_client *client, uint64_t footprint, uint64_t ahead, int64_t deadline_ns, struct room **ret_room)
{
    struct room *room = NULL;
    granary_err err;

    (void)pthread_mutex_unlock(&client->lock);
    err = room_request(client, footprint, own_want(footprint + ahead), true, deadline_ns, &room);
    if (err == GRANARY_OK) {
        err = room_populate(room, footprint);
    }
    (void)pthread_mutex_lock(&client->lock);
    if (err == GRANARY_OK) {
        *ret_room = room;
    } else if (room != NULL) {
        room_retire(client, room);
    }
    return err;
}

static granary_err
carve_shared(granary_client *client, uint64_t footprint, int64_t deadline_ns, struct room **ret_room)
{
    room_take_back(client);
    while (client->room == NULL || client->room->size_bytes - client->room->used < footprint) {
        struct room *fresh = NULL;
        uint64_t want = room_want(client, footprint);
        granary_err err;

        if (client->room != NULL) {
            room_close(client, client->room);
        }
        (void)pthread_mutex_unlock(&client->lock);
        err = room_request(client, footprint, want, false, deadline_ns, &fresh);
        (void)pthread_mutex_lock(&client->lock);
        if (err != GRANARY_OK) {
            return err;
        }
        room_take_back(client);
    }
    *ret_room = client->room;
    return GRANARY_OK;
}

/* Pages for the next `more` bytes, and some to spare when those are few. */
static granary_err
room_back(struct room *room, uint64_t more)
{
    uint64_t end = room->used + (more < POPULATE_STEP ? POPULATE_STEP : more);

    if (room->used + more <= room->populated) {
        return GRANARY_OK;
    }
    return room_populate(room, end < room->size_bytes ? end : room->size_bytes);
}

granary_err
room_carve(granary_client *client, uint64_t footprint, uint64_t ahead, int64_t deadline_ns, struct room **ret_room,
           uint64_t *ret_offset)
{
    struct room *room = NULL;
    granary_err err;

    if (footprint > client->capacity_bytes) {
        return gr_fail(GRANARY_EFULL,
                       "%llu bytes are more than the store's whole budget of %llu: start it with a larger one",
                       (unsigned long long)footprint, (unsigned long long)client->capacity_bytes);
    }
    if (PAGE_UP(footprint) > quota_of(client)) {
        return gr_fail(GRANARY_EFULL,
                       "%llu bytes are more than the whole quota of session '%s', %llu bytes: give the session a "
                       "larger one",
                       (unsigned long long)footprint, client->control->session_name,
                       (unsigned long long)quota_of(client));
    }
    if (footprint >= share_of(client, ROOM_OWN) || client_is_strict(client) ||
        (ahead > 0 && footprint + ahead > shared_most(client))) {
        err = carve_own(client, footprint, ahead, deadline_ns, &room);
    } else {
        err = carve_shared(client, footprint, deadline_ns, &room);
    }
    if (err == GRANARY_OK && (err = room_back(room, footprint)) != GRANARY_OK && room->current &&
        room->outstanding == 0) {
        room_offer(client, room);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    *ret_offset = room->used;
    *ret_room = room;
    room->used += footprint;
    room->outstanding++;
    return GRANARY_OK;
}

bool
room_extend(granary_client *client, struct room *room, uint64_t end)
{
    bool shared = room->current;
    granary_err err;

    if (end > room->size_bytes) {
        return false;
    }
    /* Where nothing else is carved nobody is in the way of an object: the pages may take their time. */
    if (!shared) {
        (void)pthread_mutex_unlock(&client->lock);
    }
    err = room_back(room, end - room->used);
    if (!shared) {
        (void)pthread_mutex_lock(&client->lock);
    }
    return err == GRANARY_OK;
}

void
room_give(granary_client *client, const granary_buffer *buffer)
{
    uint64_t end = buffer->offset + GR_FOOTPRINT(buffer->data_size, buffer->meta_size);
    struct room *room = room_of(client, buffer->segment);

    if (room != NULL) {
        if (room->used == end) {
            room->used = buffer->offset; /* the last one carved: its room is free at once */
        }
        room_settle(client, room);
    }
}
