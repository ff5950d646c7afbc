/* What the tests of queues have in common. */
#pragma once

#include <string.h>

#include "fake.h"
#include "hw.h"
#include "message.h"
#include "queue.h"

void test_retries(void);
void test_vanished(void);
void test_reset_at_stop(void);
void test_stopped(void);
void test_forgotten(void);
void test_reset_at_rest(void);
void test_stuck(void);
void test_yields(void);

#define NODE0 fakes.node[0].regs
#define NODE1 fakes.node[1].regs
#define CTL 0
#define STATUS 1
#define RING_BASE 2
#define RING_SIZE 4
#define RPTR 5
#define WPTR 6
#define FAULT_INFO 8
#define IB_LO 15
#define IB_LEFT 17
#define PREEMPT 20
#define PREEMPTED 21
#define PROGRESS 22

#define TAIL(q) hw.area[0x80 / 4 + (q)]
#define HEAD(q) hw.area[0xc0 / 4 + (q)]
#define PLACE(q, i) hw.area[0x200 / 4 + 4 * (q) + (i)]
#define RESUMES(q) hw.area[0x100 / 4 + (q)]

static uint32_t out[14], length;

static inline uint32_t take(uint32_t node, uint32_t ring, uint32_t log2)
{
	uint32_t in[] = {node, ring, log2};
	return node_take(in, out, &length);
}

/* create creates a queue, whose ring has 4 entries at 0x10000 + 0x100 times its number. */
static inline uint32_t create(uint32_t queue, uint32_t node, uint32_t priority, uint32_t quantum)
{
	uint32_t in[] = {queue, node, priority, quantum, 0x10000 + 0x100 * queue, 0, 2, 0x40000 + 0x80 * queue, 0};
	return queue_create(in, out, &length);
}

static inline uint32_t one(uint32_t (*handler)(const uint32_t *, uint32_t *, uint32_t *), uint32_t value)
{
	return handler(&value, out, &length);
}

/* serve serves doorbells until there is nothing more to do. */
static inline void serve(uint32_t bells)
{
	queues_ring(bells);
	while (queues_serve())
		;
}

/* post writes an entry, and rings. */
static inline void post(uint32_t queue, uint32_t dwords, uint32_t flags)
{
	uint32_t at = 0x100 / 4 * queue + (TAIL(queue) & 3) * 8;
	uint32_t entry[] = {0x50000 + 0x1000 * queue, 0, dwords, flags, 0x60000 + 8 * queue, 0, TAIL(queue) + 1, queue};
	memcpy(&fakes.host[at], entry, sizeof entry);
	TAIL(queue)++;
	serve(0x10000u << queue);
}

/* begin begins a test with node 0 taken. */
static inline void begin(void)
{
	reset(64);
	hw.open = true;
	hw.time = 1000;
	equal("begin", "clear", queues_clear(), 1);
	NODE0[STATUS] = NODE1[STATUS] = 1;
	NODE0[CTL] = 4;
	equal("begin", "take", take(0, 0, 9), 0);
	equal("begin", "events", fakes.chosen, 0xf);
	equal("begin", "due in a reset", queues_due(), 256);
	serve(0);
	equal("begin", "base", NODE0[RING_BASE], 0x100000);
	equal("begin", "size", NODE0[RING_SIZE], 9);
}

/* reach lets node 0 retire up to a dword of the ring, with its event. */
static inline void reach(uint32_t rptr)
{
	NODE0[RPTR] = rptr;
	fakes.events |= 1;
	serve(0);
}
