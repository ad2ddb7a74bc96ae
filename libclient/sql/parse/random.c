/* random() and uuid(): a seed for each call as written. */
#include <string.h>
#include <sys/random.h>

#include "sql/parse/private.h"

bool
sql_parse_random(struct parse *p, const PgQuery__FuncCall *call, const char *name, struct sql_expr **ret_expr)
{
    static const char *const names[][2] = {
        {"random", "random_of"}, {"uuid", "uuid_of"}, {"gen_random_uuid", "uuid_of"}, {"uuidv4", "uuid_of"}};
    uint64_t seed = 0;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && call->n_args == 0 && call->over == NULL; i++) {
        if (strcmp(names[i][0], name) != 0) {
            continue;
        }
        *ret_expr = NULL;
        if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
            (void)sql_fail(p->q, GRANARY_EIO, call->location, "the system gives no random numbers");
            return true;
        }
        *ret_expr = sql_parse_new_expr(p, SQL_RANDOM, call->location,
                                       sql_printf(p->q, "%s(%llu", names[i][1], (unsigned long long)(seed >> 2)), 0);
        if (*ret_expr != NULL) {
            (*ret_expr)->written = names[i][0];
        }
        return true;
    }
    return false;
}
