/* Get and release: leases as views. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "object/read/probe.h"

/* How far ahead get_many fetches index lines. */
#define PREFETCH 8u
/* So many gets are not timed, then one is: see client.h. */
#define GETS_UNTIMED 255

/* Turn a lease into addresses. On failure the lease is ended. */
static inline granary_err
view_map(granary_client *client, granary_id id, const struct lease *lease, granary_view *ret_view)
{
    const char *base = segment_base(client, lease->segment);

    if (__builtin_expect(base == NULL, 0)) {
        uint64_t end = lease->offset + GR_FOOTPRINT(lease->data_size, lease->meta_size);
        granary_err err = segment_map(client, lease->segment, end, &base);

        if (err != GRANARY_OK) {
            lease_end(client, lease->serial, lease->handle);
            return gr_fail_in(err, "object %s", id_text(id));
        }
        segment_counted(client);
    }
    ret_view->id = id;
    ret_view->data = base + lease->offset;
    ret_view->data_size = lease->data_size;
    ret_view->meta = lease->meta_size == 0 ? NULL : base + lease->offset + GR_ALIGNED(lease->data_size);
    ret_view->meta_size = lease->meta_size;
    ret_view->serial = lease->serial;
    ret_view->lease = lease->handle;
    return GRANARY_OK;
}

/* The same, of an object that may be an error: that is then the failure. */
static inline granary_err
view_make(granary_client *client, granary_id id, const struct lease *lease, granary_view *ret_view)
{
    granary_err err = view_map(client, id, lease, ret_view);

    if (__builtin_expect(lease->data_size == 0, 0) && err == GRANARY_OK) {
        err = failure_of_view(ret_view);
        if (err != GRANARY_OK) {
            granary_object_release(client, ret_view);
        }
    }
    return err;
}

granary_err
view_get_any(granary_client *client, granary_id id, granary_view *ret_view)
{
    struct lease lease;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK) {
        err = lease_wait(client, id, 0, gr_deadline_ns(0), &lease);
    }
    return err == GRANARY_OK ? view_map(client, id, &lease, ret_view) : err;
}

static granary_err __attribute__((noinline))
get_timed(granary_client *client, granary_id id, int timeout_ms, granary_view *ret_view)
{
    int64_t began_ns = gr_now_ns();
    granary_err err;

    atomic_store_explicit(countdown_of(client, TIMED_GET, ret_view), GETS_UNTIMED, memory_order_relaxed);
    err = granary_object_get(client, id, timeout_ms, ret_view);
    if (err == GRANARY_OK) {
        client_timed(client, GR_LATENCY_get, began_ns);
    }
    return err;
}

granary_err
granary_object_get(granary_client *client, granary_id id, int timeout_ms, granary_view *ret_view)
{
    struct lease lease;
    granary_err err;

    if (client_is_due(client, TIMED_GET, ret_view)) {
        return get_timed(client, id, timeout_ms, ret_view);
    }
    if (__builtin_expect(!client_is_ours(client) || timeout_ms < GRANARY_FOREVER, 0)) {
        return gr_client_check_wait(client, timeout_ms);
    }
    if (__builtin_expect(lease_try(client, id, &lease) != LEASE_HELD, 0)) {
        err = lease_wait(client, id, timeout_ms, gr_deadline_ns(timeout_ms), &lease);
        if (err != GRANARY_OK) {
            return err;
        }
    }
    return view_make(client, id, &lease, ret_view);
}

void
granary_object_release(granary_client *client, granary_view *view)
{
    if (view == NULL || view->lease == 0 || !client_is_ours(client)) {
        return;
    }
    lease_end(client, view->serial, view->lease);
    *view = (granary_view){.data = NULL};
}

void
granary_object_release_many(granary_client *client, granary_view *views, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        granary_object_release(client, &views[i]);
    }
}

static void
prefetch(granary_client *client, granary_id id)
{
    uint64_t words[2];
    uint64_t hash;
    struct probe probe;

    gr_id_words(id, words);
    hash = gr_slot_hash(words[0], words[1]);
    probe = probe_begin(client, gr_index_prefix(hash));
    __builtin_prefetch(&probe.page[gr_page_home(hash)]);
}

/* The store's answers to what it was asked before are waited for a little longer. */
static int64_t
answer_until(int64_t deadline_ns)
{
    int64_t least_ns = gr_deadline_ns(REQUEST_LEAST_MS);

    return deadline_ns < least_ns ? least_ns : deadline_ns;
}

/* Object i was not got: the others are (errs), or that ends it, with *ret_at. */
static granary_err
not_got(granary_err err, size_t i, granary_err *errs, size_t *ret_at)
{
    if (errs != NULL) {
        errs[i] = err;
        return GRANARY_OK;
    }
    *ret_at = i;
    return err;
}

/*
 * What can be leased at once. The rest is left all zero. Spilled ones among it are asked for, so that the store
 * brings them back while others are waited for, no longer than until_ns, as in socket_ask_object().
 */
