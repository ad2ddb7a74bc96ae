#include "lease_reader.h"

#include <stdlib.h>
#include <string.h>

#include "object/read/probe.h"

struct lease_reader {
    granary_client client;
};

struct lease_reader *
lease_reader_create(const struct gr_control *control, struct gr_lease_page *page, const char *index)
{
    struct lease_reader *reader = aligned_alloc(64, (sizeof *reader + 63) / 64 * 64);

    if (reader != NULL) {
        memset(reader, 0, sizeof *reader);
        reader->client.control = control;
        reader->client.page = page;
        reader->client.index = index;
    }
    return reader;
}

void
lease_reader_destroy(struct lease_reader *reader)
{
    free(reader);
}

bool
lease_reader_try(struct lease_reader *reader, granary_id id, struct reader_lease *ret_lease)
{
    struct lease lease;

    if (lease_try(&reader->client, id, &lease) != LEASE_HELD) {
        return false;
    }
    *ret_lease = (struct reader_lease){lease.serial, lease.offset, lease.handle};
    return true;
}

void
lease_reader_end(struct lease_reader *reader, const struct reader_lease *lease)
{
    lease_end(&reader->client, lease->serial, lease->handle);
}
