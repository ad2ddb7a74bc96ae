/*
 * int128.h - 128-bit integers, in which decimals are stored and exact sums are counted. gcc and clang have them, ISO
 * C does not; only this header says so.
 */
#ifndef CONTRACT_INT128_H
#define CONTRACT_INT128_H

__extension__ typedef __int128 gr_int128;
__extension__ typedef unsigned __int128 gr_uint128;

#endif
