/* Tests of yields: a doorbell stops a node, and its queues forget what is not complete. */

#include "boot.h"
#include "queue_rig.h"

#define ANSWER_HEAD hw.area[0x24 / 4]
#define ANSWER_TAIL hw.area[0x44 / 4]

/* The doorbells. */
#define YIELD0 2u
#define YIELD1 4u

/* open begins a test with node 0 taken, queues 0 and 1 of one priority and queue 2 of a higher one, and a message area. */
static void open(void)
{
	begin();
	open_messages();
	hw.area[2] = 6;
	equal("yield", "area", messages_begin(), 1);
	(void)message();
	ANSWER_HEAD = answers_taken = ANSWER_TAIL;
	(void)create(0, 0, 1, 5000), (void)create(1, 0, 1, 5000), (void)create(2, 0, 3, 5000);
}

/* noticed checks the next notice. op 0: there is none. */
static void noticed(const char *what, uint32_t op, uint32_t a, uint32_t b)
{
	const uint32_t *n = &hw.area[(0x2000 + (answers_taken & 63) * 64) / 4];
	if (op == 0) {
		equal("yield", what, ANSWER_TAIL - answers_taken, 0);
		return;
	}
	equal("yield", what, ANSWER_TAIL == answers_taken, 0);
	ANSWER_HEAD = ++answers_taken;
	equal("yield", what, n[1], op | 12 << 8);
	equal("yield", what, n[2], a);
	equal("yield", what, n[3], b);
}

/* inside makes node 0 stop inside the buffer of the packet at a dword of the ring. */
static void inside(uint32_t rptr, uint32_t at, uint32_t left, uint32_t progress)
{
	NODE0[RPTR] = rptr, NODE0[IB_LO] = at, NODE0[IB_LEFT] = left, NODE0[PROGRESS] = progress;
}

/* A node yields inside a buffer, with entries of two queues in its ring and an entry that has not rung. */
static void test_places(void)
{
	open();
	post(0, 7, 0), post(0, 8, 0), post(1, 9, 0);
	inside(3, 0x50008, 5, 2);
	TAIL(1)++;
	PLACE(1, 2) = 77;
	serve(YIELD0);
	noticed("running", 66, 0, 1);
	equal("yield", "stop", NODE0[PREEMPT], 1);
	equal("yield", "address", PLACE(0, 0), 0x50008);
	equal("yield", "high half", PLACE(0, 1), 0);
	equal("yield", "left", PLACE(0, 2), 5);
	equal("yield", "progress", PLACE(0, 3), 2);
	equal("yield", "not begun", PLACE(1, 2), 0);
	equal("yield", "heads", HEAD(0) << 8 | HEAD(1), 0x202);
	equal("yield", "the tails are in the queues", queues_due(), 0xffffffff);
	equal("yield", "it does not run", NODE0[CTL] & 1, 0);
	equal("yield", "raises", hw.raises != 0, 1);
	serve(YIELD0);
	noticed("again", 66, 0, 0);
	equal("yield", "no place", PLACE(0, 2), 0);
	equal("yield", "no stop", NODE0[PREEMPT], 1);
	post(1, 3, 0);
	equal("yield", "SAVE_STATE", fakes.ring[3], 0x13000002);
	equal("yield", "the new entry", fakes.ring[12], 3);
	noticed("no other", 0, 0, 0);
}

