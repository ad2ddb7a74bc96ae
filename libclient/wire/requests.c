/* The rows of contract/store_requests.def as a table, found by their numbers. */
#include "wire/requests.h"

#include <stddef.h>

#include "contract/shm.h"
#include "contract/store_proto.h"

#define NONE                                                                                                           \
    {                                                                                                                  \
        .head = 0                                                                                                      \
    }
#define SIZE(type)                                                                                                     \
    {                                                                                                                  \
        .head = sizeof(type)                                                                                           \
    }
#define OPEN(type)                                                                                                     \
    {                                                                                                                  \
        .head = sizeof(type), .open = true                                                                             \
    }
#define AND(type, item, count)                                                                                         \
    {                                                                                                                  \
        sizeof(type), sizeof(item), count, false                                                                       \
    }
#define AND_ONLY(item, count)                                                                                          \
    {                                                                                                                  \
        0, sizeof(item), count, false                                                                                  \
    }
#define EACH(item)                                                                                                     \
    {                                                                                                                  \
        0, sizeof(item), GR_FRAME_MAX_BODY / sizeof(item), false                                                       \
    }
#define STRANGER true
#define CLIENT   false
#define WAITS    true
#define AT_ONCE  false

static const struct gr_store_request requests[] = {
#define REQUEST(name, number, handler, body, answer, fds, sender, end, did, ...)                                       \
    [GR_STORE_##name] = {#name, body, answer, fds, sender, end, GRANARY_##did},
#include "contract/store_requests.def"
#undef REQUEST
};

const struct gr_store_request *
gr_store_request(unsigned op)
{
    return op < sizeof requests / sizeof requests[0] && requests[op].name != NULL ? &requests[op] : NULL;
}

bool
gr_request_size_fits(const struct gr_request_size *rule, uint32_t size)
{
    uint32_t items = size - rule->head;

    if (rule->open || size < rule->head || items == 0) {
        return rule->open || size >= rule->head;
    }
    return rule->item != 0 && items % rule->item == 0 && items / rule->item <= rule->most;
}
