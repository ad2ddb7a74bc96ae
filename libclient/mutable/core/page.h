/*
 * page: which page of the session's file is a table's, and who is at it. That is told by locks on the file's bytes
 * (contract/mutable.h), which the kernel ends with the process.
 */
#ifndef MUTABLE_PAGE_H
#define MUTABLE_PAGE_H

#include "object/object.h"

struct mutable_page {
    struct gr_mutables_map map;
    struct gr_mutable *page;
    uint32_t number;
};

/*
 * Take a free page for a new table. Nobody else can use it before page_share().
 * Errors: EFULL the session has all the tables there may be · as gr_mutables_map()
 */
granary_err page_take(granary_client *client, granary_id id, struct mutable_page *ret_page);
/* The new table is complete: its object is sealed. */
void page_share(const struct mutable_page *page);
/* The page of a table's object. Errors: ENOENT it has none: it is being deleted · as gr_mutables_map() */
granary_err page_find(granary_client *client, granary_id id, struct mutable_page *ret_page);
/* Unmapped, and nobody's. A page of zeros is fine. */
void page_close(struct mutable_page *page);

/* Have a byte of the page, until page_leave() or page_close(). False: somebody else has it. */
bool page_try(const struct mutable_page *page, uint32_t at);
/* Whether somebody has a byte of the page, this handle left out. */
bool page_is_taken(const struct mutable_page *page, uint32_t at);

/* A lane that nobody writes in, until page_close(). Errors: EFULL there are as many writers as there may be */
granary_err page_take_lane(const struct mutable_page *page, uint32_t *ret_lane);

/* The table is gone, and nothing of it is left: nobody looks for that any more. */
void page_give_up(const struct mutable_page *page);

/* Be the only one that makes, restores or ends a table whose name has that hash, or else wait; page_close() ends it. The page
 * is none. Errors: EIO · as gr_mutables_map() */
granary_err page_lock_name(granary_client *client, uint64_t hash, struct mutable_page *ret_page);

/* Of the table whose page it is, or was. */
granary_id page_id(const struct gr_mutable *page);

/* Be the only one who has a byte of the page (GR_MUTABLE_LOCK_...), until page_leave(); waits for whoever has it. Errors:
 * EIO */
granary_err page_enter(const struct mutable_page *page, uint32_t at);
void page_leave(const struct mutable_page *page, uint32_t at);

/* How many writers the table has now, but for one of this handle. */
uint32_t page_writers(const struct mutable_page *page);

#endif
