/* What the columns of whole records can be. */
#ifndef KERNEL_CSV_CSV_INFER_H
#define KERNEL_CSV_CSV_INFER_H

#include "kernel/csv/csv_text.h"

enum { CSV_ODD_VALUE = 40 }; /* bytes shown of one */

/* The value that made a column a string. */
struct csv_suspect {
    bool seen;
    bool judged; /* values around it were looked at: */
    bool odd;    /* ... most of them could be something else */
    uint64_t line;
    size_t size;
    char value[CSV_ODD_VALUE];
};

struct csv_infer {
    Granary__CsvTypes answer;
    size_t room;                  /* of answer.kinds and suspects */
    struct csv_suspect *suspects; /* by column */
    char error[256];
    bool tolerates;             /* records of another number of fields say nothing, and values are counted */
    bool is_broken;             /* some bytes are not UTF-8 */
    const Granary__Attr *known; /* positions of columns that nobody needs to be told about, ascending; or NULL */
};

/* known: borrowed. errors: as of read_csv. fields: of each record, where that is known (else 0) and errors are none */
void csv_infer_init(struct csv_infer *infer, const Granary__Attr *known, const char *errors, int64_t fields);
void csv_infer_fini(struct csv_infer *infer);

/* Look at all of a text. What is wrong with it is part of the answer. Errors: ENOMEM */
granary_err csv_infer_text(struct csv_infer *infer, struct csv_text *text, bool header);

#endif