/* An entry continues from a state. If it stops before INDIRECT, it is restored again. Once it has begun it is as any other. */
static void test_resume(void)
{
	static const uint32_t want[] = {0x14000002, 0x40000, 0, 0x14000002, 0x10000 + 4 * 32 + 128, 0, 0x02000003, 0x50000, 0, 6 | 1 << 20, 0x0b000005};
	open();
	TAIL(0) = 1;
	serve(YIELD0);
	noticed("one entry", 66, 0, 0);
	equal("resume", "resumes before", RESUMES(0), 0);
	post(0, 6, 1);
	for (uint32_t i = 0; i < sizeof want / 4; i++)
		equal("resume", "word", fakes.ring[i], want[i]);
	equal("resume", "resumes", RESUMES(0), 1);
	/* Before RESTORE_STATE, and after it. */
	for (uint32_t rptr = 3; rptr <= 6; rptr += 3) {
		uint32_t end;
		inside(rptr, 0, 0, 0);
		post(2, 4, 0);
		equal("resume", "SAVE_STATE", fakes.ring[rptr], 0x13000002);
		end = NODE0[WPTR];
		equal("resume", "the other", end, rptr + 16);
		reach(end);
		equal("resume", "back", fakes.ring[end + 6], 0x14000002);
		equal("resume", "the state", fakes.ring[end + 7], 0x10000 + 4 * 32 + 128);
		equal("resume", "the buffer", fakes.ring[end + 12], 6 | 1 << 20);
		inside(end + 6, 0, 0, 0);
		serve(YIELD0);
		noticed("not begun", 66, 0, 0);
		equal("resume", "no place", PLACE(0, 2), 0);
		node_recover((uint32_t[]){0}, out, &length);
		equal("resume", "destroy", one(queue_destroy, 0), 9);
		serve(0);
		equal("resume", "destroy", one(queue_destroy, 0), 0);
		(void)message();
		ANSWER_HEAD = answers_taken = ANSWER_TAIL;
		TAIL(0) = 0;
		(void)create(0, 0, 1, 5000);
		TAIL(0) = 1;
		serve(YIELD0);
		noticed("one entry", 66, 0, 0);
		post(0, 6, 1);
	}
	/* Inside. */
	inside(6, 0x50008, 3, 9);
	post(2, 4, 0);
	reach(NODE0[WPTR]);
	equal("resume", "its context", fakes.ring[26], 0x40000);
	equal("resume", "no state", fakes.ring[28], 0x02000003);
	equal("resume", "buffer", fakes.ring[29], 0x50008);
	inside(28, 0x5000c, 2, 1);
	serve(YIELD0);
	noticed("begun", 66, 0, 1);
	equal("resume", "place", PLACE(0, 0), 0x5000c);
	equal("resume", "progress", PLACE(0, 3), 1);
}

/* A queue that was stopped earlier, for a higher priority, has its place too. So has one that is held. One that has failed is left as
   it is. */
static void test_earlier(void)
{
	open();
	post(0, 7, 0);
	inside(3, 0x50010, 3, 8);
	post(2, 9, 0);
	inside(9, 0x52004, 8, 0);
	serve(YIELD0);
	noticed("both", 66, 0, 5);
	equal("earlier", "place", PLACE(0, 0), 0x50010);
	equal("earlier", "progress", PLACE(0, 3), 8);
	equal("earlier", "place of the other", PLACE(2, 2), 8);
	open();
	post(0, 7, 0);
	inside(3, 0x50010, 3, 8);
	equal("held", "preempt", one(queue_preempt, 0), 0);
	post(1, 7, 2);
	serve(YIELD0);
	(void)message();
	noticed("FAULT", 64, 0, 1);
	noticed("held", 66, 0, 1);
	equal("held", "heads", HEAD(0) << 8 | HEAD(1), 0x100);
	(void)one(queue_state, 0);
	equal("held", "state", out[0], 2);
}

/* Only the SIGNAL is left when the node stops. It is executed before YIELDED. */
static void test_signal(void)
{
	open();
	post(0, 7, 0), post(0, 8, 0);
	NODE0[RPTR] = 7;
	serve(YIELD0);
	noticed("before", 0, 0, 0);
	equal("signal", "stop", NODE0[PREEMPT], 1);
	equal("signal", "runs", NODE0[CTL] & 1, 1);
	equal("signal", "end", NODE0[WPTR], 13);
	serve(YIELD0);
	equal("signal", "no second stop", NODE0[PREEMPT], 1);
	/* A request stops it before, and the SIGNAL runs after its answer. */
	equal("signal", "preempt", one(queue_preempt, 0), 0);
	serve(0);
	equal("signal", "runs again", NODE0[CTL] & 1, 1);
	reach(13);
	noticed("after", 66, 0, 0);
	equal("signal", "head", HEAD(0), 2);
}

