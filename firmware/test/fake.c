#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot.h"
#include "boot_abi.h"
#include "hw.h"
#include "registers.h"
#include "selftest.h"

struct fake hw;
int failures;

void equal(const char *name, const char *what, uint32_t got, uint32_t want)
{
	if (got == want)
		return;
	printf("%s: %s is %#x, want %#x\n", name, what, got, want);
	failures++;
}

void reset(uint32_t bytes)
{
	memset(&hw, 0, sizeof hw);
	hw.magic = 0x47504c48;
	hw.map_hash = HASH;
	hw.info = INFO;
	hw.scratch = 0x11112222;
	hw.mail[5] = HASH;
	hw.mail[6] = 3u << 29 | bytes | 1;
	hw.silent = 1;
	hw.broken = 1;
	hw.step = 3;
	hw.cause = 0x80000007;
	hw.compare = UINT64_MAX;
	reset_node();
}

static void unexpected(const char *what, uint32_t at)
{
	printf("unexpected %s at %#x\n", what, at);
	exit(1);
}

static bool in_area(uint32_t at) { return at >= AREA && at < AREA + 4 * AREA_WORDS; }

static uint32_t window_bytes(void) { return hw.mail[6] & 0x1ffffffc; }

/* slot returns the place of a word of the window. */
static uint32_t slot(uint32_t at)
{
	uint32_t i = 0;
	while (i < hw.words && hw.at[i] != at)
		i++;
	if (i == WORDS)
		unexpected("word", at);
	if (i == hw.words)
		hw.at[hw.words++] = at;
	return i;
}

/* refused reports whether an access is refused. */
static bool refused(uint32_t at)
{
	if (at == hw.silent && hw.silent_from-- == 0) {
		hw.silent_from = 0;
		return true;
	}
	if (at == hw.broken && hw.broken_from-- == 0) {
		hw.broken_from = 0;
		return true;
	}
	if (of_node(at))
		return node_refuses(at);
	if (in_area(at))
		return !hw.open;
	if (at >= WINDOW + 0x10000000)
		unexpected("access to another window", at);
	return at >= WINDOW && at - WINDOW >= window_bytes() && !hw.unbounded;
}

uint32_t read32(uint32_t at)
{
	switch (at) {
	case 0x10000000:
		hw.time += hw.step;
		return (uint32_t)hw.time;
	case 0x10000004:
		return (uint32_t)(hw.time >> 32);
	case 0x10000010:
		return hw.bells;
	case 0x20000000:
		return hw.magic;
	case 0x2000000c:
		return hw.map_hash;
	case 0x2000002c:
		return hw.scratch & ~hw.lost;
	case 0x20000600:
		return hw.info;
	case 0x20000208:
	case 0x20000220:
	case 0x20000240:
	case 0x20000260:
	case 0x20000280:
		return hw.perf + at;
	case 0x2000020c:
	case 0x20000224:
	case 0x20000244:
	case 0x20000264:
	case 0x20000284:
		return at;
	case LANES:
		return hw.lanes;
	}
	if (of_node(at))
		return node_loads(at);
	if (in_area(at))
		return hw.area[(at - AREA) / 4];
	if (at >= WINDOW)
		return (hw.word[slot(at)] | hw.ones) & ~hw.zeros;
	if (at < 0x10000040 || at >= 0x10000060)
		unexpected("read", at);
	return hw.mail[(at - 0x10000040) / 4];
}

/* set_compare sets COMPARE, by which the timer must never be due at once. */
static void set_compare(uint64_t value)
{
	hw.compare = value;
	if (value <= hw.time)
		unexpected("timer", (uint32_t)value);
}

void write32(uint32_t at, uint32_t value)
{
	if (of_node(at))
		node_stores(at, value);
	else if (in_area(at))
		hw.area[(at - AREA) / 4] = value;
	else if (at == 0x20000200)
		hw.snapshots++;
	else if (at == 0x20000108)
		hw.raises++, hw.raised |= value;
	else if (at >= WINDOW)
		hw.word[slot(at)] = value;
	else if (at == 0x10000008)
		set_compare((hw.compare & ~0xffffffffull) | value);
	else if (at == 0x1000000c)
		set_compare((hw.compare & 0xffffffff) | (uint64_t)value << 32);
	else if (at == 0x10000010)
		hw.bells &= ~value;
	else if (at == 0x10000014)
		hw.kicks++;
	else if (at == 0x2000002c)
		hw.scratch = value;
	else if (at == LANES)
		hw.lanes = value;
	else if (at >= 0x10000040 && at < 0x10000060)
		hw.mail[(at - 0x10000040) / 4] = value;
	else
		unexpected("write", at);
}

/* part writes some bytes of a word; with the fault wide, the complete word. */
static void part(uint32_t at, uint32_t value, uint32_t mask)
{
	uint32_t shift = at % 4 * 8, word = at & ~3u;
	if (hw.wide)
		mask = 0xffffffff;
	write32(word, (read32(word) & ~(mask << shift)) | value << shift);
}

void write16(uint32_t at, uint16_t value) { part(at, value, 0xffff); }
void write8(uint32_t at, uint8_t value) { part(at, value, 0xff); }

struct answer probe_read(uint32_t at)
{
	if (refused(at))
		return (struct answer){0xdeadbeef, 1};
	return (struct answer){read32(at), 0};
}

uint32_t probe_write(uint32_t at, uint32_t value)
{
	if (refused(at))
		return 1;
	if (at == 0x2000002c && !(hw.mail[6] & 1) && !hw.unlocked) {
		if (hw.changes)
			hw.scratch = value;
		return 1;
	}
	write32(at, value);
	return 0;
}

uint32_t address_of(volatile uint32_t *variable)
{
	*variable = 0;
	return LANES;
}

void enable(uint32_t mask) { hw.enabled = mask; }
void disable(void) { hw.enabled = 0; }
void hold_interrupts(void) { hw.taken = false; }

/* take_interrupts lets the timer be due. */
void take_interrupts(void)
{
	hw.taken = true;
	if (hw.compare - hw.time > 1000)
		unexpected("late timer", (uint32_t)hw.compare);
	if (hw.enabled != 1u << 7 || hw.late)
		return;
	if (!hw.early && hw.time < hw.compare)
		hw.time = hw.compare;
	interrupt(hw.cause);
}

/* sleep rings two doorbells, and ends the test in the third call. */
void sleep(void)
{
	if (hw.enabled != 0x888 || hw.taken)
		unexpected("sleep", hw.enabled);
	if (++hw.sleeps == 3)
		longjmp(hw.end, 1);
	hw.bells |= 0x80000001;
}

void stop(void) { longjmp(hw.end, 2); }

/* log_id keeps the text of the last line. */
uint32_t log_id(const char *text)
{
	hw.text = text;
	return 0x1234;
}