static granary_err
get_present(granary_client *client, const granary_id *ids, size_t count, int64_t until_ns, granary_view *views,
            granary_err *errs, size_t *ret_at)
{
    struct lease lease;
    granary_err err;

    for (size_t i = 0; i < count && i < PREFETCH; i++) {
        prefetch(client, ids[i]);
    }
    for (size_t i = 0; i < count; i++) {
        enum lease_result result;
        granary_id id;

        if (i + PREFETCH < count) {
            prefetch(client, ids[i + PREFETCH]);
        }
        id = ids[i];
        result = lease_follow(client, &id, &lease);
        if (result == LEASE_HELD) {
            err = view_make(client, ids[i], &lease, &views[i]);
            err = err == GRANARY_OK ? err : not_got(err, i, errs, ret_at);
            if (err != GRANARY_OK) {
                return err;
            }
        } else if (result == LEASE_SPILLED) {
            /* An error here is met again, and reported, when this one is waited for. */
            (void)socket_ask_object(client, GR_STORE_RESTORE, id, 0, GR_RESTORE_ANEW, EXISTS_WAIT_MS, until_ns);
        }
    }
    return GRANARY_OK;
}

static granary_err
get_missing(granary_client *client, const granary_id *ids, size_t count, int timeout_ms, int64_t deadline_ns,
            granary_view *views, granary_err *errs, size_t *ret_at)
{
    for (size_t i = 0; i < count; i++) {
        struct lease lease;
        granary_err err;

        if (views[i].lease != 0 || (errs != NULL && errs[i] != GRANARY_OK)) {
            continue;
        }
        err = lease_wait(client, ids[i], timeout_ms, deadline_ns, &lease);
        if (err == GRANARY_OK) {
            err = view_make(client, ids[i], &lease, &views[i]);
        }
        err = err == GRANARY_OK ? err : not_got(err, i, errs, ret_at);
        if (err != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

granary_err
granary_object_get_many(granary_client *client, const granary_id *ids, size_t count, int timeout_ms,
                        granary_view *ret_views, size_t *ret_failed)
{
    int64_t deadline_ns = gr_deadline_ns(timeout_ms);
    granary_err err = gr_client_check_wait(client, timeout_ms);
    granary_view *views;
    size_t at = 0;

    if (err != GRANARY_OK || count == 0) {
        return err;
    }
    /* The caller's views stay what they are until all are there. */
    views = calloc(count, sizeof *views);
    if (views == NULL) {
        return gr_fail(GRANARY_ENOMEM, "get %zu objects: out of memory", count);
    }
    err = get_present(client, ids, count, timeout_ms > 0 ? answer_until(deadline_ns) : INT64_MAX, views, NULL, &at);
    if (err == GRANARY_OK) {
        err = get_missing(client, ids, count, timeout_ms, deadline_ns, views, NULL, &at);
    }
    if (err == GRANARY_OK) {
        memcpy(ret_views, views, count * sizeof *views);
    } else {
        granary_object_release_many(client, views, count);
        if (ret_failed != NULL) {
            *ret_failed = at;
        }
    }
    free(views);
    return err;
}

granary_err
granary_object_get_each(granary_client *client, const granary_id *ids, size_t count, int timeout_ms,
                        granary_view *ret_views, granary_err *ret_errs)
{
    int64_t deadline_ns = gr_deadline_ns(timeout_ms);
    granary_err err = gr_client_check_wait(client, timeout_ms);
    size_t at;

    if (err != GRANARY_OK) {
        return err;
    }
    memset(ret_views, 0, count * sizeof *ret_views);
    memset(ret_errs, 0, count * sizeof *ret_errs);
    (void)get_present(client, ids, count, timeout_ms > 0 ? answer_until(deadline_ns) : INT64_MAX, ret_views, ret_errs,
                      &at);
    (void)get_missing(client, ids, count, timeout_ms, deadline_ns, ret_views, ret_errs, &at);
    return GRANARY_OK;
}

/* One that is not there yet, while others are leased already. *ret_missing: it did not come in time. */
static granary_err
get_briefly(granary_client *client, granary_id id, int64_t deadline_ns, granary_view *ret_view, size_t *ret_missing)
{
    struct lease lease;
    granary_err err = lease_wait_briefly(client, id, deadline_ns, &lease);

    if (err == GRANARY_ETIMEDOUT || err == GRANARY_EFULL) {
        ++*ret_missing;
        return GRANARY_OK;
    }
    return err == GRANARY_OK ? view_make(client, id, &lease, ret_view) : err;
}

granary_err
granary_object_get_some(granary_client *client, const granary_id *ids, size_t count, int timeout_ms,
                        granary_view *ret_views, size_t *ret_missing, size_t *ret_failed)
{
    int64_t deadline_ns = gr_deadline_ns(timeout_ms);
    granary_err err = gr_client_check_wait(client, timeout_ms);
    size_t at = 0;

    if (err != GRANARY_OK) {
        return err;
    }
    memset(ret_views, 0, count * sizeof *ret_views);
    *ret_missing = 0;
    err = get_present(client, ids, count, answer_until(deadline_ns), ret_views, NULL, &at);
    /* What does not exist is told before anything is waited for. */
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        at = i;
        if (ret_views[i].lease == 0 && !granary_object_contains(client, ids[i])) {
            err = gr_fail(GRANARY_ENOENT, "object %s: not found", id_text(ids[i]));
        }
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        at = i;
        if (ret_views[i].lease == 0) {
            err = get_briefly(client, ids[i], deadline_ns, &ret_views[i], ret_missing);
        }
    }
    if (err != GRANARY_OK) {
        granary_object_release_many(client, ret_views, count);
        if (ret_failed != NULL) {
            *ret_failed = at;
        }
    }
    return err;
}

bool
granary_object_contains(granary_client *client, granary_id id)
{
    struct slot_copy copy;

    return client_is_ours(client) && slot_find(client, id, &copy);
}
