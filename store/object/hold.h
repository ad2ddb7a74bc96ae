/*
 * Pins, references and leases counted by the store: records of the ledger, and what they do to objects.
 *
 * A keeper is a record that keeps an object obtainable: a reference, a name, a container. An object that is deleted
 * while it has keepers is DROPPED, and ends with the last of them; a COUNTED one ends with its last keeper anyway. A
 * counted object that nobody has kept yet is kept by its creator, by a reference marked so.
 */
#ifndef STORE_HOLD_H
#define STORE_HOLD_H

#include "store/core/core.h"

/* What the store holds of it. */
struct holds {
    bool counted; /* a session has leases that are counted, or had */
    bool end;     /* records of some ledger are to be worked off, see hold_turn() */
};

/* EINVAL when a text is longer than it may be, or gr_text_check() refuses it. what: "name", ... */
granary_err hold_check_text(const char text[GR_LEDGER_TEXT], const char *what);

/*
 * Pins and references of the client. The same request is done once. EINVAL: its number is another one's.
 *
 * Errors  hold_pin: EFULL the object has too many pins, or the ledger no room · ENOMEM; hold_unpin: ENOENT · EPERM;
 *         hold_reference: ENOENT no object · as hold_pin; hold_unreference: as hold_unpin
 */
granary_err hold_pin(struct client *client, struct gr_slot *slot, const struct gr_hold *hold, uint64_t *ret_token);
granary_err hold_unpin(struct client *client, const struct gr_hold *hold);
granary_err hold_reference(struct client *client, const struct gr_hold *hold, uint64_t *ret_token);
granary_err hold_unreference(struct client *client, const struct gr_hold *hold);

/*
 * A lease of a SEALED object, counted by the store, and its end; both by the client's number for it.
 * Errors: hold_lease: ESTATE · EFULL · ENOMEM; hold_unlease: ENOENT
 */
granary_err hold_lease(struct client *client, granary_id id, uint64_t serial, uint64_t request);
granary_err hold_unlease(struct client *client, uint64_t request);

/*
 * A request of the client takes a record out: noted first, so that the same request, sent again after a restart, takes
 * no other one. number 0: there is none.
 */
void hold_note_end(struct client *client, uint64_t request, uint32_t number);
/* Whether that request was noted already. Then *ret_number is its record, 0 when it has gone, and *ret_id its object.
 */
bool hold_was_noted(const struct client *client, uint64_t request, uint32_t *ret_number, granary_id *ret_id);

/* The creator's reference to a counted object, before it is sealed; and taken back when the seal fails. */
granary_err hold_creator(struct client *client, granary_id id);
void hold_creator_undo(struct session *session, granary_id id);

/* A record of the ledger that keeps the object has come, or one has gone: the object may end. */
void hold_note_keeper(struct session *session, granary_id id);
void hold_forget_keeper(struct session *session, granary_id id);

/* The object ends: what is said about it and does not keep it ends before. */
void hold_object_ends(struct session *session, granary_id id);

/* The client is gone: what ends with it goes by and by. */
void hold_client_gone(struct client *client);

/*
 * Records about an id (all zero: all) behind a token, in the order of tokens: at most `most`.
 * Returns how many; their word says which kind they are.
 */
size_t hold_list(const struct session *session, granary_id id, uint64_t after, struct gr_ledger_record *ret_records,
                 size_t most);

/* Work that was left for later, a slice of it. True: there is more. */
bool hold_turn(struct store *store, int64_t now_ns);

/*
 * The ledger was adopted, the slots and session->deleting are in place, and no pins are counted. Drop records of
 * clients that are gone (lives says) and of missing objects. Count the rest, end objects that nobody keeps any more,
 * and find the aliases again. Errors: ENOMEM
 */
granary_err hold_adopt(struct session *session, bool (*lives)(const struct store *store, uint32_t client));

#endif
