/* The ELF file is mapped, and its symbol tables are searched for the function around an address. */
#include "cli/instance/symbols.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define FILE_MAX_BYTES (256u << 20)

/* A part of the file, or NULL when it does not lie within it. */
static const void *
part(const char *file, size_t size, uint64_t offset, uint64_t length)
{
    return offset <= size && length <= size - offset ? file + offset : NULL;
}

static bool
find_in(const char *file, size_t size, const Elf64_Shdr *table, const Elf64_Shdr *strings, uint64_t offset, char *name,
        size_t name_size)
{
    const char *symbols = part(file, size, table->sh_offset, table->sh_size);
    const char *texts = part(file, size, strings->sh_offset, strings->sh_size);
    Elf64_Sym best = {.st_value = 0};
    bool found = false;

    for (uint64_t at = 0; symbols != NULL && texts != NULL && at + sizeof best <= table->sh_size; at += sizeof best) {
        Elf64_Sym symbol;

        memcpy(&symbol, symbols + at, sizeof symbol); /* may lie unaligned in a damaged file */
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value <= offset &&
            offset - symbol.st_value < symbol.st_size && (!found || symbol.st_value >= best.st_value)) {
            best = symbol;
            found = true;
        }
    }
    found = found && best.st_name < strings->sh_size &&
            memchr(texts + best.st_name, '\0', strings->sh_size - best.st_name) != NULL;
    if (found) {
        (void)snprintf(name, name_size, "%s", texts + best.st_name);
    }
    return found;
}

bool
symbol_find(const char *path, uint64_t offset, char *name, size_t size)
{
    char *file = NULL;
    size_t file_size = 0;
    Elf64_Ehdr header;
    bool found = false;

    if (gr_file_read(path, FILE_MAX_BYTES, &file, &file_size) != GRANARY_OK || file_size < sizeof header) {
        free(file);
        return false;
    }
    memcpy(&header, file, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
        header.e_shentsize == sizeof(Elf64_Shdr) &&
        part(file, file_size, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr)) != NULL) {
        for (int i = 0; i < header.e_shnum && !found; i++) {
            Elf64_Shdr table;
            Elf64_Shdr strings;

            memcpy(&table, file + header.e_shoff + (size_t)i * sizeof table, sizeof table);
            if ((table.sh_type == SHT_SYMTAB || table.sh_type == SHT_DYNSYM) && table.sh_link < header.e_shnum) {
                memcpy(&strings, file + header.e_shoff + (size_t)table.sh_link * sizeof strings, sizeof strings);
                found = find_in(file, file_size, &table, &strings, offset, name, size);
            }
        }
    }
    free(file);
    return found;
}
