/* Tests of the queues on the PC, with nodes that the test moves. */

#include "queue_rig.h"

static void test_take(void)
{
	begin();
	equal("take", "node 2", take(2, 0, 9), 6);
	equal("take", "small", take(1, 0x1000, 8), 6);
	equal("take", "large", take(1, 0x1000, 21), 6);
	equal("take", "misaligned", take(1, 0x802, 9), 6);
	equal("take", "not a page", take(1, 0x800, 9), 6);
	equal("take", "past the window", take(1, 0x3000, 13), 6);
	equal("take", "after the window", take(1, 0x5000, 9), 6);
	equal("take", "twice", take(0, 0, 9), 7);
	fakes.owner = 1;
	equal("take", "owner", take(1, 0x1000, 9), 8);
	fakes.owner = 3, fakes.locked = true;
	equal("take", "locked", take(1, 0x1000, 9), 8);
	fakes.locked = false;
	for (uint32_t bit = 25; bit <= 26; bit++) {
		fakes.caps ^= 1u << bit;
		equal("take", "without CONTEXTS or PREEMPTION", take(1, 0x1000, 9), 8);
		fakes.caps ^= 1u << bit;
	}
	fakes.caps2 = 0xfd;
	equal("take", "without SIGNAL", take(1, 0x1000, 9), 8);
	fakes.caps2 = 2, NODE1[STATUS] = 0;
	equal("take", "works", take(1, 0x1000, 9), 7);
	NODE1[STATUS] = 1;
	equal("take", "node 1", take(1, 0x1000, 10), 0);
	equal("take", "events", fakes.chosen, 0xf0f);
	equal("give", "node 1", one(node_give, 1), 0);
	equal("give", "again", one(node_give, 1), 7);
	equal("give", "node 2", one(node_give, 2), 6);
	equal("give", "events", fakes.chosen, 0xf);
	fakes.node[0].stuck = true;
	equal("give", "stuck", one(node_give, 0), 9);
	equal("clear", "stuck", queues_clear(), 0);
	fakes.node[0].regs[0] = 0, fakes.node[0].stuck = false;
	equal("give", "later", one(node_give, 0), 0);
	queues_ring(0x10000);
	equal("serve", "no node", queues_serve(), 0);
}

static void test_create(void)
{
	uint32_t in[] = {3, 0, 0, 5000, 0x10020, 0, 2, 0x40000, 0};
	static const struct { uint32_t word, value; } bad[] = {{0, 16}, {1, 2}, {2, 4}, {3, 999}, {3, 0x40000001}, {4, 0x10010}, {6, 17}, {7, 0x40040}};
	begin();
	for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		uint32_t old = in[bad[i].word];
		in[bad[i].word] = bad[i].value;
		equal("create", "argument", queue_create(in, out, &length), 6);
		in[bad[i].word] = old;
	}
	in[1] = 1;
	equal("create", "node not taken", queue_create(in, out, &length), 7);
	in[1] = 0;
	equal("create", "good", queue_create(in, out, &length), 0);
	equal("create", "twice", queue_create(in, out, &length), 7);
	equal("state", "status", one(queue_state, 3), 0);
	equal("state", "ready", out[0], 1);
	equal("state", "length", length, 20);
	equal("state", "queue 16", one(queue_state, 16), 6);
	equal("give", "with a queue", one(node_give, 0), 7);
	equal("destroy", "queue 16", one(queue_destroy, 16), 6);
	equal("destroy", "queue 4", one(queue_destroy, 4), 7);
	equal("preempt", "queue 4", one(queue_preempt, 4), 7);
	equal("resume", "queue 4", one(queue_resume, 4), 7);
	equal("resume", "ready", one(queue_resume, 3), 7);
	equal("drain", "node 2", one(node_drain, 2), 6);
	equal("reset", "node 1", one(node_recover, 1), 7);
	serve(0xfff70000);
	TAIL(3) = 5;
	serve(0x80000);
	(void)one(queue_state, 3);
	equal("tail", "too far", out[3], 0);
	equal("tail", "counted", out[4], 1);
	equal("destroy", "good", one(queue_destroy, 3), 0);
}

