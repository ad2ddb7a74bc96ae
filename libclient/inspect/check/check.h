/*
 * fsck, from inside. A check is one look at everything; what it found is kept until the next look confirms it.
 *
 * A store that died leaves some things half done, by design: adoption puts them right. check_torn() tells which
 * kind of finding those are: damage while a store serves (it would have to have finished them), else a note.
 */
#ifndef INSPECT_CHECK_H
#define INSPECT_CHECK_H

#include "inspect/inspector.h"

struct finding {
    granary_finding_kind kind;
    const char *code;
    uint32_t session;
    granary_id id;
    uint64_t number;
    char *text;
};

/* An object of any session, or an alias: its slot. */
struct check_object {
    struct slot_copy slot;
    uint32_t session;
};

struct check {
    granary_inspector *inspector;
    int flags; /* GRANARY_CHECK_... */
    granary_instance_info info;
    struct root_limits limits;
    struct client_copy *clients;
    size_t client_count;
    struct segment_copy *segments; /* in order of numbers */
    size_t segment_count;
    struct file_entry *files;
    size_t file_count;
    uint32_t *sessions;
    size_t session_count;
    struct check_object *objects; /* of all sessions; check_memory() sorts them by session and id */
    size_t object_count;
    size_t object_room;
    struct finding *findings;
    size_t finding_count;
    size_t finding_room;
    granary_check_summary summary;
    granary_err err; /* ENOMEM and the like: the look is void */
};

/* id: the slot's words, or NULL. */
void check_found(struct check *check, granary_finding_kind kind, const char *code, uint32_t session, const uint64_t *id,
                 uint64_t number, const char *format, ...) __attribute__((format(printf, 7, 8)));

granary_finding_kind check_torn(const struct check *check);

/* The id of a slot as text. Returns text. */
const char *check_id(const uint64_t id[2], char text[GRANARY_ID_TEXT + 1]);

static inline bool
check_in_memory(const struct slot_copy *slot)
{
    enum gr_slot_state state = GR_WORD_STATE(slot->word);

    return state == GR_SLOT_SEALED || state == GR_SLOT_RETIRING || state == GR_SLOT_DELETING;
}

/* Objects of a session with that id, side by side in check->objects; NULL when there are none. After check_memory(). */
const struct check_object *
check_find(const struct check *check, uint32_t session, const uint64_t id[2], size_t *ret_count);

const struct segment_copy *check_segment(const struct check *check, uint32_t number);
const struct client_copy *check_client(const struct check *check, uint32_t number);
const struct file_entry *check_file(const struct check *check, uint32_t session, const char *kind, uint32_t number);

/* The parts, in this order. */
void check_root(struct check *check);
void check_index(struct check *check, uint32_t session);
void check_memory(struct check *check);
void check_holds(struct check *check, uint32_t session);
void check_tables(struct check *check, uint32_t session);
void check_disk(struct check *check);

#endif
