/* Hardware made of variables. A test plants a fault in it before it runs the boot. */
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

/* The address of the variable that the test of bytes uses, and that of the window of the tests. */
#define LANES 0x00000a00u
#define WINDOW 0xb0000000u

/* MCU.INFO of a memory of 32 KiB, and ID.MAP_HASH. */
#define INFO 0x00014820u
#define HASH 0xcafe0001u

/* The message area. */
#define AREA 0x90000000u
#define AREA_WORDS (0x7000 / 4)

#define MAILS 8
#define WORDS 32

struct fake {
	/* Registers */
	uint32_t magic, map_hash, info, scratch, lanes;
	uint32_t mail[MAILS];
	uint32_t bells, kicks, enabled;
	bool taken, slept;
	uint64_t time, compare;

	/* The message area, if open is set. broken is an address in it of which accesses are refused,
	   after broken_from ones; 1: none. */
	uint32_t area[AREA_WORDS];
	bool open;
	uint32_t broken, broken_from;
	uint32_t raises, raised;
	uint32_t perf, snapshots; /* the low half of a counter is its address and this */
	const char *text; /* of the last line of the log, also one that is not written */

	/* Words in the window, each at the address of the last write to it. */
	uint32_t at[WORDS], word[WORDS];
	uint32_t words;

	/* Faults */
	uint32_t silent;      /* an address of which accesses are refused; 1: none */
	uint32_t silent_from; /* accesses to it before the first refused one */
	uint32_t ones, zeros; /* bits in the window that are always 1, 0 */
	uint32_t lost;        /* bits of SCRATCH3 that are always 0 */
	uint32_t step;        /* of the time for each read of its low half */
	uint32_t cause;       /* of the interrupt */
	bool unlocked, changes, unbounded, wide, early, late;

	jmp_buf end;
	int sleeps;
};

extern struct fake hw;

/* Checks that failed. equal prints a check that fails. */
extern int failures;
void equal(const char *name, const char *what, uint32_t got, uint32_t want);

void test_messages(void);

/* open_messages makes a message area with rings of 4 entries, in which answers_taken answers were written and taken. */
void open_messages(void);
extern uint32_t answers_taken;
void test_queues(void);

/* Two nodes, in fake_node.c. A test moves them: they execute nothing on their own. */
#define RING_WORDS 0x1000

struct fake_node {
	uint32_t regs[64];   /* by offset / 4 */
	uint32_t trace[64];
	uint32_t vanishes;   /* the read of CTL before which the host resets the node; 0: none */
	bool stuck, silent, keeps; /* a reset never ends; PREEMPT is never answered; never idle */
};

struct fake_nodes {
	struct fake_node node[2];
	uint32_t events, owner, chosen, size, base;
	uint32_t free[2];           /* base of window 7 */
	uint32_t ring[RING_WORDS];  /* window 0 */
	uint32_t host[RING_WORDS];  /* memory at 0x10000 that window 7 reads */
	uint32_t runs;              /* writes of CTL that make a node run */
	bool locked;                /* writes of nodes are refused */
	bool no_trace, no_timeout;
	uint32_t timeout; /* READ_TIMEOUT */
	uint32_t caps, caps2;       /* of ID */
};

extern struct fake_nodes fakes;

void reset_node(void);
bool of_node(uint32_t at);
bool node_refuses(uint32_t at);
uint32_t node_loads(uint32_t at);
void node_stores(uint32_t at, uint32_t value);

/* reset makes hardware without a fault, with a window of the given size in bytes. */
void reset(uint32_t bytes);