/* The packets of two entries of a queue and of one of another queue. */
static void test_packets(void)
{
	static const uint32_t want[] = {
		0x14000002, 0x40000, 0, 0x02000003, 0x50000, 0, 7, 0x0b000005, 0x60000, 0, 1, 0, 1,
		0x02000003, 0x50000, 0, 9, 0x0b000005, 0x60000, 0, 2, 0, 1,
		0x13000002, 0x40000, 0, 0x14000002, 0x40080, 0, 0x02000003, 0x51000, 0, 5, 0x0b000005, 0x60008, 0, 1, 1, 1,
	};
	begin();
	equal("packets", "create", create(0, 0, 1, 5000) | create(1, 0, 1, 5000), 0);
	post(0, 7, 0), post(0, 9, 0), post(1, 5, 0);
	for (uint32_t i = 0; i < sizeof want / 4; i++)
		equal("packets", "word", fakes.ring[i], want[i]);
	equal("packets", "WPTR", NODE0[WPTR], sizeof want / 4);
	equal("packets", "CTL keeps PROTECT", NODE0[CTL], 5);
	equal("packets", "a turn ends", queues_due() < 5000, 1);
	reach(13);
	equal("packets", "head", HEAD(0), 1);
	reach(39);
	equal("packets", "heads", HEAD(0) << 8 | HEAD(1), 0x201);
	equal("packets", "nothing is due", queues_due(), 0xffffffff);
	post(1, 5, 0);
	equal("packets", "no switch", fakes.ring[39], 0x02000003);
}

/* A higher priority interrupts a buffer, whose rest is resumed. */
static void test_priority(void)
{
	begin();
	(void)create(0, 0, 1, 5000), (void)create(1, 0, 2, 5000);
	post(0, 7, 0), post(0, 8, 0);
	NODE0[RPTR] = 3, NODE0[IB_LO] = 0x50008, NODE0[IB_LEFT] = 5, NODE0[PROGRESS] = 2;
	post(1, 4, 0);
	equal("priority", "PREEMPT", NODE0[PREEMPT], 1);
	equal("priority", "SAVE_STATE", fakes.ring[3], 0x13000002);
	equal("priority", "RESTORE_STATE", fakes.ring[7], 0x40080);
	equal("priority", "WPTR", NODE0[WPTR], 19);
	NODE0[IB_LEFT] = 0;
	reach(19);
	equal("priority", "head", HEAD(1), 1);
	equal("priority", "back", fakes.ring[23], 0x40000);
	equal("priority", "buffer", fakes.ring[26], 0x50008);
	equal("priority", "resume", fakes.ring[28], 5 | 1 << 20);
	equal("priority", "next", fakes.ring[38], 8);
	/* Only the SIGNAL of the first is left. */
	NODE0[RPTR] = 29;
	post(1, 4, 0);
	equal("signal", "WPTR", NODE0[WPTR], 51);
	equal("signal", "SIGNAL stays", fakes.ring[29], 0x0b000005);
	equal("signal", "SAVE_STATE", fakes.ring[35], 0x13000002);
	/* Again before the SIGNAL: nothing changes. */
	equal("preempt", "held", one(queue_preempt, 1), 0);
	serve(0);
	equal("preempt", "SIGNAL stays", NODE0[WPTR] >= 35, 1);
	reach(35);
	equal("preempt", "head", HEAD(0), 1);
	equal("preempt", "twice", one(queue_preempt, 1), 7);
	equal("resume", "queue 1", one(queue_resume, 1), 0);
	serve(0);
	equal("destroy", "queue 1", one(queue_destroy, 1), 0);
}

/* A quantum ends: the next queue, and a queue that has not moved gets more time. */
static void test_quantum(void)
{
	begin();
	(void)create(0, 0, 1, 1000), (void)create(1, 0, 1, 1000);
	post(0, 7, 0), post(1, 7, 0);
	NODE0[RPTR] = 3;
	hw.time += 2000;
	equal("quantum", "due", queues_due(), 0);
	serve(0);
	equal("quantum", "no move", fakes.ring[3], 0x02000003);
	equal("quantum", "again", fakes.ring[4], 0x50000);
	hw.time += 1200;
	serve(0);
	equal("quantum", "longer", NODE0[PREEMPT], 1);
	hw.time += 1000, NODE0[IB_LO] = 0x50010, NODE0[IB_LEFT] = 3;
	serve(0);
	equal("quantum", "second stop", NODE0[PREEMPT], 2);
	equal("quantum", "the other", fakes.ring[3], 0x13000002);
	equal("quantum", "its context", fakes.ring[7], 0x40080);
	/* At SAVE_STATE and at RESTORE_STATE. */
	hw.time += 3000, NODE0[IB_LEFT] = 0;
	serve(0);
	equal("quantum", "no move of the other", fakes.ring[3], 0x13000002);
	NODE0[RPTR] = 6, hw.time += 9000;
	serve(0);
	equal("quantum", "saved already", fakes.ring[6], 0x14000002);
}

