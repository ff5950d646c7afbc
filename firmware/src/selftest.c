#include "selftest.h"

#include <stdbool.h>

#include "boot.h"
#include "boot_abi.h"
#include "hw.h"
#include "message_abi.h"
#include "registers.h"

/* How often TIME is read until it must have changed. */
#define TIME_READS 64

/* Clocks until the timer of the test is due. */
#define TIMER_CLOCKS 400

/* How often the test checks whether the interrupt has arrived. A check takes more than 4 clocks. */
#define TIMER_CHECKS (2 * TIMER_CLOCKS)

#define PATTERN 0x5aa5c33cu

/* Cause of the interrupt of the timer. */
#define TIMER_CAUSE (CAUSE_INTERRUPT | INTERRUPT_TIMER)

/* Written by interrupt. */
static volatile bool fired;
static volatile uint32_t fired_cause, fired_lo, fired_hi;

static struct finding finding;

/* Size of the memory, as the start code found it. */
static uint32_t memory_bytes;

/* The word of the test of bytes. */
static volatile uint32_t lanes;

/* stage begins a stage. */
static void stage(uint32_t number)
{
	finding.stage = number;
	write32(MAIL_CHECKPOINT, number);
	write32(LOCAL_KICK, 0);
}

/* conclude keeps the result. */
static void conclude(uint32_t result, uint32_t detail0, uint32_t detail1, uint32_t detail2)
{
	finding.result = result;
	finding.detail0 = detail0;
	finding.detail1 = detail1;
	finding.detail2 = detail2;
}

/* fail keeps the result of a test that failed, and returns false. */
static bool fail(uint32_t result, uint32_t detail0, uint32_t found, uint32_t expected)
{
	conclude(result, detail0, found, expected);
	return false;
}

/* expect checks that the word at an address has a value. */
static bool expect(uint32_t at, uint32_t value, uint32_t fault_result, uint32_t value_result)
{
	struct answer a = probe_read(at);
	if (a.fault)
		return fail(fault_result, at, 0, value);
	return a.value == value || fail(value_result, at, a.value, value);
}

/* put checks that a word can be written. Accesses may be slow, so it kicks the watchdog. */
static bool put(uint32_t at, uint32_t value, uint32_t fault_result)
{
	write32(LOCAL_KICK, 0);
	return probe_write(at, value) == 0 || fail(fault_result, at, 0, value);
}

/* write_lanes writes a word in parts, so that it is 0x44332211. */
static void write_lanes(uint32_t at)
{
	write32(at, 0xffffffff);
	write16(at + 2, 0x4433);
	write8(at + 1, 0x22);
	write8(at, 0x11);
}

/* test_memory tests writes of parts of a word. */
static bool test_memory(void)
{
	uint32_t at = address_of(&lanes);
	write_lanes(at);
	return read32(at) == 0x44332211 || fail(RESULT_MEMORY_LANES, at, read32(at), 0x44332211);
}

static bool test_bus(void)
{
	struct answer info;
	stage(STAGE_BUS);
	if (!expect(ID_MAGIC, ID_MAGIC_RESET, RESULT_BUS_FAULT, RESULT_MAGIC) ||
	    !expect(ID_MAP_HASH, read32(MAIL_MAP_HASH), RESULT_BUS_FAULT, RESULT_MAP_HASH))
		return false;
	info = probe_read(MCU_INFO);
	if (info.fault)
		return fail(RESULT_BUS_FAULT, MCU_INFO, 0, 0);
	return (info.value & MCU_INFO_MEMORY) >> MCU_INFO_MEMORY_SHIFT << 10 == memory_bytes ||
	       fail(RESULT_MEMORY_SIZE, MCU_INFO, info.value, memory_bytes);
}

/* keeps writes a value to a register, which must keep it. */
static bool keeps(uint32_t at, uint32_t value)
{
	return put(at, value, RESULT_BUS_FAULT) && expect(at, value, RESULT_BUS_FAULT, RESULT_SCRATCH);
}

/* refuses checks that a write of a register is refused and changes nothing. */
static bool refuses(uint32_t at, uint32_t value)
{
	if (!probe_write(at, ~value))
		return fail(RESULT_UNLOCKED, at, 0, 0);
	return expect(at, value, RESULT_BUS_FAULT, RESULT_UNLOCKED);
}

/* test_lock writes a register, which must keep its value or refuse the write, as the host set it. It
   restores the register, also after a fault. */
static bool test_lock(uint32_t test)
{
	struct answer old;
	stage(STAGE_LOCK);
	old = probe_read(ID_SCRATCH3);
	if (old.fault)
		return fail(RESULT_BUS_FAULT, ID_SCRATCH3, 0, 0);
	if (test & MAIL_TEST_SCRATCH) {
		if (keeps(ID_SCRATCH3, PATTERN) && keeps(ID_SCRATCH3, ~PATTERN))
			return put(ID_SCRATCH3, old.value, RESULT_BUS_FAULT);
	} else if (refuses(ID_SCRATCH3, old.value)) {
		return true;
	}
	(void)probe_write(ID_SCRATCH3, old.value);
	return false;
}

