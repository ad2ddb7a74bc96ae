/* The assembler takes the files as they are (CMake names them in WEB_PAGE). */
#include "web/page.h"

#include <string.h>

#define PAGE_FILE(symbol, name, type)                                                                                  \
    __asm__(".pushsection .rodata\n"                                                                                   \
            "page_" #symbol "_begin: .incbin \"" WEB_PAGE "/" name "\"\n"                                              \
            "page_" #symbol "_end: .byte 0\n"                                                                          \
            ".popsection\n");                                                                                          \
    extern const char page_##symbol##_begin[] __asm__("page_" #symbol "_begin");                                       \
    extern const char page_##symbol##_end[] __asm__("page_" #symbol "_end");
#include "web/page.def"
#undef PAGE_FILE

static const struct page_file files[] = {
#define PAGE_FILE(symbol, name, type) {name, type, page_##symbol##_begin, page_##symbol##_end},
#include "web/page.def"
#undef PAGE_FILE
};

const struct page_file *
page_named(const char *name)
{
    name = name[0] == '\0' ? "index.html" : name;
    for (size_t i = 0; page_number(i) != NULL; i++) {
        if (strcmp(files[i].name, name) == 0) {
            return &files[i];
        }
    }
    return NULL;
}

const struct page_file *
page_number(size_t number)
{
    return number < sizeof files / sizeof files[0] ? &files[number] : NULL;
}
