/* The account once more, from what each segment says. */
#include "store/segment/audit.h"

#include "store/core/core.h"
#include "store/segment/giveback.h"
#include "store/segment/segment.h"

/* What one segment adds to each part of the account. */
static void
audit_segment(const struct segment *segment, uint64_t parts[GR_ACCOUNT_COUNT])
{
    uint64_t open = segment->closed ? 0 : segment->size - segment->sealed_total;

    parts[segment->open_as] += open;
    parts[GR_ACCOUNT_SEALED] += segment->live;
    parts[GR_ACCOUNT_RETIRING] += segment->deleting;
    parts[GR_ACCOUNT_POOLED] += segment_dead(segment);
}

/* What some sessions add to the account; *idle and *clean too. */
static void
audit_sessions(const struct list *sessions, uint64_t parts[GR_ACCOUNT_COUNT], uint64_t *idle, uint64_t *clean)
{
    list_each (const struct session, session, sessions, in_store) {
        list_each (const struct segment, segment, &session->segments, in_session) {
            audit_segment(segment, parts);
            *idle += segment->is_idle ? segment->size : 0;
            *clean += segment->clean;
        }
    }
}

bool
store_audit(const struct store *store)
{
    uint64_t parts[GR_ACCOUNT_COUNT] = {0};
    uint64_t idle = 0;
    uint64_t clean = 0;

    audit_sessions(&store->sessions.all, parts, &idle, &clean);
    audit_sessions(&store->sessions.dying, parts, &idle, &clean);
    parts[GR_ACCOUNT_POOLED] += giveback_returning(store);
    for (int part = GR_ACCOUNT_RESERVED; part <= GR_ACCOUNT_POOLED; part++) {
        if (parts[part] != store->account.bytes[part]) {
            return false;
        }
    }
    return account_balances(&store->account) && idle == store->account.idle && clean == store->account.clean;
}
