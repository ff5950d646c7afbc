#include "boot.h"

#include <stdbool.h>

#include "boot_abi.h"
#include "hw.h"
#include "log.h"
#include "message.h"
#include "message_abi.h"
#include "queue.h"
#include "registers.h"
#include "telemetry.h"

/* How often TIME is read until it must have changed. */
#define TIME_READS 64

/* Clocks until the timer of the test is due. */
#define TIMER_CLOCKS 400

/* How often the test checks whether the interrupt has arrived. A check takes more than 4 clocks. */
#define TIMER_CHECKS (2 * TIMER_CLOCKS)

#define PATTERN 0x5aa5c33cu

/* Written by interrupt. */
static volatile bool fired;
static volatile uint32_t fired_lo, fired_hi;

/* The word of the test of bytes. */
static volatile uint32_t lanes;

static void stage(uint32_t number)
{
	write32(MAIL_CHECKPOINT, number);
	write32(LOCAL_KICK, 0);
}

/* fail stops with the result of a test. */
_Noreturn static void fail(uint32_t result, uint32_t detail0, uint32_t found, uint32_t expected)
{
	write32(MAIL_DETAIL0, detail0);
	write32(MAIL_DETAIL1, found);
	write32(MAIL_DETAIL2, expected);
	write32(MAIL_RESULT, result);
	stop();
}

/* expect stops unless the word at an address has a value. */
static void expect(uint32_t at, uint32_t value, uint32_t fault_result, uint32_t value_result)
{
	struct answer a = probe_read(at);
	if (a.fault)
		fail(fault_result, at, 0, value);
	if (a.value != value)
		fail(value_result, at, a.value, value);
}

/* put stops unless a word can be written. Accesses may be slow, so it kicks the watchdog. */
static void put(uint32_t at, uint32_t value, uint32_t fault_result)
{
	write32(LOCAL_KICK, 0);
	if (probe_write(at, value))
		fail(fault_result, at, 0, value);
}

/* write_lanes writes a word in parts, so that it is 0x44332211. */
static void write_lanes(uint32_t at)
{
	write32(at, 0xffffffff);
	write16(at + 2, 0x4433);
	write8(at + 1, 0x22);
	write8(at, 0x11);
}

static void test_memory(void)
{
	uint32_t at = address_of(&lanes);
	write_lanes(at);
	if (read32(at) != 0x44332211)
		fail(RESULT_MEMORY_LANES, at, read32(at), 0x44332211);
}

static void test_bus(uint32_t memory)
{
	struct answer info;
	stage(STAGE_BUS);
	expect(ID_MAGIC, ID_MAGIC_RESET, RESULT_BUS_FAULT, RESULT_MAGIC);
	expect(ID_MAP_HASH, read32(MAIL_MAP_HASH), RESULT_BUS_FAULT, RESULT_MAP_HASH);
	info = probe_read(MCU_INFO);
	if (info.fault)
		fail(RESULT_BUS_FAULT, MCU_INFO, 0, 0);
	if ((info.value & MCU_INFO_MEMORY) >> MCU_INFO_MEMORY_SHIFT << 10 != memory)
		fail(RESULT_MEMORY_SIZE, MCU_INFO, info.value, memory);
}

