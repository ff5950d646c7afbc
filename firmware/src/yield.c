/* A context of a higher priority waits for a yield, so this file is not compiled for size. */
#pragma GCC optimize("O2")

#include "yield.h"

#include "hw.h"
#include "message.h"
#include "schedule.h"

void yield_begin(struct node *n)
{
	if (n->state == NODE_FREE || n->yields)
		return;
	n->yields = true;
	n->dropping = false;
	schedule_yield(n);
}

void yield_tails(const struct node *n, uint32_t seen)
{
	uint32_t number = 0;
	for (uint32_t all = n->members & ~seen; all != 0; all >>= 1, number++) {
		struct answer tail;
		if (!(all & 1))
			continue;
		tail = probe_read(AREA_QUEUE_TAILS + 4 * number);
		if (tail.fault || tail.value != queues[number].tail)
			queue_bell(number);
	}
}

/* inside reports whether a queue was stopped inside its first entry that is not complete. The place of one that continues
   from a state and has not begun is known to the host. */
static inline bool inside(const struct queue *q)
{
	return q->begun && (q->entry[ENTRY_DWORDS] & INDIRECT_RESUME) && !(q->entry[ENTRY_FLAGS] & ENTRY_FLAGS_RESUME);
}

/* put_places writes the places of the queues of a node, and reports whether it could. */
static bool put_places(struct node *n)
{
	uint32_t number = 0, bit = 1;
	n->places = 0;
	for (uint32_t all = n->members; all != 0; all >>= 1, number++, bit <<= 1) {
		if (!(all & 1))
			continue;
		if (inside(&queues[number]))
			n->places |= bit;
		if (!queue_place(number, n->places & bit))
			return false;
	}
	return true;
}

/* drop empties the queues of a node. Their turns end. */
static void drop(struct node *n)
{
	uint32_t number = 0;
	for (uint32_t all = n->members; all != 0; all >>= 1, number++) {
		struct queue *q = &queues[number];
		if (!(all & 1))
			continue;
		q->begun = false;
		q->left = q->longer = 0;
		if (q->head == q->tail)
			continue;
		q->head = q->next = q->tail;
		queue_show(number);
	}
	for (uint32_t p = 0; p < QUEUE_PRIORITIES; p++)
		n->ready[p] = 0;
}

void yield_end(struct node *n)
{
	if (!n->dropping) {
		if (!queues_known(n->members) || !put_places(n))
			return;
		drop(n);
		queues_show();
		n->dropping = true;
	}
	if (!queues_shown(n->members))
		return;
	n->yields = false;
	notice_now(OP_YIELDED, n->offset / NODE_STRIDE, n->places, 0);
}

void yield_lost(struct node *n)
{
	if (n->yields)
		notice(OP_YIELDED, n->offset / NODE_STRIDE, 0, 0);
	n->yields = false;
}
