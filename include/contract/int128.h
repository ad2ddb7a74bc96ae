/*
 * int128.h - 128-bit integers, which decimals are stored in and exact sums are counted in. gcc and clang have them, ISO C
 * has not: this is the one place that says so.
 */
#ifndef CONTRACT_INT128_H
#define CONTRACT_INT128_H

__extension__ typedef __int128 gr_int128;
__extension__ typedef unsigned __int128 gr_uint128;

#endif
