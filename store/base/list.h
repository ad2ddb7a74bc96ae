/* A doubly linked list through its members: insert, remove and re-insert without memory. */
#ifndef STORE_LIST_H
#define STORE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *prev;
};

/* The struct that a list node is a member of. */
#define list_owner(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Each member's owner, from the first on. The body may take the current one out of the list. */
#define list_each(type, owner, list, member)                                                                           \
    for (type *owner = list_owner((list)->next, type, member),                                                         \
              *owner##_next = list_owner(owner->member.next, type, member);                                            \
         &owner->member != (list); owner = owner##_next, owner##_next = list_owner(owner->member.next, type, member))

static inline void
list_init(struct list *list)
{
    list->next = list->prev = list;
}

static inline bool
list_empty(const struct list *list)
{
    return list->next == list;
}

/* Take a node out of whatever list it is in; harmless when it is in none (after list_init or list_remove). */
static inline void
list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Put a node behind another one, or first behind the list's head; it is taken out of where it was. */
static inline void
list_insert(struct list *before, struct list *node)
{
    list_remove(node);
    node->prev = before;
    node->next = before->next;
    before->next->prev = node;
    before->next = node;
}

/* Put a node at the end; it is taken out of where it was. */
static inline void
list_append(struct list *list, struct list *node)
{
    list_remove(node);
    node->prev = list->prev;
    node->next = list;
    list->prev->next = node;
    list->prev = node;
}

#endif
