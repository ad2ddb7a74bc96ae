/* The rows of chunk operators, and their parameters linked to each at first use. */
#include "graph/params.h"

#include <pthread.h>
#include <string.h>

static const char *const names[] = {
#define CHUNK_OP(name, text)      #name,
#define CHUNK_USER_OP(name, text) #name,
#include "contract/ops/chunk_ops.def"
    "object",
    "alias",
};

static const char *const texts[] = {
#define CHUNK_OP(name, text)      text,
#define CHUNK_USER_OP(name, text) text,
#include "contract/ops/chunk_ops.def"
    "ids; nothing -> objects that are there",
    "objects -> as many, which stand for them",
};

static struct gr_param_info params[] = {
#define CHUNK_PARAM(op_name, param_name, param_kind, param_need)                                                       \
    {.op = GR_CHUNK_##op_name,                                                                                         \
     .name = #param_name,                                                                                              \
     .kind = GR_PARAM_##param_kind,                                                                                    \
     .offset = offsetof(struct gr_chunk_##op_name, param_name),                                                        \
     GR_NEED_##param_need,                                                                                             \
     .summary = "see chunk_ops.def"},
#include "contract/ops/chunk_ops.def"
};

const char *
gr_chunk_op_name(enum gr_chunk_op op)
{
    return names[op];
}

const char *
gr_chunk_op_text(enum gr_chunk_op op)
{
    return texts[op];
}

int
gr_chunk_op_find(const char *name)
{
    for (int op = 0; op < GR_CHUNK_object; op++) {
        if (strcmp(names[op], name) == 0 && !gr_chunk_op_answers((enum gr_chunk_op)op) &&
            !gr_chunk_op_has_body((enum gr_chunk_op)op)) {
            return op;
        }
    }
    return -1;
}

static const struct gr_param_info *first_params[GR_CHUNK_object + 1];
static pthread_once_t linked = PTHREAD_ONCE_INIT;

static void
link_rows(void)
{
    gr_params_link(params, sizeof params / sizeof params[0], first_params);
}

const struct gr_param_info *
gr_chunk_params_of(enum gr_chunk_op op)
{
    (void)pthread_once(&linked, link_rows);
    return op <= GR_CHUNK_object ? first_params[op] : NULL;
}