/* A node stops late. A second doorbell changes nothing, and DRAIN gets BUSY. Then something is in flight. */
static void test_late(void)
{
	open();
	post(0, 7, 0);
	fakes.node[0].silent = true;
	serve(YIELD0);
	serve(YIELD0);
	equal("late", "one stop", NODE0[PREEMPT], 1);
	equal("late", "drain", one(node_drain, 0), 9);
	post(1, 7, 0);
	noticed("waits", 0, 0, 0);
	fakes.node[0].silent = false;
	inside(3, 0x50004, 6, 0);
	NODE0[PREEMPTED] = 1, NODE0[CTL] = 4, NODE0[STATUS] = 0;
	serve(0);
	noticed("in flight", 0, 0, 0);
	equal("late", "due", queues_due(), 256);
	equal("late", "drain of a node that has stopped", one(node_drain, 0), 9);
	NODE0[STATUS] = 1;
	serve(0);
	noticed("idle", 66, 0, 1);
	equal("late", "the new entry too", HEAD(1), 1);
}

/* A node that drains completes its entries first. */
static void test_drain(void)
{
	open();
	post(0, 7, 0);
	equal("drain", "status", one(node_drain, 0), 0);
	post(1, 7, 0);
	serve(YIELD0);
	equal("drain", "no stop", NODE0[PREEMPT], 0);
	reach(13);
	(void)message();
	noticed("DRAINED", 65, 0, 0);
	noticed("YIELDED", 66, 0, 0);
	equal("drain", "heads", HEAD(0) << 8 | HEAD(1), 0x101);
}

/* Host memory refuses tails, places, heads and the notice. Each is tried again, and is due. Places are complete before a head
   is written. */
static void test_memory(void)
{
	static const uint32_t words[] = {0x90000080, 0x90000084, 0x90000200, 0x90000204, 0x90000208, 0x9000020c, 0x90000218, 0x900000c0, 0x900000c4};
	for (uint32_t i = 0; i < sizeof words / 4; i++) {
		open();
		hw.step = 0;
		post(0, 7, 0), post(1, 7, 0);
		inside(3, 0x50004, 6, 3);
		hw.broken = words[i];
		serve(YIELD0);
		noticed("refused", 0, 0, 0);
		equal("memory", "heads", HEAD(0) == 0 || words[i] > 0x90000084, 1);
		equal("memory", "heads after places", HEAD(0) | HEAD(1), words[i] >> 4 == 0x900000c);
		equal("memory", "due", queues_due(), 256);
		hw.time += 256;
		serve(0);
		equal("memory", "due later", queues_due(), 512);
		post(2, 7, 0);
		equal("memory", "nothing is placed", NODE0[WPTR], 29);
		serve(YIELD0); /* changes nothing */
		hw.broken = 1;
		serve(0);
		noticed("at last", 66, 0, 1);
		equal("memory", "place", PLACE(0, 3), 3);
		equal("memory", "heads at last", HEAD(0) << 8 | HEAD(1), 0x101);
		equal("memory", "a later entry runs if it was after the drop", HEAD(2), words[i] >> 4 != 0x900000c);
	}
	open();
	post(0, 7, 0);
	hw.broken = 0x90000044;
	serve(YIELD0);
	equal("memory", "more", notices(), 1);
	equal("memory", "refused", message(), 0);
	equal("memory", "due", messages_due() <= 256, 1);
	hw.broken = 1;
	(void)message();
	noticed("later", 66, 0, 0);
	/* Nothing is due for a queue that is destroyed meanwhile. */
	open();
	post(0, 7, 0);
	inside(3, 0x50004, 6, 3);
	hw.broken = 0x90000204;
	serve(YIELD0);
	equal("memory", "destroy", one(queue_destroy, 0), 0);
	serve(0);
	noticed("without the queue", 66, 0, 0);
	equal("memory", "nothing is due", queues_due(), 0xffffffff);
}

