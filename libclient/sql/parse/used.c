/*
 * Every part of a statement must be used. The places of the fields that were taken of the grammar's tree are kept
 * (TAKE). Any other field that is set in the tree at the end is an error.
 */
#include <string.h>

#include "sql/parse/private.h"

/* What a user calls a field. */
#define CLAUSE(message, field, words) {&pg_query__##message##__descriptor, #field, words},
static const struct {
    const ProtobufCMessageDescriptor *of;
    const char *field;
    const char *words;
} clauses[] = {
#include "sql/parse/clauses.def"
};
#undef CLAUSE

/* Fields that say nothing about the rows. */
static const char *const silent[] = {
    "location",
    "stmt_location",
    "stmt_len",
    "version",
    "xpr",
    "funcformat",      /* whether a call was written in the words of the standard */
    "row_format",      /* whether ROW was written */
    "inh",             /* ONLY: of tables without heirs */
    "typemod",         /* always -1: typmods tells */
    "ctematerialized", /* how, not what */
};

/* ---- the places ---- */

static size_t
slot_of(const void *const *places, size_t room, const void *place)
{
    size_t slot = (size_t)(((uintptr_t)place >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (room - 1);

    while (places[slot] != NULL && places[slot] != place) {
        slot = (slot + 1) & (room - 1);
    }
    return slot;
}

void
parse_take(struct parse *p, const void *place)
{
    size_t slot;

    if (2 * (p->taken_count + 1) > p->taken_room) {
        size_t room = p->taken_room == 0 ? 256 : 2 * p->taken_room;
        const void **grown = SQL_ARRAY(p->q, const void *, room);

        for (size_t i = 0; i < p->taken_room && grown != NULL; i++) {
            if (p->taken[i] != NULL) {
                grown[slot_of(grown, room, p->taken[i])] = p->taken[i];
            }
        }
        if (grown == NULL) {
            return; /* the statement has failed */
        }
        p->taken = grown;
        p->taken_room = room;
    }
    slot = slot_of(p->taken, p->taken_room, place);
    p->taken_count += p->taken[slot] == NULL;
    p->taken[slot] = place;
}

static bool
was_taken(const struct parse *p, const void *place)
{
    return p->taken_room > 0 && p->taken[slot_of(p->taken, p->taken_room, place)] != NULL;
}

/* ---- the tree ---- */

/* The messages of a field: none when it is no message, or not there. *ret_list: where their addresses are */
static size_t
list_messages(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
              ProtobufCMessage *const **ret_list)
{
    const char *base = (const char *)message;

    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        return 0;
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(ret_list, base + field->offset, sizeof *ret_list);
        return *(const size_t *)(const void *)(base + field->quantifier_offset);
    }
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 &&
        *(const uint32_t *)(const void *)(base + field->quantifier_offset) != field->id) {
        return 0;
    }
    *ret_list = (ProtobufCMessage *const *)(const void *)(base + field->offset);
    return **ret_list != NULL;
}

/* Where in the statement a message says that it stands; -1: it does not. */
static int
place_at(const ProtobufCMessage *message)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, "location");
    int32_t place = field == NULL ? 0 : *(const int32_t *)(const void *)((const char *)message + field->offset);

    return place > 0 ? place : -1;
}

int
parse_place(const ProtobufCMessage *message)
{
    int place = place_at(message);

    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        ProtobufCMessage *const *list = NULL;
        size_t count = list_messages(message, field, &list);

        for (size_t k = 0; k < count; k++) {
            int inner = parse_place(list[k]);

            place = place < 0 || (inner >= 0 && inner < place) ? inner : place;
        }
    }
    return place;
}

static bool
is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const void *at = (const char *)message + field->offset;
    ProtobufCMessage *const *list = NULL;

    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return list_messages(message, field, &list) > 0;
    case PROTOBUF_C_TYPE_STRING:
        return *(const char *const *)at != NULL && **(const char *const *)at != '\0';
    case PROTOBUF_C_TYPE_ENUM:
        return *(const uint32_t *)at > 1; /* 0: not known, 1: what goes without saying */
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_INT64:
        return *(const uint64_t *)at != 0;
    default: /* 32 bits, as bools are */
        return *(const uint32_t *)at != 0;
    }
}

static bool
says_nothing(const ProtobufCFieldDescriptor *field)
{
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++) {
        if (strcmp(silent[i], field->name) == 0) {
            return true;
        }
    }
    return false;
}

/* A message, and what it is in. */
struct within {
    const ProtobufCMessage *message;
    const struct within *around;
};

static bool
refuse(struct parse *p, const struct within *where, const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessage *message = where->message;
    ProtobufCMessage *const *list = NULL;
    int place = list_messages(message, field, &list) > 0 ? parse_place(list[0]) : -1;
    const char *words = NULL;

    for (size_t i = 0; i < sizeof clauses / sizeof clauses[0] && words == NULL; i++) {
        words = clauses[i].of == message->descriptor && strcmp(clauses[i].field, field->name) == 0 ? clauses[i].words
                                                                                                   : NULL;
    }
    place = place >= 0 ? place : parse_place(message);
    for (; where != NULL && place < 0; where = where->around) {
        place = place_at(where->message);
    }
    return words != NULL ? sql_fail(p->q, GRANARY_EUNSUPPORTED, place, "%s is not supported", words)
                         : sql_fail(p->q, GRANARY_EUNSUPPORTED, place, "'%s' of the grammar's %s is not supported here",
                                    field->name, message->descriptor->short_name);
}

static bool
check_used(struct parse *p, const ProtobufCMessage *tree, const struct within *around)
{
    const struct within here = {tree, around};

    for (unsigned i = 0; i < tree->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &tree->descriptor->fields[i];
        ProtobufCMessage *const *list = NULL;
        bool is_kind = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0; /* which it is says nothing */
        size_t count;

        if (!is_set(tree, field) || says_nothing(field)) {
            continue;
        }
        count = list_messages(tree, field, &list);
        if (!is_kind && !was_taken(p, (const char *)tree + field->offset)) {
            return refuse(p, &here, field);
        }
        for (size_t k = 0; k < count; k++) {
            if (!check_used(p, list[k], &here)) {
                return false;
            }
        }
    }
    return true;
}

bool
parse_check_used(struct parse *p, const ProtobufCMessage *tree)
{
    return check_used(p, tree, NULL);
}
