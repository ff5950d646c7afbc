/* Accesses to the hardware. */
#pragma once

#include <stdint.h>

#define INTERRUPT_SOFTWARE 3
#define INTERRUPT_TIMER 7
#define INTERRUPT_EXTERNAL 11
#define CAUSE_INTERRUPT 0x80000000u

/* What a read answers. fault is 1 if the access was refused; value then has no meaning. */
struct answer {
	uint32_t value;
	uint32_t fault;
};

/* probe_read reads a word at an address that may not answer. */
struct answer probe_read(uint32_t at);

/* probe_write writes a word, and returns 1 if the access was refused. */
uint32_t probe_write(uint32_t at, uint32_t value);

/* stop ends the program: it neither sleeps nor kicks the watchdog. */
_Noreturn void stop(void);

static inline uint32_t read32(uint32_t at) { return *(volatile uint32_t *)at; }
static inline void write32(uint32_t at, uint32_t value) { *(volatile uint32_t *)at = value; }
static inline void write16(uint32_t at, uint16_t value) { *(volatile uint16_t *)at = value; }
static inline void write8(uint32_t at, uint8_t value) { *(volatile uint8_t *)at = value; }

/* address_of returns the address of a variable. */
static inline uint32_t address_of(volatile uint32_t *variable) { return (uint32_t)variable; }

/* enable enables the interrupts of a mask of 1 << number, and no other ones. */
static inline void enable(uint32_t mask) { __asm__ volatile("csrw mie, %0" : : "r"(mask) : "memory"); }
static inline void disable(void) { __asm__ volatile("csrw mie, zero" : : : "memory"); }

/* take_interrupts makes interrupts that are enabled call interrupt. */
static inline void take_interrupts(void) { __asm__ volatile("csrsi mstatus, 8" : : : "memory"); }
static inline void hold_interrupts(void) { __asm__ volatile("csrci mstatus, 8" : : : "memory"); }

/* sleep waits until an interrupt that is enabled is there. */
static inline void sleep(void) { __asm__ volatile("wfi" : : : "memory"); }

/* LOG_ID returns the number of a text: its offset in the section .log, which is not loaded. */
#define LOG_ID(text)                                                              \
	({                                                                        \
		static const char log_text[] __attribute__((section(".log"))) = text; \
		(uint32_t)log_text;                                               \
	})