/* A queue that a higher priority interrupts continues with the time that is left of its turn. A SIGNAL that is left stays
   the only entry of its queue in the ring, also after another stop. */
static void test_interrupted(void)
{
	uint32_t step = hw.step;
	begin();
	hw.step = 0;
	(void)create(0, 0, 1, 5000), (void)create(1, 0, 1, 5000), (void)create(2, 0, 3, 5000);
	post(0, 7, 0), post(1, 7, 0);
	NODE0[RPTR] = 3, NODE0[IB_LO] = 0x50010, NODE0[IB_LEFT] = 3;
	hw.time += 2000;
	post(2, 5, 0);
	equal("interrupted", "stop", NODE0[PREEMPT], 1);
	NODE0[IB_LEFT] = 0;
	hw.time += 700;
	reach(19);
	equal("interrupted", "head", HEAD(2), 1);
	equal("interrupted", "the rest", queues_due(), 3000);
	begin();
	(void)create(0, 0, 1, 5000);
	post(0, 7, 0), post(0, 9, 0);
	NODE0[RPTR] = 7;
	for (int stops = 0; stops < 2; stops++) {
		equal("signal", "preempt", one(queue_preempt, 0), 0);
		equal("signal", "resume", one(queue_resume, 0), 0);
	}
	serve(0);
	reach(13);
	equal("signal", "head", HEAD(0), 1);
	equal("signal", "next entry", fakes.ring[16], 9);
	reach(23);
	equal("signal", "both", HEAD(0), 2);
	hw.step = step;
}

/* A quantum that is forced ends without another queue: the queue saves its context, restores it and continues
   from its place. */
static void test_forced(void)
{
	begin();
	RESUMES(0) = 7;
	(void)create(0, 0, 1, 0x80000000u + 1000);
	equal("forced", "no resumes", RESUMES(0), 0);
	post(0, 7, 0);
	NODE0[RPTR] = 3, NODE0[IB_LO] = 0x50010, NODE0[IB_LEFT] = 3;
	equal("forced", "due", queues_due() <= 1000, 1);
	hw.time += 1000;
	serve(0);
	equal("forced", "stop", NODE0[PREEMPT], 1);
	equal("forced", "SAVE_STATE", fakes.ring[3], 0x13000002);
	equal("forced", "to", fakes.ring[4], 0x40000);
	equal("forced", "RESTORE_STATE", fakes.ring[6], 0x14000002);
	equal("forced", "from", fakes.ring[7], 0x40000);
	equal("forced", "INDIRECT", fakes.ring[10], 0x50010);
	equal("forced", "resume", fakes.ring[12], 0x100003);
	equal("forced", "resumes", RESUMES(0), 1);
	/* It ends while it waits for the event. */
	reach(19);
	equal("forced", "head", HEAD(0), 1);
	equal("forced", "nothing due", queues_due(), 0xffffffff);
	equal("forced", "too long", create(1, 0, 1, 0xffffffff), 6);
	equal("forced", "too short", create(1, 0, 1, 0x80000000u + 999), 6);
}