/* next returns the offset of the next word of the test of a window: each power of two, and the
   last word. It is bytes after the last one. */
static uint32_t next(uint32_t offset, uint32_t bytes)
{
	uint32_t doubled = offset == 0 ? 4 : offset << 1;
	if (offset == bytes - 4)
		return bytes;
	return doubled < bytes ? doubled : bytes - 4;
}

/* fill writes words of a window and reads them back. */
static bool fill(uint32_t base, uint32_t bytes, uint32_t flip)
{
	for (uint32_t o = 0; o < bytes; o = next(o, bytes))
		if (!put(base + o, o ^ PATTERN ^ flip, RESULT_WINDOW_FAULT))
			return false;
	for (uint32_t o = 0; o < bytes; o = next(o, bytes))
		if (!expect(base + o, o ^ PATTERN ^ flip, RESULT_WINDOW_FAULT, RESULT_WINDOW_VALUE))
			return false;
	return true;
}

static bool test_window(uint32_t test)
{
	uint32_t bytes = test & MAIL_TEST_BYTES;
	uint32_t base = MCU_THROUGH + ((test & MAIL_TEST_WINDOW) >> MAIL_TEST_WINDOW_SHIFT) * MCU_WINDOW_BYTES;
	struct answer past;
	stage(STAGE_WINDOW);
	if (bytes == 0)
		return true;
	if (!fill(base, bytes, 0) || !fill(base, bytes, ~0u))
		return false;
	write_lanes(base);
	if (!expect(base, 0x44332211, RESULT_WINDOW_FAULT, RESULT_WINDOW_VALUE))
		return false;
	if (bytes >= MCU_WINDOW_BYTES)
		return true;
	past = probe_read(base + bytes);
	return past.fault || fail(RESULT_WINDOW_END, base + bytes, past.value, 0);
}

void interrupt(uint32_t cause)
{
	uint64_t at = now();
	disable();
	fired_cause = cause;
	fired_lo = (uint32_t)at;
	fired_hi = (uint32_t)(at >> 32);
	fired = true;
}

/* advances checks that the time advances. */
static bool advances(void)
{
	uint64_t start = now();
	for (uint32_t reads = 0; reads < TIME_READS; reads++)
		if (now() != start)
			return true;
	return fail(RESULT_TIME_STOPPED, LOCAL_TIME_LO, (uint32_t)start, 0);
}

static bool test_timer(void)
{
	uint64_t due;
	stage(STAGE_TIMER);
	if (!advances())
		return false;
	due = now() + TIMER_CLOCKS;
	fired = false;
	set_timer(due);
	enable(1u << INTERRUPT_TIMER);
	take_interrupts();
	for (uint32_t checks = 0; !fired && checks < TIMER_CHECKS; checks++)
		;
	hold_interrupts();
	disable();
	set_timer(UINT64_MAX);
	if (!fired)
		return fail(RESULT_TIMER_LATE, LOCAL_COMPARE_LO, (uint32_t)now(), (uint32_t)due);
	if (fired_cause != TIMER_CAUSE)
		return fail(RESULT_INTERRUPT, fired_cause, 0, TIMER_CAUSE);
	if (((uint64_t)fired_hi << 32 | fired_lo) < due)
		return fail(RESULT_TIMER_EARLY, LOCAL_COMPARE_LO, fired_lo, (uint32_t)due);
	return true;
}

const struct finding *selftest(uint32_t memory, uint32_t test)
{
	memory_bytes = memory;
	finding.stage = STAGE_MEMORY;
	if (test_memory() && test_bus() && test_lock(test) && test_window(test) && test_timer()) {
		finding.stage = STAGE_LOOP;
		conclude(RESULT_READY, 0, 0, 0);
	}
	return &finding;
}

/* NUMBER is the number of a window, by its address. */
#define NUMBER(window) (((window) - MCU_THROUGH) / MCU_WINDOW_BYTES)

uint32_t selftest_again(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t booted = read32(MAIL_TEST), test = in[SELFTEST_IN_TEST];
	const struct finding *f;
	if (test & ~(MAIL_TEST_BYTES | MAIL_TEST_WINDOW))
		return STATUS_ARGUMENT;
	test = test == 0 ? booted : test | (booted & MAIL_TEST_SCRATCH);
	if ((test & MAIL_TEST_BYTES) != 0 && (test & MAIL_TEST_WINDOW) >> MAIL_TEST_WINDOW_SHIFT <= NUMBER(WINDOW_MESSAGES))
		return STATUS_ARGUMENT;
	f = selftest(memory_bytes, test);
	write32(MAIL_CHECKPOINT, STAGE_LOOP);
	enable(WAKES);
	out[SELFTEST_OUT_STAGE] = f->stage;
	out[SELFTEST_OUT_RESULT] = f->result;
	out[SELFTEST_OUT_DETAIL0] = f->detail0;
	out[SELFTEST_OUT_DETAIL1] = f->detail1;
	out[SELFTEST_OUT_DETAIL2] = f->detail2;
	*length = SELFTEST_OUT_BYTES;
	return STATUS_OK;
}
