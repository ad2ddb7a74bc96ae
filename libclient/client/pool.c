/* Orders to the pool. */
#include "granary/pool.h"

#include "base/error.h"
#include "client/budget.h"
#include "client/user/call.h"
#include "object/object.h"

static granary_err
give_order(granary_client *client, Granary__PoolOrder *order, int timeout_ms)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Reply *reply = NULL;
    granary_err err = gr_client_check_wait(client, timeout_ms);

    if (err != GRANARY_OK) {
        return err;
    }
    order->timeout_ms = timeout_ms;
    request.body_case = GRANARY__REQUEST__BODY_POOL;
    request.pool = order;
    err = call(client, &request, call_patience_ms(timeout_ms), &reply);
    if (reply != NULL) {
        granary__reply__free_unpacked(reply, NULL);
    }
    return err;
}

static granary_err
order_executors(granary_client *client, Granary__PoolOrder__Verb verb, const uint32_t *executors, size_t count,
                int timeout_ms)
{
    Granary__PoolOrder order = GRANARY__POOL_ORDER__INIT;

    order.verb = verb;
    order.executors = (uint32_t *)(uintptr_t)executors; /* packing only reads them */
    order.n_executors = count;
    return give_order(client, &order, timeout_ms);
}

granary_err
granary_pool_add(granary_client *client, uint32_t count, int node, int timeout_ms)
{
    Granary__PoolOrder order = GRANARY__POOL_ORDER__INIT;

    order.verb = GRANARY__POOL_ORDER__VERB__ADD;
    order.count = count;
    order.node = node;
    return give_order(client, &order, timeout_ms);
}

granary_err
granary_pool_drain(granary_client *client, const uint32_t *executors, size_t count, int timeout_ms)
{
    return order_executors(client, GRANARY__POOL_ORDER__VERB__DRAIN, executors, count, timeout_ms);
}

granary_err
granary_pool_kill(granary_client *client, const uint32_t *executors, size_t count, int timeout_ms)
{
    return order_executors(client, GRANARY__POOL_ORDER__VERB__KILL, executors, count, timeout_ms);
}

granary_err
granary_pool_recycle(granary_client *client, const uint32_t *executors, size_t count, int timeout_ms)
{
    return order_executors(client, GRANARY__POOL_ORDER__VERB__RECYCLE, executors, count, timeout_ms);
}

granary_err
gr_sched_budget(granary_client *client, uint64_t bytes, int timeout_ms)
{
    Granary__PoolOrder order = GRANARY__POOL_ORDER__INIT;

    order.verb = GRANARY__POOL_ORDER__VERB__BUDGET;
    order.memory_bytes = bytes;
    return give_order(client, &order, timeout_ms);
}
