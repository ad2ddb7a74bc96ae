/* The names that are bound to objects, for listings. */
#ifndef CLI_NAMED_H
#define CLI_NAMED_H

#include "cli/look/look.h"
#include "cli/print/json.h"
#include "cli/print/show.h"

/* In order of ids. All zero: none. */
struct named {
    granary_hold *holds;
    size_t count;
};

/* Of the session that look_session() found, or the client's. Errors: as granary_inspect_holds(), granary_holds() */
granary_err named_read(const struct look *look, struct named *ret_named);
void named_fini(struct named *named);

/* An object's names with commas between, shown as show_text() does; "" when it has none. Returns buffer. */
const char *named_text(const struct named *named, granary_id id, char buffer[SHOW_TEXT]);
/* The same as an array "names". */
void named_json(const struct named *named, granary_id id, struct json *json);

#endif
