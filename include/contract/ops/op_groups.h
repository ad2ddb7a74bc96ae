/* Parameters that several operators of graphs have: rows of ops.def for all of them, as chunk_groups.h has those of chunk
 * operators. */
#ifndef CONTRACT_OP_GROUPS_H
#define CONTRACT_OP_GROUPS_H

/* A source may be read in parts: all of them, in order, are the whole. */
#define PARTS_PARAMS(op)                                                                                               \
    PARAM(op, part, INT, OPTIONAL, "read this one of the `parts` alone, from 0: [sources in parts](parts.md)")         \
    RULE(op, part, FROM, "0")                                                                                          \
    RULE(op, part, PART, "")                                                                                           \
    PARAM(op, parts, INT, OPTIONAL, "how many parts there are")                                                        \
    RULE(op, parts, FROM, "1")                                                                                         \
    RULE(op, parts, PART, "")

#endif