/* A fault: record, reset, guilty queue; the other queue continues. */
static void test_fault(void)
{
	static const uint32_t fields[][2] = {{0, 1}, {1, 0}, {2, 0}, {3, 5}, {7, 3}, {9, 5}, {18, 0x77}, {20, 115}, {21, 1}, {22 + 16, 0x02000003}, {22 + 32, 0x7000}, {22 + 32 + 63, 0x703f}};
	begin();
	hw.area[0x5000 / 4] = 0;
	(void)create(0, 0, 1, 5000), (void)create(1, 0, 1, 5000);
	post(0, 7, 0), post(1, 7, 0);
	NODE0[RPTR] = 3, NODE0[FAULT_INFO] = 5, NODE0[IB_LEFT] = 0x77;
	fakes.events = 4;
	serve(0);
	for (uint32_t i = 1; i < sizeof fields / sizeof *fields; i++)
		equal("record", "word", hw.area[0x5000 / 4 + fields[i][0]], fields[i][1]);
	equal("fault", "record", hw.area[0x5000 / 4] != 0, 1);
	equal("fault", "notice", notices(), 1);
	serve(0);
	equal("fault", "the other", fakes.ring[1], 0x40080);
	(void)one(queue_state, 0);
	equal("fault", "state", out[0] << 8 | out[1], 0x305);
	equal("fault", "no resume", one(queue_resume, 0), 7);
	/* The save area of queue 1 is bad. */
	equal("fault", "destroy", one(queue_destroy, 0), 0);
	(void)create(0, 0, 1, 5000), TAIL(0) = 0;
	serve(0);
	equal("fault", "running", NODE0[CTL] & 1, 1);
	NODE0[RPTR] = 13;
	post(0, 7, 0);
	fakes.events = 8;
	serve(0);
	(void)one(queue_state, 1);
	equal("watchdog", "state", out[0] << 8 | out[1], 0x312);
	equal("watchdog", "event of no cause", NODE0[FAULT_INFO], 0);
}

/* A fault while no context is in the node has no guilty queue. The firmware resets the node, and executes the next entry. */
static void test_fault_without_queue(void)
{
	begin();
	(void)create(0, 0, 1, 5000);
	(void)notices();
	NODE0[FAULT_INFO] = 5;
	fakes.events = 4;
	serve(0);
	equal("no queue", "notice", notices(), 1);
	equal("no queue", "queue of the record", hw.area[0x5000 / 4 + 2], 255);
	equal("no queue", "reset", NODE0[FAULT_INFO], 0);
	post(0, 7, 0);
	equal("no queue", "runs", NODE0[CTL] & 1, 1);
	reach(13);
	equal("no queue", "head", HEAD(0), 1);
}

/* RESET, DRAIN, a node that the host takes back, a node that does not stop. */
static void test_recovery(void)
{
	begin();
	fakes.no_trace = true;
	equal("reset", "idle", one(node_recover, 0), 0);
	equal("reset", "no trace", hw.area[0x5000 / 4 + 21], 0);
	equal("reset", "busy", one(node_recover, 0), 9);
	serve(0);
	(void)create(0, 0, 1, 5000), (void)create(1, 0, 3, 5000);
	post(0, 7, 0);
	fakes.node[0].silent = true;
	post(1, 7, 0);
	equal("silent", "drain", one(node_drain, 0), 9);
	equal("silent", "preempt", one(queue_preempt, 0), 9);
	equal("silent", "destroy", one(queue_destroy, 0), 9);
	NODE0[PREEMPTED] = NODE0[PREEMPT], NODE0[RPTR] = 3, fakes.node[0].silent = false;
	serve(0);
	equal("drain", "status", one(node_drain, 0), 0);
	(void)notices();
	reach(19);
	equal("drain", "drained", notices(), 1);
	equal("drain", "held", one(queue_preempt, 0), 7);
	equal("drain", "resume", one(queue_resume, 0), 0);
	serve(0);
	NODE0[STATUS] = 0;
	equal("destroy", "in flight", one(queue_destroy, 1), 9);
	NODE0[STATUS] = 1;
	equal("destroy", "later", one(queue_destroy, 1), 0);
	serve(0);
	fakes.locked = true;
	post(0, 7, 0);
	(void)one(queue_state, 0);
	equal("lost", "state", out[0] << 8 | out[1], 0x314);
	equal("lost", "events", fakes.chosen, 0);
}

/* A request waits for a node that does not stop. The other node gets entries of doorbells that ring meanwhile. Those of
   messages wait. The node places nothing until it has stopped and nothing is in flight. */
