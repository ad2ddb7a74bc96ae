/* ELF headers and the dynamic symbol table, read with every offset checked against the file's size. */
#include "base/process/elf.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

#if UINTPTR_MAX == UINT64_MAX
typedef Elf64_Ehdr elf_head;
typedef Elf64_Phdr elf_part;
typedef Elf64_Shdr elf_section;
typedef Elf64_Sym elf_symbol;
#define OUR_CLASS ELFCLASS64
#else
typedef Elf32_Ehdr elf_head;
typedef Elf32_Phdr elf_part;
typedef Elf32_Shdr elf_section;
typedef Elf32_Sym elf_symbol;
#define OUR_CLASS ELFCLASS32
#endif

static const struct {
    unsigned machine;
    bool ours;
    const char *name;
} machines[] = {
#ifdef __x86_64__
    {EM_X86_64, true, "x86-64"},
#else
    {EM_X86_64, false, "x86-64"},
#endif
#ifdef __aarch64__
    {EM_AARCH64, true, "arm64"},
#else
    {EM_AARCH64, false, "arm64"},
#endif
#ifdef __riscv
    {EM_RISCV, true, "risc-v"},
#else
    {EM_RISCV, false, "risc-v"},
#endif
    {EM_386, false, "x86, 32 bits"}, {EM_ARM, false, "arm, 32 bits"},
};

static bool
is_ours(unsigned machine, const char **ret_name)
{
    bool known = false;

    *ret_name = "another machine";
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        known = known || machines[i].ours;
        if (machines[i].machine == machine) {
            *ret_name = machines[i].name;
            return machines[i].ours;
        }
    }
    return !known; /* a machine this file does not know: the loader will say */
}

/* A table of count entries of size bytes at offset lies within the file. */
static bool
fits(size_t size, uint64_t offset, uint64_t count, uint64_t entry)
{
    return offset <= size && (entry == 0 || count <= (size - offset) / entry);
}

granary_err
gr_elf_check(const void *bytes, size_t size)
{
    const char *name;
    elf_head head;

    if (size < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0) {
        return gr_fail(GRANARY_EINVAL, "not a shared object: build it with `cc -shared -fPIC`");
    }
    if (((const unsigned char *)bytes)[EI_CLASS] != OUR_CLASS) {
        return gr_fail(GRANARY_EINVAL, "for a machine of %d bits, and this one has %d",
                       ((const unsigned char *)bytes)[EI_CLASS] == ELFCLASS64 ? 64 : 32, (int)sizeof(void *) * 8);
    }
    if (size < sizeof head) {
        return gr_fail(GRANARY_EINVAL, "cut short: %zu bytes", size);
    }
    memcpy(&head, bytes, sizeof head);
    if (!is_ours(head.e_machine, &name)) {
        return gr_fail(GRANARY_EINVAL, "for another machine (%s, %u): build it on this one, or for it", name,
                       head.e_machine);
    }
    if (head.e_type != ET_DYN) {
        return gr_fail(GRANARY_EINVAL, "%s, not a shared object: build it with `cc -shared -fPIC`",
                       head.e_type == ET_REL ? "an object file" : "a program");
    }
    if (head.e_phentsize != sizeof(elf_part) || !fits(size, head.e_phoff, head.e_phnum, sizeof(elf_part))) {
        return gr_fail(GRANARY_EINVAL, "cut short, or damaged: its program headers are not within its %zu bytes", size);
    }
    if (head.e_shnum > 0 && !fits(size, head.e_shoff, head.e_shnum, sizeof(elf_section))) {
        return gr_fail(GRANARY_EINVAL, "cut short: its section headers are not within its %zu bytes", size);
    }
    for (unsigned i = 0; i < head.e_phnum; i++) {
        elf_part part;

        memcpy(&part, (const char *)bytes + head.e_phoff + i * sizeof part, sizeof part);
        /* Loaded, such a part would be a SIGBUS. */
        if (part.p_type == PT_LOAD && !fits(size, part.p_offset, part.p_filesz, 1)) {
            return gr_fail(GRANARY_EINVAL, "cut short: it should have %llu bytes and has %zu",
                           (unsigned long long)(part.p_offset + part.p_filesz), size);
        }
    }
    return GRANARY_OK;
}

/* Section i, if it lies within the file. */
static bool
section_at(const char *bytes, size_t size, const elf_head *head, unsigned i, elf_section *ret_section)
{
    if (i >= head->e_shnum) {
        return false;
    }
    memcpy(ret_section, bytes + head->e_shoff + i * sizeof *ret_section, sizeof *ret_section);
    return fits(size, ret_section->sh_offset, ret_section->sh_size, 1);
}

/* The table of dynamic symbols and their names. */
static bool
find_symbols(const char *bytes, size_t size, elf_section *ret_symbols, elf_section *ret_names)
{
    elf_head head;

    memcpy(&head, bytes, sizeof head);
    if (head.e_shentsize != sizeof(elf_section) || !fits(size, head.e_shoff, head.e_shnum, sizeof(elf_section))) {
        return false;
    }
    for (unsigned i = 0; i < head.e_shnum; i++) {
        if (section_at(bytes, size, &head, i, ret_symbols) && ret_symbols->sh_type == SHT_DYNSYM) {
            return section_at(bytes, size, &head, ret_symbols->sh_link, ret_names);
        }
    }
    return false;
}

const char *
gr_elf_symbol(const void *bytes, size_t size, const char *prefix, size_t *at)
{
    const char *file = bytes;
    elf_section symbols, names;

    if (size < sizeof(elf_head) || !find_symbols(file, size, &symbols, &names)) {
        return NULL;
    }
    while (*at < symbols.sh_size / sizeof(elf_symbol)) {
        const char *name;
        elf_symbol symbol;

        memcpy(&symbol, file + symbols.sh_offset + (*at)++ * sizeof symbol, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.sh_size) {
            continue;
        }
        name = file + names.sh_offset + symbol.st_name;
        if (memchr(name, '\0', names.sh_size - symbol.st_name) != NULL && strncmp(name, prefix, strlen(prefix)) == 0) {
            return name;
        }
    }
    return NULL;
}
