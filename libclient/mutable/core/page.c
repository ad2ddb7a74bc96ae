/* Pages and lanes, taken by open file description locks: two handles of one process exclude each other like any two. */
#include "mutable/core/page.h"

#include <errno.h>
#include <fcntl.h>

#include "base/error.h"
#include "base/id.h"
#include "mutable/core/kept.h"
#include "mutable/core/lane.h"

#define PAGES_FIRST 16u

/* A lock of a kind (F_RDLCK, F_WRLCK, F_UNLCK) on bytes of a page. False: somebody else has them. */
static bool
page_lock(int fd, int kind, uint32_t page, uint32_t at, uint32_t count)
{
    struct flock lock = {
        .l_type = (short)kind, .l_whence = SEEK_SET, .l_start = (off_t)page * GR_MUTABLE_LOCKS + at, .l_len = count};

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

granary_id
page_id(const struct gr_mutable *page)
{
    return gr_id_from_words(atomic_load_explicit(&page->id[0], memory_order_acquire),
                            atomic_load_explicit(&page->id[1], memory_order_acquire));
}

/* The first page that is nobody's, locked against all others; count: there is none. */
static uint32_t
lock_free_page(granary_client *client, const struct gr_mutables_map *map)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (granary_object_contains(client, page_id(&map->pages[i]))) {
            continue;
        }
        /* Locked, it is looked at again: somebody may have made a table there, or have one open that was deleted. */
        if (page_lock(map->fd, F_WRLCK, i, 0, GR_MUTABLE_LOCKS)) {
            if (!granary_object_contains(client, page_id(&map->pages[i]))) {
                return i;
            }
            (void)page_lock(map->fd, F_UNLCK, i, 0, GR_MUTABLE_LOCKS);
        }
    }
    return map->count;
}

granary_err
page_take(granary_client *client, granary_id id, struct mutable_page *ret_page)
{
    struct mutable_page page = {.number = 0};
    uint64_t words[2];

    for (uint32_t wanted = PAGES_FIRST;;) {
        granary_err err = gr_mutables_map(client, wanted, &page.map);

        if (err != GRANARY_OK) {
            return err;
        }
        page.number = lock_free_page(client, &page.map);
        if (page.number < page.map.count) {
            break;
        }
        wanted = page.map.count * 2 < GR_MUTABLES_MOST ? page.map.count * 2 : GR_MUTABLES_MOST;
        gr_mutables_unmap(&page.map);
        if (page.number >= GR_MUTABLES_MOST) {
            return gr_fail(GRANARY_EFULL,
                           "the session has %u mutable tables, or handles of deleted ones: delete or close some",
                           GR_MUTABLES_MOST);
        }
    }
    page.page = &page.map.pages[page.number];
    if (!gr_id_is_zero(page_id(page.page))) { /* who deleted that table died before all of it was gone */
        (void)kept_drop_all(client, page_id(page.page));
    }
    gr_id_words(id, words);
    mutable_page_init(page.page, words);
    *ret_page = page;
    return GRANARY_OK;
}

void
page_share(const struct mutable_page *page)
{
    /* The byte of users first becomes a shared lock, in one step; then the others are free. */
    (void)page_lock(page->map.fd, F_RDLCK, page->number, GR_MUTABLE_LOCK_USER, 1);
    (void)page_lock(page->map.fd, F_UNLCK, page->number, 0, GR_MUTABLE_LOCK_USER);
    (void)page_lock(page->map.fd, F_UNLCK, page->number, GR_MUTABLE_LOCK_USER + 1,
                    GR_MUTABLE_LOCKS - GR_MUTABLE_LOCK_USER - 1);
}

granary_err
page_find(granary_client *client, granary_id id, struct mutable_page *ret_page)
{
    struct mutable_page page = {.number = 0};
    granary_err err = gr_mutables_map(client, 1, &page.map);

    if (err != GRANARY_OK) {
        return err;
    }
    for (; page.number < page.map.count; page.number++) {
        page.page = &page.map.pages[page.number];
        if (gr_id_equal(page_id(page.page), id)) {
            break;
        }
    }
    /* Locked, it is looked at again: the table may be gone, and another one's the page. */
    if (page.number == page.map.count || !page_lock(page.map.fd, F_RDLCK, page.number, GR_MUTABLE_LOCK_USER, 1) ||
        !gr_id_equal(page_id(page.page), id)) {
        page_close(&page);
        return gr_fail(GRANARY_ENOENT, "the table is being deleted");
    }
    *ret_page = page;
    return GRANARY_OK;
}

void
page_give_up(const struct mutable_page *page)
{
    atomic_store_explicit(&page->page->id[0], 0, memory_order_relaxed);
    atomic_store_explicit(&page->page->id[1], 0, memory_order_release);
}

void
page_close(struct mutable_page *page)
{
    gr_mutables_unmap(&page->map);
    page->page = NULL;
}

/* Wait for one byte of the file. */
static granary_err
byte_lock(int fd, uint64_t byte)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};

    while (fcntl(fd, F_OFD_SETLKW, &lock) < 0) {
        if (errno != EINTR) {
            return gr_fail_errno("lock of mutable tables");
        }
    }
    return GRANARY_OK;
}

granary_err
page_lock_name(granary_client *client, uint64_t hash, struct mutable_page *ret_page)
{
    struct mutable_page page = {.number = 0};
    granary_err err = gr_mutables_map(client, 1, &page.map);

    err = err == GRANARY_OK ? byte_lock(page.map.fd, GR_MUTABLE_LOCK_NAMES + hash % GR_MUTABLE_NAMES) : err;
    if (err != GRANARY_OK) {
        page_close(&page);
        return err;
    }
    *ret_page = page;
    return GRANARY_OK;
}

bool
page_try(const struct mutable_page *page, uint32_t at)
{
    return page_lock(page->map.fd, F_WRLCK, page->number, at, 1);
}

bool
page_is_taken(const struct mutable_page *page, uint32_t at)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)page->number * GR_MUTABLE_LOCKS + at, .l_len = 1};

    return fcntl(page->map.fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

granary_err
page_take_lane(const struct mutable_page *page, uint32_t *ret_lane)
{
    for (uint32_t i = 0; i < GR_MUTABLE_LANES; i++) {
        if (page_try(page, i)) {
            mutable_show_lane(page->page, i);
            *ret_lane = i;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EFULL, "%u writers are at the table already: close one", GR_MUTABLE_LANES);
}

granary_err
page_enter(const struct mutable_page *page, uint32_t at)
{
    return byte_lock(page->map.fd, (uint64_t)page->number * GR_MUTABLE_LOCKS + at);
}

void
page_leave(const struct mutable_page *page, uint32_t at)
{
    (void)page_lock(page->map.fd, F_UNLCK, page->number, at, 1);
}

uint32_t
page_writers(const struct mutable_page *page)
{
    const uint32_t lanes = atomic_load(&page->page->lanes);
    uint32_t writers = 0;

    for (uint32_t i = 0; i < lanes && i < GR_MUTABLE_LANES; i++) {
        writers += page_is_taken(page, i);
    }
    return writers;
}