static void test_halt(void)
{
	uint32_t begin_time, write;
	begin();
	equal("halt", "take", take(1, 0x1000, 9), 0);
	serve(0);
	(void)create(0, 0, 1, 5000), (void)create(1, 1, 1, 5000);
	post(0, 7, 0);
	post(1, 7, 0);
	write = NODE1[WPTR];
	post(0, 7, 0);
	fakes.node[0].silent = true;
	TAIL(1)++;
	hw.bells = 1 | 0x10000u << 1;
	begin_time = (uint32_t)hw.time;
	equal("halt", "preempt", one(queue_preempt, 0), 9);
	equal("halt", "time", (uint32_t)hw.time - begin_time >= 0x100000, 1);
	equal("halt", "the other node", NODE1[WPTR] > write, 1);
	equal("halt", "doorbells", hw.bells, 1);
	fakes.node[0].silent = false;
	NODE0[PREEMPTED] = NODE0[PREEMPT], NODE0[RPTR] = 3, NODE0[CTL] = 4, NODE0[STATUS] = 0;
	write = NODE0[WPTR];
	equal("halt", "in flight", one(queue_destroy, 0), 9);
	equal("halt", "nothing is placed", NODE0[WPTR], write);
	NODE0[STATUS] = 1;
	equal("halt", "destroy", one(queue_destroy, 0), 0);
}

/* A node that drains gets no entries, of a queue that has been resumed either, and no quantum ends. Its
   entries are complete before DRAINED, so no queue may be destroyed. */
static void test_drain(void)
{
	uint32_t end;
	begin();
	(void)create(0, 0, 1, 5000);
	(void)create(1, 0, 1, 5000);
	post(0, 7, 0);
	end = NODE0[WPTR];
	equal("drain", "status", one(node_drain, 0), 0);
	equal("drain", "resume", one(queue_resume, 0), 0);
	equal("drain", "resume", one(queue_resume, 1), 0);
	post(0, 7, 0);
	post(1, 7, 0);
	equal("drain", "no new entry", NODE0[WPTR], end);
	equal("drain", "no quantum", queues_due(), 0xffffffff);
	equal("drain", "destroy", one(queue_destroy, 1), 9);
	equal("drain", "preempt", one(queue_preempt, 0), 9);
	equal("drain", "no stop", NODE0[PREEMPT], 0);
	equal("drain", "preempt without entries", one(queue_preempt, 1), 0);
	equal("drain", "resume again", one(queue_resume, 1), 0);
	(void)notices();
	reach(end);
	equal("drain", "drained", notices(), 1);
	serve(0);
	equal("drain", "the next entry", NODE0[WPTR] != end, 1);
}

/* The end of a context has no event, so a node that drains and has only one in its ring is looked at by the timer. */
static void test_drain_of_switch(void)
{
	begin();
	(void)create(0, 0, 1, 5000);
	post(0, 7, 2);
	equal("drain of switch", "RESTORE_STATE", NODE0[WPTR], 3);
	equal("drain of switch", "nothing is due before", queues_due(), 0xffffffff);
	equal("drain of switch", "status", one(node_drain, 0), 0);
	serve(0);
	equal("drain of switch", "due", queues_due(), 256);
	(void)notices();
	NODE0[RPTR] = 3;
	serve(0);
	equal("drain of switch", "drained", notices(), 1);
	equal("drain of switch", "nothing is due after", queues_due(), 0xffffffff);
}

/* Bad entries. */
static void test_entries(void)
{
	begin();
	(void)create(0, 0, 1, 5000);
	post(0, 7, 2);
	(void)one(queue_state, 0);
	equal("entry", "flags", out[0] << 8 | out[1], 0x310);
	equal("entry", "destroy", one(queue_destroy, 0), 0);
	TAIL(0) = 0;
	(void)create(0, 0, 1, 5000);
	equal("entry", "no context remains", fakes.ring[3] == 0x02000003, 0);
	post(0, 0x100000, 0);
	(void)one(queue_state, 0);
	equal("entry", "dwords", out[0] << 8 | out[1], 0x310);
	uint32_t in[] = {2, 0, 0, 5000, 0x20, 1, 0, 0x40000, 0};
	equal("entry", "create", queue_create(in, out, &length), 0);
	TAIL(2)++;
	serve(0x40000);
	(void)one(queue_state, 2);
	equal("entry", "unreadable", out[0] << 8 | out[1], 0x311);
}

void test_queues(void)
{
	test_take();
	test_create();
	test_packets();
	test_priority();
	test_quantum();
	test_interrupted();
	test_forced();
	test_fault();
	test_fault_without_queue();
	test_recovery();
	test_halt();
	test_drain();
	test_drain_of_switch();
	test_entries();
	test_retries();
	test_vanished();
	test_reset_at_stop();
	test_stopped();
	test_forgotten();
	test_reset_at_rest();
	test_stuck();
	test_yields();
	reset(64);
	(void)queues_clear();
}
