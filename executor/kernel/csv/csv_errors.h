/* Records that do not fit, where these are left out or listed: each is looked at before any of it becomes a row. */
#ifndef KERNEL_CSV_CSV_ERRORS_H
#define KERNEL_CSV_CSV_ERRORS_H

#include "graph/params.h"
#include "kernel/csv/csv_put.h"

#define CSV_QUOTES_OPEN "the quotes that begin here do not end"

enum csv_errors { CSV_ERRORS_REFUSE, CSV_ERRORS_SKIP, CSV_ERRORS_LIST };

/* By the word of read_csv's parameter. */
enum csv_errors csv_errors_of(const char *word);

/* What keeps a record from having so many fields of text. */
enum csv_trouble { CSV_FINE, CSV_FIELDS, CSV_QUOTES, CSV_ENCODING, CSV_NO_MEMORY };

/*
 * Go behind the record at text->record, or behind its first line when its quotes do not end: the next record begins there.
 *
 * fields      how many there must be; one more may be there that is empty; 0: as many as there are
 * is_broken   the text has bytes that are not UTF-8
 */
enum csv_trouble csv_record_pass(struct csv_text *text, size_t fields, bool is_broken, size_t *ret_fields);

struct csv_checks;

/* Of all columns of an operator that reads. text: borrowed. Errors: EINVAL · ENOMEM */
granary_err csv_checks_create(const struct gr_chunk_csv_read *params, struct csv_text *text, struct csv_checks **ret);
void csv_checks_destroy(struct csv_checks *checks); /* NULL is fine */

/* Whether all records of a block fit. */
bool csv_checks_block(struct csv_checks *checks, const struct csv_block *block);
/* Go behind the record at text->record. *ret_fits false: it was listed, if that is wanted. Errors: ENOMEM, EFULL */
granary_err csv_checks_record(struct csv_checks *checks, bool *ret_fits);
/* What was listed, as a frame of the columns that are asked for. Errors: ENOMEM, EFULL */
granary_err csv_checks_finish(struct csv_checks *checks, granary_frame **ret_frame);

#endif