/* test_lock writes a register, which must keep its value or refuse the write, as the host set it. */
static void test_lock(void)
{
	struct answer old;
	stage(STAGE_LOCK);
	old = probe_read(ID_SCRATCH3);
	if (old.fault)
		fail(RESULT_BUS_FAULT, ID_SCRATCH3, 0, 0);
	if (read32(MAIL_TEST) & MAIL_TEST_SCRATCH) {
		put(ID_SCRATCH3, PATTERN, RESULT_BUS_FAULT);
		expect(ID_SCRATCH3, PATTERN, RESULT_BUS_FAULT, RESULT_SCRATCH);
		put(ID_SCRATCH3, ~PATTERN, RESULT_BUS_FAULT);
		expect(ID_SCRATCH3, ~PATTERN, RESULT_BUS_FAULT, RESULT_SCRATCH);
		put(ID_SCRATCH3, old.value, RESULT_BUS_FAULT);
		return;
	}
	if (!probe_write(ID_SCRATCH3, ~old.value))
		fail(RESULT_UNLOCKED, ID_SCRATCH3, 0, 0);
	expect(ID_SCRATCH3, old.value, RESULT_BUS_FAULT, RESULT_UNLOCKED);
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

static void test_window(void)
{
	uint32_t test = read32(MAIL_TEST), bytes = test & MAIL_TEST_BYTES;
	uint32_t base = MCU_THROUGH + ((test & MAIL_TEST_WINDOW) >> MAIL_TEST_WINDOW_SHIFT) * MCU_WINDOW_BYTES;
	uint32_t flip = 0;
	stage(STAGE_WINDOW);
	if (bytes == 0)
		return;
	do {
		for (uint32_t o = 0; o < bytes; o = next(o, bytes))
			put(base + o, o ^ PATTERN ^ flip, RESULT_WINDOW_FAULT);
		for (uint32_t o = 0; o < bytes; o = next(o, bytes))
			expect(base + o, o ^ PATTERN ^ flip, RESULT_WINDOW_FAULT, RESULT_WINDOW_VALUE);
		flip = ~flip;
	} while (flip);
	write_lanes(base);
	expect(base, 0x44332211, RESULT_WINDOW_FAULT, RESULT_WINDOW_VALUE);
	if (bytes < MCU_WINDOW_BYTES) {
		struct answer past = probe_read(base + bytes);
		if (!past.fault)
			fail(RESULT_WINDOW_END, base + bytes, past.value, 0);
	}
}

/* now returns TIME. The high half is read twice, so that a carry between the halves does no harm. */
uint64_t now(void)
{
	uint32_t hi, lo;
	do {
		hi = read32(LOCAL_TIME_HI);
		lo = read32(LOCAL_TIME_LO);
	} while (hi != read32(LOCAL_TIME_HI));
	return (uint64_t)hi << 32 | lo;
}

/* set_timer sets COMPARE. The timer is never due in between. */
static void set_timer(uint64_t at)
{
	write32(LOCAL_COMPARE_HI, 0xffffffff);
	write32(LOCAL_COMPARE_LO, (uint32_t)at);
	write32(LOCAL_COMPARE_HI, (uint32_t)(at >> 32));
}

void interrupt(uint32_t cause)
{
	uint64_t at = now();
	disable();
	if (cause != (CAUSE_INTERRUPT | INTERRUPT_TIMER))
		fail(RESULT_INTERRUPT, cause, 0, CAUSE_INTERRUPT | INTERRUPT_TIMER);
	fired_lo = (uint32_t)at;
	fired_hi = (uint32_t)(at >> 32);
	fired = true;
}

static void test_timer(void)
{
	uint64_t start = now(), due;
	uint32_t reads = 0;
	stage(STAGE_TIMER);
	while (now() == start)
		if (++reads == TIME_READS)
			fail(RESULT_TIME_STOPPED, LOCAL_TIME_LO, (uint32_t)start, 0);
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
		fail(RESULT_TIMER_LATE, LOCAL_COMPARE_LO, (uint32_t)now(), (uint32_t)due);
	if (((uint64_t)fired_hi << 32 | fired_lo) < due)
		fail(RESULT_TIMER_EARLY, LOCAL_COMPARE_LO, fired_lo, (uint32_t)due);
}

/* bells returns the doorbells that have rung since the last call. One that rings from now on is in
   the next call. */
static uint32_t bells(void)
{
	uint32_t rung = read32(LOCAL_DOORBELL);
	write32(LOCAL_DOORBELL, rung);
	return rung;
}

/* wake sets the timer to when there is work though nothing happens. */
static void wake(void)
{
	uint32_t queues = queues_due(), samples = telemetry_due();
	uint32_t due = queues < samples ? queues : samples;
	set_timer(due == UINT32_MAX ? UINT64_MAX : now() + due);
}

/* loop works for doorbells, events and the timer, and sleeps while there is nothing to do. No interrupt is taken: one that
   is pending wakes it, also one from before it sleeps. */
_Noreturn static void loop(uint32_t memory)
{
	uint32_t work = 0;
	bool more = false;
	stage(STAGE_LOOP);
	enable(1u << INTERRUPT_SOFTWARE | 1u << INTERRUPT_TIMER | 1u << INTERRUPT_EXTERNAL);
	write32(MAIL_DETAIL0, messages_begin());
	log_begin();
	LOG(LOG_EVENT, "boot: build %08x, memory of %u bytes", read32(MAIL_BUILD), memory);
	write32(MAIL_RESULT, RESULT_READY);
	for (;;) {
		uint32_t rung;
		if (work == 0 && !more) {
			wake();
			sleep();
		}
		write32(LOCAL_KICK, 0);
		rung = bells();
		work = (work | rung) & BELL_MESSAGES && message() ? BELL_MESSAGES : 0;
		more = queues_serve(rung);
		if (notices())
			work = BELL_MESSAGES;
		telemetry_serve(rung != 0 || more);
	}
}

void boot(uint32_t memory)
{
	test_memory();
	test_bus(memory);
	test_lock();
	test_window();
	test_timer();
	loop(memory);
}
