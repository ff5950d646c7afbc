/* The boot of the firmware: self-tests, then the loop. */
#pragma once

#include <stdint.h>

/* boot tests the hardware and does not return. memory is the size of the memory that the start
   code found, in bytes. */
_Noreturn void boot(uint32_t memory);

/* interrupt handles an interrupt. cause is mcause. */
void interrupt(uint32_t cause);

/* now returns TIME. */
uint64_t now(void);
