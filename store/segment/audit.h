/* Whether the accounts are right. */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include <stdbool.h>

struct store;

/* The account recomputed from every segment is the account, and it balances. For tests, between turns of the loop. */
bool store_audit(const struct store *store);

#endif
