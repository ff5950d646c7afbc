/* Tests of accesses to the message area that fail, and of nodes that the host takes or resets. */

#include "queue_rig.h"

/* cause returns the state and the cause of a queue. */
static uint32_t cause(uint32_t queue)
{
	(void)one(queue_state, queue);
	return out[0] << 8 | out[1];
}

/* A tail that cannot be read is read again in each call, and the timer is set for it 16 times, in which calls before its
   time do not count. So is a head that could not be written. Each new failure begins with a short time. */
void test_retries(void)
{
	uint32_t due = 256;
	begin();
	hw.step = 0;
	(void)create(2, 0, 1, 5000), (void)create(3, 0, 1, 5000);
	equal("retry", "nothing to do", queues_due(), 0xffffffff);
	hw.broken = (uint32_t)(0x90000080 + 4 * 2);
	post(2, 7, 0);
	equal("retry", "nothing in the ring", NODE0[WPTR], 0);
	for (uint32_t calls = 0; calls < 40; calls++)
		serve(0);
	for (uint32_t tries = 0; tries < 16; tries++, due *= 2) {
		equal("retry", "due", queues_due(), due);
		hw.time += due - 1;
		serve(0);
		equal("retry", "not yet", queues_due(), 1);
		hw.time++;
		serve(0);
	}
	equal("retry", "the timer has an end", queues_due(), 0xffffffff);
	serve(0x40000);
	equal("retry", "a doorbell begins anew", queues_due(), 256);
	hw.time += 256;
	serve(0);
	equal("retry", "twice the time", queues_due(), 512);
	hw.broken = 1;
	post(3, 7, 0);
	equal("retry", "both queues", NODE0[WPTR], 29);
	(void)one(queue_state, 2);
	equal("retry", "tail", out[3], 1);
	equal("retry", "tails", out[4], 2 + 40 + 32 + 2 + 1);
	hw.broken = (uint32_t)(0x900000c0 + 4 * 2);
	reach(13);
	equal("retry", "head not written", HEAD(2), 0);
	equal("retry", "soon", queues_due(), 256);
	hw.broken = 1;
	serve(0);
	equal("retry", "head", HEAD(2), 1);
	reach(29);
	equal("retry", "nothing left", queues_due(), 0xffffffff);
}

/* The host resets a node that the firmware has, or takes it back. Nothing counts as complete, and the queues stop. */
void test_vanished(void)
{
	for (uint32_t how = 0; how < 4; how++) {
		begin();
		(void)create(0, 0, 1, 5000), (void)create(1, 0, 3, 5000);
		post(0, 7, 0);
		NODE0[RPTR] = 5;
		fakes.node[0].silent = how == 1;
		if (how == 1)
			post(1, 7, 0);
		NODE0[RPTR] = 0, NODE0[CTL] = 0, NODE0[PREEMPTED] = 0;
		if (how == 2) {
			equal("vanished", "a request", one(node_recover, 0), 0);
			equal("vanished", "no record", hw.area[0x5000 / 4 + 3] == 19, 0);
		}
		if (how == 3)
			fakes.owner = 2, NODE0[CTL] = 1, NODE0[RPTR] = 9;
		serve(0);
		equal("vanished", "queue 0", cause(0), 0x314);
		equal("vanished", "queue 1", cause(1), 0x314);
		equal("vanished", "head", HEAD(0), 0);
		equal("vanished", "events", fakes.chosen, 0);
		fakes.node[0].silent = false;
	}
}

/* The host resets a node after the firmware has looked at its events, and before the firmware stops it for a higher
   priority or at the end of a quantum. Nothing is placed in the ring, and the queues stop at once: no event follows. */
