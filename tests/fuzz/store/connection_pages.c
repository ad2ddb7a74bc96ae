/* What a client can write: its ring, its lease words, all else of its page, and the files it was granted. */
#include <fcntl.h>
#include <unistd.h>

#include "store/connection.h"
#include "store/world.h"

static void
ring_bell(struct connection *c)
{
    const uint64_t one = 1;

    (void)!write(c->doorbell, &one, sizeof one);
}

static void
push_entry(struct input *input, struct connection *c)
{
    struct gr_ring_entry *entry = &c->page->ring[c->head++ % GR_RING_ENTRIES];
    uint8_t which = input_byte(input);
    const struct room *room = &c->rooms[which >> 4 & 3];

    atomic_store(&entry->status, 0);
    entry->op = (uint8_t)(which % 6);
    entry->flags = (uint8_t)(which >= 192 ? input_byte(input) : 0);
    hostile_put_id(input, entry->id);
    entry->segment = which < 248 ? room->segment : (uint32_t)input_number(input);
    entry->offset = input_number(input);
    entry->data_size = input_number(input);
    entry->meta_size = (uint32_t)input_number(input);
    entry->importance = input_byte(input);
    entry->next_use = input_byte(input);
    atomic_store(&c->page->ring_head, c->head);
    if ((which & 64) == 0) {
        ring_bell(c);
    }
}

/* A lease of an object that there may be: serials are small in a young store. */
static void
scribble_hazard(struct input *input, struct connection *c)
{
    uint64_t back = input_byte(input);
    uint64_t serial = world.store->root.serial > back ? world.store->root.serial - back : back;
    uint8_t way = input_byte(input);
    uint64_t hazard = way < 128 ? GR_HAZARD(serial, way >> 3) : input_number(input);

    atomic_store(&c->page->hazard[serial % GR_HAZARD_SETS][way % GR_HAZARD_WAYS], hazard);
}

static void
scribble_anywhere(struct input *input, struct connection *c)
{
    uint64_t at = input_number(input) % (sizeof *c->page - sizeof(uint64_t));
    uint64_t word = input_number(input);

    memcpy((unsigned char *)c->page + at, &word, sizeof word);
}

/* What a writer can do to the file it was given. */
static void
touch_room(struct input *input, struct connection *c)
{
    uint8_t which = input_byte(input);
    const struct room *room = &c->rooms[which & 3];
    uint64_t at = input_number(input);

    if (room->segment == 0) {
        return;
    }
    if (which < 128) {
        (void)!pwrite(room->fd, "granary", 7, (off_t)(at % (room->size + 64)));
    } else if (which < 224) {
        (void)!ftruncate(room->fd, (off_t)(at % (2 * room->size)));
    } else {
        (void)!fallocate(room->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(at % room->size), 65536);
    }
}

void
connection_use_page(struct input *input, struct connection *c, uint8_t kind)
{
    if (c->page == NULL) {
        return;
    }
    switch (kind) {
    case 0:
    case 1:
    case 2:
        push_entry(input, c);
        break;
    case 3:
        ring_bell(c);
        break;
    case 4:
        scribble_hazard(input, c);
        break;
    case 5:
        scribble_anywhere(input, c);
        break;
    case 6:
        atomic_store(&c->page->ring_head, c->head + input_number(input));
        break;
    default:
        touch_room(input, c);
        break;
    }
}
