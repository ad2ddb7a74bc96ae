/* Files of the source tree as text of this program. */
#ifndef FRAME_INCLUDE_FILE_H
#define FRAME_INCLUDE_FILE_H

/* The bytes of a file, and a NUL behind them, under a name. */
#define INCLUDE_FILE(name, path)                                                                                       \
    __asm__(".section .rodata\n.global " #name "\n" #name ":\n.incbin \"" path "\"\n.byte 0\n.previous\n");            \
    extern const char name[]

#endif