void test_reset_at_stop(void)
{
	for (uint32_t quantum = 0; quantum < 2; quantum++) {
		begin();
		(void)create(0, 0, 1, 5000), (void)create(1, 0, quantum ? 1 : 3, 5000);
		post(0, 7, 0);
		if (quantum)
			post(1, 7, 0);
		hw.time += 6000;
		equal("reset at stop", "ring before", NODE0[WPTR], quantum ? 29 : 13);
		fakes.node[0].vanishes = 2;
		post(1, 7, 0);
		equal("reset at stop", "reset", fakes.node[0].vanishes, 0);
		equal("reset at stop", "placed", fakes.ring[quantum ? 29 : 13], 0);
		equal("reset at stop", "queue 0", cause(0), 0x314);
		equal("reset at stop", "queue 1", cause(1), 0x314);
		equal("reset at stop", "due", queues_due(), 0xffffffff);
	}
}

/* A node has just stopped for a preemption, and the firmware has not seen it yet. A RESET, or a report of the watchdog,
   is a fault of the queue that was stopped. The other queue continues. */
void test_stopped(void)
{
	static const uint32_t causes[] = {19, 18};
	for (uint32_t how = 0; how < 2; how++) {
		begin();
		(void)create(0, 0, 1, 5000), (void)create(1, 0, 3, 5000);
		post(0, 7, 0);
		NODE0[RPTR] = 3, NODE0[IB_LO] = 0x50008, NODE0[IB_LEFT] = 5;
		fakes.node[0].silent = true;
		post(1, 7, 0);
		NODE0[CTL] = 0, NODE0[PREEMPTED] = NODE0[PREEMPT];
		fakes.node[0].silent = false;
		hw.area[0x5000 / 4 + 3] = 0;
		if (how == 0)
			equal("stopped", "a request", one(node_recover, 0), 0);
		fakes.events = how == 0 ? 2 : 2 | 8;
		serve(0);
		equal("stopped", "guilty", cause(0), 0x300 | causes[how]);
		equal("stopped", "record", hw.area[0x5000 / 4 + 3], causes[how]);
		equal("stopped", "the other", cause(1), 0x100);
		serve(0);
		equal("stopped", "its entry", fakes.ring[3], 0x02000003);
		reach(13);
		equal("stopped", "its head", HEAD(1), 1);
	}
}

/* Nothing is due for a queue that is destroyed or has stopped, after a session, or without a node. */
void test_forgotten(void)
{
	enum { DESTROYED, STOPPED, CLEARED, NO_NODE, NO_NODE_FOR_HEAD, ENDS };
	for (uint32_t end = 0; end < ENDS; end++) {
		begin();
		(void)create(2, 0, 1, 5000);
		post(2, 7, 0);
		hw.broken = end == NO_NODE_FOR_HEAD ? 0x900000c8 : 0x90000088;
		if (end == NO_NODE_FOR_HEAD)
			reach(13);
		else
			post(2, 7, 0);
		equal("forgotten", "due before", queues_due() <= 256, 1);
		switch (end) {
		case DESTROYED:
			equal("forgotten", "destroy", one(queue_destroy, 2), 0);
			break;
		case STOPPED:
			equal("forgotten", "reset", one(node_recover, 0), 0);
			serve(0);
			equal("forgotten", "stopped", cause(2), 0x313);
			break;
		case CLEARED:
			equal("forgotten", "clear", queues_clear(), 1);
			break;
		default:
			fakes.owner = 2;
			serve(0);
			equal("forgotten", "lost", cause(2), 0x314);
		}
		equal("forgotten", "due", queues_due(), 0xffffffff);
	}
}

/* The host resets a node that has nothing to do: after it was taken, after its entry, or while its queue is held. Or it
   gives the node another ring. The node does not run, and its queue stops when it has work. */
