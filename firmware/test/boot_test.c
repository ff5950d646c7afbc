/* Tests of the boot on the PC. Values are numbers: the headers are under test too. */

#include <stdio.h>
#include <stdlib.h>

#include "boot.h"
#include "fake.h"

/* run runs the boot, and returns 1 if the loop was reached, 2 if it stopped. */
static int run(void)
{
	int how = setjmp(hw.end);
	if (how == 0)
		boot(0x8000);
	return how;
}

/* ready checks a boot without a fault. */
static void ready(const char *name)
{
	equal(name, "end", (uint32_t)run(), 1);
	equal(name, "checkpoint", hw.mail[0], 7);
	equal(name, "result", hw.mail[1], 0x59444552);
	equal(name, "scratch register", hw.scratch, 0x11112222);
	equal(name, "doorbells", hw.bells, 0);
	equal(name, "kicks", hw.kicks, 5 + 2 + 2 * hw.words + (hw.mail[6] & 1) * 3);
	equal(name, "compare", (uint32_t)(hw.compare & hw.compare >> 32), 0xffffffff);
}

/* stops checks a boot with a fault: its stage, its result and the details that are given. */
static void stops(const char *name, uint32_t stage, uint32_t result, uint32_t detail0, uint32_t detail1, uint32_t detail2)
{
	equal(name, "end", (uint32_t)run(), 2);
	equal(name, "checkpoint", hw.mail[0], stage);
	equal(name, "result", hw.mail[1], result);
	equal(name, "detail 0", hw.mail[2], detail0);
	equal(name, "detail 1", hw.mail[3], detail1);
	equal(name, "detail 2", hw.mail[4], detail2);
}

/* Windows of several sizes: the number of words that the test writes. */
static void test_windows(void)
{
	static const struct { uint32_t bytes, words; } sizes[] = {
		{0, 0}, {4, 1}, {8, 2}, {12, 3}, {16, 4}, {20, 4}, {32, 5}, {0x1000, 12}, {0x1004, 12}, {0x10000000, 28},
	};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char name[40];
		snprintf(name, sizeof name, "a window of %#x bytes", sizes[i].bytes);
		reset(sizes[i].bytes);
		ready(name);
		equal(name, "words", hw.words, sizes[i].words);
		for (uint32_t w = 1; w < hw.words; w++)
			equal(name, "word", hw.word[w], ~((hw.at[w] - WINDOW) ^ 0x5aa5c33c));
	}
}

static void test_registers(void)
{
	reset(64), hw.silent = 0x20000000;
	stops("ID.MAGIC is silent", 3, 4, 0x20000000, 0, 0x47504c48);
	reset(64), hw.magic = 1;
	stops("ID.MAGIC", 3, 5, 0x20000000, 1, 0x47504c48);
	reset(64), hw.map_hash = 2;
	stops("ID.MAP_HASH", 3, 6, 0x2000000c, 2, HASH);
	reset(64), hw.silent = 0x20000600;
	stops("MCU.INFO is silent", 3, 4, 0x20000600, 0, 0);
	reset(64), hw.info = INFO - 16;
	stops("MCU.INFO", 3, 3, 0x20000600, INFO - 16, 0x8000);
	reset(64), hw.silent = 0x2000002c;
	stops("ID.SCRATCH3 is silent", 4, 4, 0x2000002c, 0, 0);
	reset(64), hw.silent = 0x2000002c, hw.silent_from = 1;
	stops("ID.SCRATCH3 refuses a write", 4, 4, 0x2000002c, 0, 0x5aa5c33c);
	reset(64), hw.lost = 0x1;
	stops("a bit of ID.SCRATCH3 is lost, of the complement", 4, 8, 0x2000002c, 0xa55a3cc2, 0xa55a3cc3);
	reset(64), hw.lost = 0x4;
	stops("a bit of ID.SCRATCH3 is lost", 4, 8, 0x2000002c, 0x5aa5c338, 0x5aa5c33c);
}

static void test_lock(void)
{
	reset(64), hw.mail[6] &= ~1u;
	ready("a locked register");
	reset(64), hw.mail[6] &= ~1u, hw.unlocked = true;
	stops("a write that is not refused", 4, 7, 0x2000002c, 0, 0);
	reset(64), hw.mail[6] &= ~1u, hw.changes = true;
	stops("a refused write that changes the register", 4, 7, 0x2000002c, 0xeeeedddd, 0x11112222);
}

static void test_window(void)
{
	reset(64), hw.silent = WINDOW + 8;
	stops("a word refuses a write", 5, 9, WINDOW + 8, 0, 8 ^ 0x5aa5c33c);
	reset(64), hw.silent = WINDOW + 8, hw.silent_from = 1;
	stops("a word refuses a read", 5, 9, WINDOW + 8, 0, 8 ^ 0x5aa5c33c);
	reset(64), hw.ones = 0x1;
	stops("a bit is 1", 5, 10, WINDOW, 0x5aa5c33d, 0x5aa5c33c);
	reset(64), hw.zeros = 0x40000000;
	stops("a bit is 0", 5, 10, WINDOW, 0x1aa5c33c, 0x5aa5c33c);
	reset(64), hw.ones = 0x4;
	stops("a bit of the second word is 1", 5, 10, WINDOW + 4, 0x5aa5c33c, 0x5aa5c338);
	reset(64), hw.silent = WINDOW, hw.silent_from = 4;
	stops("no answer after the writes of bytes", 5, 9, WINDOW, 0, 0x44332211);
	reset(64), hw.unbounded = true;
	stops("a window without an end", 5, 11, WINDOW + 64, 0, 0);
	reset(0), hw.wide = true, hw.mail[0] = 2;
	stops("writes of bytes change words", 2, 2, LANES, 0x00000011, 0x44332211);
}

static void test_timer(void)
{
	reset(64), hw.step = 0;
	stops("time that stands still", 6, 12, 0x10000000, 0, 0);
	reset(64), hw.late = true;
	equal("late", "end", (uint32_t)run(), 2);
	equal("late", "result", hw.mail[1], 14);
	equal("late", "kept time", hw.mail[3] < hw.mail[4], 1);
	reset(64), hw.early = true;
	equal("early", "end", (uint32_t)run(), 2);
	equal("early", "result", hw.mail[1], 13);
	equal("early", "time before", hw.mail[3] < hw.mail[4], 1);
	reset(64), hw.cause = 0x8000000b;
	stops("an external interrupt", 6, 15, 0x8000000b, 0, 0x80000007);
	reset(64), hw.time = 0x100000000, hw.compare = 5;
	ready("a timer that is set already");
	for (uint64_t at = 0xfffffc00; at < 0x100000001; at++) {
		reset(64), hw.time = at;
		ready("a carry in the time");
	}
}

int main(void)
{
	test_windows();
	test_registers();
	test_lock();
	test_window();
	test_timer();
	test_messages();
	test_queues();
	return failures != 0;
}
