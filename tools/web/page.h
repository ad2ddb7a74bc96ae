/* The page's files, as they lie in tools/web/page: part of the program. */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include <stddef.h>

struct page_file {
    const char *name;
    const char *type;
    const char *bytes, *end;
};

/* "": the page itself. NULL: there is none of that name. */
const struct page_file *page_named(const char *name);
/* In the order in which a page names them; NULL behind the last. */
const struct page_file *page_number(size_t number);

#endif
