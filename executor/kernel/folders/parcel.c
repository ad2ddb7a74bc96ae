/* See parcel.h. */
#include "kernel/folders/parcel.h"

#include <string.h>

#include "base/error.h"

#define MAGIC       UINT64_C(0x6c65637261707267) /* "grparcel" */
#define VERSION     1
#define ROUND(size) (((size) + 63) & ~(size_t)63)

struct head {
    uint64_t magic;
    uint32_t version;
    uint32_t count;
    uint64_t begins_size;
    uint64_t zero[5];
};

struct told {
    uint64_t size;
    int64_t rows;
    uint64_t folder_size;
    uint64_t zero[5];
};

_Static_assert(sizeof(struct head) == 64 && sizeof(struct told) == 64, "what is told takes 64 bytes");

static void
add(struct gr_buf *out, const void *bytes, size_t size)
{
    static const char zero[64];

    gr_buf_add(out, bytes, size);
    gr_buf_add(out, zero, ROUND(size) - size);
}

void
parcel_begin(struct gr_buf *out, const void *begins, size_t size)
{
    const struct head head = {.magic = MAGIC, .version = VERSION, .begins_size = size};

    add(out, &head, sizeof head);
    add(out, begins, size);
}

void
parcel_add(struct gr_buf *out, const char *folder, const void *bytes, size_t size, int64_t rows)
{
    const struct told told = {.size = size, .rows = rows, .folder_size = strlen(folder)};

    add(out, &told, sizeof told);
    add(out, folder, strlen(folder));
    add(out, bytes, size);
}

void
parcel_end(struct gr_buf *out, uint32_t count)
{
    if (gr_buf_ok(out)) {
        memcpy(out->bytes + offsetof(struct head, count), &count, sizeof count);
    }
}

/* The next `size` bytes, and what fills them up. NULL: there are not so many. */
static const uint8_t *
take(struct parcel *parcel, uint64_t size)
{
    const uint8_t *at = parcel->at;
    size_t left = (size_t)(parcel->end - at);

    if (size > left || ROUND((size_t)size) > left) {
        return NULL;
    }
    parcel->at += ROUND((size_t)size);
    return at;
}

static granary_err
broken(void)
{
    return gr_fail(GRANARY_ECORRUPT, "folders_write: an input is no parcel of this release");
}

granary_err
parcel_open(const void *bytes, size_t size, struct parcel *ret_parcel)
{
    struct parcel parcel = {.at = bytes, .end = (const uint8_t *)bytes + size};
    const uint8_t *at = take(&parcel, sizeof(struct head));
    struct head head;

    if (at == NULL) {
        return broken();
    }
    memcpy(&head, at, sizeof head);
    parcel.left = head.count;
    parcel.begins_size = (size_t)head.begins_size;
    parcel.begins = head.magic != MAGIC || head.version != VERSION ? NULL : take(&parcel, head.begins_size);
    *ret_parcel = parcel;
    return parcel.begins == NULL ? broken() : GRANARY_OK;
}

granary_err
parcel_next(struct parcel *parcel, struct parcel_piece *ret_piece)
{
    const uint8_t *at = parcel->left == 0 ? NULL : take(parcel, sizeof(struct told));
    const uint8_t *folder;
    struct told told;

    if (at == NULL) {
        return broken();
    }
    memcpy(&told, at, sizeof told);
    folder = take(parcel, told.folder_size);
    at = folder == NULL ? NULL : take(parcel, told.size);
    if (at == NULL || told.rows < 0) {
        return broken();
    }
    parcel->left--;
    *ret_piece = (struct parcel_piece){.folder = (const char *)folder,
                                       .folder_size = (size_t)told.folder_size,
                                       .bytes = at,
                                       .size = (size_t)told.size,
                                       .rows = told.rows};
    return GRANARY_OK;
}
