/* The accesses to the hardware in the tests on the PC: functions of fake.c. */
#pragma once

#include <stdint.h>

#define INTERRUPT_SOFTWARE 3
#define INTERRUPT_TIMER 7
#define INTERRUPT_EXTERNAL 11
#define CAUSE_INTERRUPT 0x80000000u

struct answer {
	uint32_t value;
	uint32_t fault;
};

struct answer probe_read(uint32_t at);
uint32_t probe_write(uint32_t at, uint32_t value);
_Noreturn void stop(void);

uint32_t read32(uint32_t at);
void write32(uint32_t at, uint32_t value);
void write16(uint32_t at, uint16_t value);
void write8(uint32_t at, uint8_t value);
uint32_t address_of(volatile uint32_t *variable);

void enable(uint32_t mask);
void disable(void);
void take_interrupts(void);
void hold_interrupts(void);
void sleep(void);

#define LOG_ID(text) log_id(text)
uint32_t log_id(const char *text);
