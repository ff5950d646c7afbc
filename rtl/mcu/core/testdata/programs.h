/* put gives a word to the test: to the bus of the core, or to the output of a PC. */
#ifndef PROGRAMS_H
#define PROGRAMS_H
#include <stdint.h>

#ifdef __riscv
static inline void put(uint32_t v) { *(volatile uint32_t *)0x40000000 = v; }
#else
#include <stdio.h>
static inline void put(uint32_t v) { printf("%08x\n", (unsigned)v); }
#endif
#endif