void test_reset_at_rest(void)
{
	enum { TAKEN, COMPLETE, HELD, NEW_RING, NO_RESET, ENDS };
	for (uint32_t how = 0; how < ENDS; how++) {
		begin();
		fakes.runs = 0;
		(void)create(0, 0, 1, 5000);
		if (how != TAKEN)
			post(0, 7, 0);
		if (how == COMPLETE)
			reach(13);
		if (how >= HELD) {
			NODE0[RPTR] = 3, NODE0[IB_LO] = 0x50008, NODE0[IB_LEFT] = 5;
			equal("at rest", "held", one(queue_preempt, 0), 0);
			serve(0);
		}
		if (how != NO_RESET) {
			memset(NODE0, 0, sizeof NODE0);
			NODE0[STATUS] = 1;
		}
		if (how == NEW_RING)
			NODE0[RING_BASE] = 0x108000, NODE0[RING_SIZE] = 9;
		if (how >= HELD)
			equal("at rest", "resume", one(queue_resume, 0), 0);
		else
			post(0, 7, 0);
		serve(0);
		equal("at rest", "runs", fakes.runs, how == NO_RESET ? 2 : how != TAKEN);
		equal("at rest", "queue", cause(0), how == NO_RESET ? 0x100 : 0x314);
		equal("at rest", "head", HEAD(0), how == COMPLETE);
	}
}

/* patience gives node 0 a reset that does not end, and checks after how many clocks the firmware gives it up. */
static void patience(uint32_t clocks)
{
	fakes.node[0].stuck = true;
	equal("stuck", "reset", one(node_recover, 0), 0);
	equal("stuck", "again", one(node_recover, 0), 9);
	serve(0);
	hw.time += clocks - 1;
	serve(0);
	equal("stuck", "not yet", queues_due(), 256);
	hw.time++;
	serve(0);
	equal("stuck", "due", queues_due(), 0xffffffff);
	equal("stuck", "events", fakes.chosen, 0);
}

/* A node whose reset does not end is given up, later with a time-out of reads. RESET begins anew, and NODE_GIVE waits
   for the end of the reset. A new session forgets the node. */
void test_stuck(void)
{
	enum { AGAIN, GIVEN, CLEARED, LOCKED, ENDS };
	static const uint32_t timeouts[] = {0, 1, 6, 7}, clocks[] = {0x100000, 0x100100, 0x10100000, 0xffefffff};
	for (uint32_t how = 0; how < ENDS; how++) {
		begin();
		hw.step = 0;
		(void)create(0, 0, 1, 5000), (void)create(1, 0, 1, 5000);
		fakes.timeout = timeouts[how];
		patience(clocks[how]);
		equal("stuck", "queue", cause(1), 0x315);
		equal("stuck", "drain", one(node_drain, 0), 7);
		equal("stuck", "take", take(0, 0, 9), 7);
		equal("stuck", "create", create(2, 0, 1, 5000), 7);
		equal("stuck", "destroy", one(queue_destroy, 0) | one(queue_destroy, 1), 0);
		switch (how) {
		case AGAIN:
			fakes.no_timeout = true;
			fakes.timeout = 7;
			patience(0x100000);
			fakes.node[0].stuck = false;
			equal("stuck", "reset", one(node_recover, 0), 0);
			serve(0);
			equal("stuck", "due after it", queues_due(), 0xffffffff);
			equal("stuck", "create after it", create(0, 0, 1, 5000), 0);
			break;
		case GIVEN:
			equal("stuck", "give", one(node_give, 0), 9);
			NODE0[CTL] = 0;
			equal("stuck", "give later", one(node_give, 0), 0);
			equal("stuck", "give again", one(node_give, 0), 7);
			break;
		case CLEARED:
			equal("stuck", "clear", queues_clear(), 1);
			equal("stuck", "give after it", one(node_give, 0), 7);
			NODE0[STATUS] = 0;
			equal("stuck", "take after it", take(0, 0, 9), 7);
			break;
		default:
			fakes.locked = true;
			equal("stuck", "reset", one(node_recover, 0), 8);
			serve(0);
			equal("stuck", "reset again", one(node_recover, 0), 7);
		}
	}
}
