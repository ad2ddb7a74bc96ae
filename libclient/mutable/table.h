/* table: a mutable table that is open, and the writer it becomes when somebody appends. */
#ifndef MUTABLE_TABLE_H
#define MUTABLE_TABLE_H

#include <pthread.h>
#include <stdbool.h>

#include "granary/mutable.h"
#include "mutable/core/index.h"
#include "mutable/core/page.h"
#include "mutable/core/slab.h"
#include "mutable/durable/keeper.h"
#include "mutable/frame/rows.h"

/* The lane of a handle that writes. */
struct table_writer {
    uint32_t lane;
    struct gr_lane *shared;
    struct log_writer log;
    struct rows_writer rows;
    struct slab_writer slab;
    int64_t last_time;
};

struct tensor_shape;

struct granary_mutable {
    granary_client *client;
    granary_id id; /* of the object that is the table: a frame of its columns, without rows */
    char name[GRANARY_TEXT_MAX + 1];
    struct mutable_page page;
    granary_view view;           /* of that object */
    granary_frame *schema;       /* its columns; of a tensor what tells its shape */
    struct tensor_shape *tensor; /* NULL: it is a frame */
    pthread_mutex_t lock;        /* of what follows */
    struct table_writer *writer; /* NULL until something is written */
    uint32_t base_seen;          /* the number of the base when that was looked at last */
    struct index index;
    /* Of a durable table: */
    pthread_mutex_t flush_lock; /* taken after `lock`, if that is taken */
    struct keeper keeper;
};

/* Whether columns are the table's, by name and dtype. Errors: ETYPE names the first that differs */
granary_err table_check_columns(const granary_mutable *table, const granary_column *columns, size_t count);

/* What the table's object tells of a tensor. Errors: ECORRUPT · ENOMEM */
granary_err table_set_shape(granary_mutable *table);

/* A handle of an object, without anything in it yet. Errors: ENOMEM */
granary_err table_new(granary_client *client, const char *name, granary_id id, granary_mutable **ret_table);

/* Whether it is a table that was sealed when it was opened: it has no page. */
static inline bool
table_is_fixed(const granary_mutable *table)
{
    return table->page.page == NULL;
}

/* ETYPE when it is of the other kind. */
granary_err table_check_frame(const granary_mutable *table);
granary_err table_check_tensor(const granary_mutable *table);

/* ESTATE when the table was deleted; ESEALED; EFORKED. */
granary_err table_check(const granary_mutable *table);

/* The id of what a seal makes of it; and ESEALED, with that id. */
granary_id table_sealed_id(const granary_mutable *table);
granary_err table_fail_sealed(const granary_mutable *table);

/* What a seal that was begun has left to do, by whoever comes; the table is locked, or nobody else's. Errors: as
 * granary_mutable_seal() */
granary_err table_finish_seal(granary_mutable *table);

/* err; a failure's message gets the table's name. */
granary_err table_told(const granary_mutable *table, granary_err err);

/* The clock, in ns since the Unix epoch. */
int64_t table_clock(void);

#endif
