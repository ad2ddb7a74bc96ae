/* Names of functions, for stacks: what an ELF file's own symbol table calls an address. */
#ifndef CLI_SYMBOLS_H
#define CLI_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function an offset in a file's image belongs to, static ones too. false: the file does not tell. */
bool symbol_find(const char *path, uint64_t offset, char *name, size_t size);

#endif
