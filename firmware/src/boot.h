/* The boot of the firmware: the self-test, then the loop. */
#pragma once

#include <stdint.h>

/* Interrupts that wake the loop. */
#define WAKES (1u << INTERRUPT_SOFTWARE | 1u << INTERRUPT_TIMER | 1u << INTERRUPT_EXTERNAL)

/* boot tests the hardware and does not return. memory is the size of the memory that the start
   code found, in bytes. */
_Noreturn void boot(uint32_t memory);

/* now returns TIME. */
uint64_t now(void);

/* set_timer sets the time from which on the timer interrupt is there. */
void set_timer(uint64_t at);