/* A fault, RESET, a node that something else resets, and one that is given back. */
static void test_ends(void)
{
	for (uint32_t how = 0; how < 5; how++) {
		open();
		post(0, 7, 0), post(1, 7, 0);
		inside(3, 0x50004, 6, 3);
		fakes.node[0].silent = true;
		if (how == 3)
			fakes.node[0].vanishes = 2;
		serve(YIELD0);
		if (how == 0)
			NODE0[FAULT_INFO] = 5, fakes.events = 4;
		if (how == 1)
			equal("ends", "RESET", one(node_recover, 0), 0);
		if (how == 2)
			fakes.owner = 2;
		if (how == 4) {
			/* It is reset after the stop, before its ring is looked at. */
			NODE0[PREEMPTED] = 1, NODE0[CTL] = 4, NODE0[RING_SIZE] = 0;
		}
		serve(0);
		serve(0);
		fakes.node[0].silent = false;
		(void)message();
		noticed("FAULT", 64, 0, 0);
		if (how >= 2) {
			noticed("LOST", 64, 0, 1);
			noticed("LOST", 64, 0, 2);
		}
		noticed("then YIELDED", 66, 0, 0);
		noticed("no other", 0, 0, 0);
		equal("ends", "the rest", HEAD(0) << 8 | HEAD(1), how < 2 ? 1 : 0);
	}
	/* One whose reset does not end. */
	open();
	hw.step = 0;
	post(0, 7, 0);
	fakes.node[0].stuck = true;
	equal("ends", "RESET", one(node_recover, 0), 0);
	serve(YIELD0);
	hw.time += 0x200000;
	serve(0);
	serve(YIELD0);
	(void)message();
	noticed("RESET", 64, 0, 0);
	noticed("STUCK", 64, 0, 1);
	noticed("STUCK", 64, 0, 2);
	noticed("YIELDED", 66, 0, 0);
	noticed("of the node", 64, 0, 255);
	noticed("no other", 0, 0, 0);
}

/* A new session forgets a yield, and a node that the firmware does not have does not yield. */
static void test_nobody(void)
{
	open();
	post(0, 7, 0);
	fakes.node[0].silent = true;
	serve(YIELD0);
	equal("nobody", "clear", queues_clear(), 1);
	fakes.node[0].silent = false;
	serve(YIELD0);
	NODE0[STATUS] = 1;
	equal("nobody", "take", take(0, 0, 9), 0);
	serve(YIELD1);
	noticed("nothing", 0, 0, 0);
	serve(YIELD0);
	noticed("a new one", 66, 0, 0);
	/* The session does not begin, since the reset of the node has not ended. */
	open();
	post(0, 7, 0);
	fakes.node[0].silent = fakes.node[0].stuck = true;
	serve(YIELD0);
	equal("nobody", "clear", queues_clear(), 0);
	fakes.node[0].stuck = false, NODE0[CTL] = 0;
	serve(0);
	serve(0);
	noticed("forgotten", 0, 0, 0);
}

/* A request waits for node 0. The yield of node 1 is complete before its answer, and that of node 0 follows. */
static void test_request(void)
{
	open();
	equal("request", "take", take(1, 0x1000, 9), 0);
	serve(0);
	(void)create(4, 1, 1, 5000);
	post(4, 7, 0);
	post(0, 7, 0);
	fakes.node[0].silent = true;
	hw.bells = YIELD0 | YIELD1 | 1;
	equal("request", "preempt", one(queue_preempt, 0), 9);
	equal("request", "doorbells", hw.bells, 1);
	noticed("node 1", 66, 1, 0);
	noticed("node 0 waits", 0, 0, 0);
	equal("request", "head", HEAD(4), 1);
	fakes.node[0].silent = false;
	inside(3, 0x50004, 6, 3);
	NODE0[PREEMPTED] = 1, NODE0[CTL] = 4;
	serve(0);
	noticed("node 0", 66, 0, 1);
}

/* Only a context is in the ring, because the entry after it is bad. */
static void test_switch(void)
{
	open();
	post(0, 7, 2);
	equal("switch", "RESTORE_STATE", NODE0[WPTR], 3);
	serve(YIELD0);
	(void)message();
	noticed("FAULT", 64, 0, 0);
	noticed("YIELDED", 66, 0, 0);
	post(1, 7, 0);
	equal("switch", "the next context", fakes.ring[1], 0x40080);
}

void test_yields(void)
{
	test_places();
	test_resume();
	test_earlier();
	test_signal();
	test_late();
	test_drain();
	test_memory();
	test_ends();
	test_nobody();
	test_request();
	test_switch();
}
