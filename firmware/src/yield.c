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

/* members returns the queues of a node that are READY or HELD, one bit for each. */
static uint32_t members(const struct node *n)
{
	uint32_t all = 0;
	for (uint32_t i = 0; i < QUEUES; i++)
		if (&nodes[queues[i].node] == n && (queues[i].state == QUEUE_READY || queues[i].state == QUEUE_HELD))
			all |= 1u << i;
	return all;
}

void yield_tails(const struct node *n, uint32_t seen)
{
	uint32_t all = members(n) & ~seen;
	for (uint32_t i = 0; all >> i; i++)
		if (all >> i & 1)
			queue_bell(i);
}

/* inside reports whether a queue was stopped inside its first entry that is not complete. The place of one that continues
   from a state and has not begun is known to the host. */
static bool inside(const struct queue *q)
{
	return q->begun && (q->entry[ENTRY_DWORDS] & INDIRECT_RESUME) && !(q->entry[ENTRY_FLAGS] & ENTRY_FLAGS_RESUME);
}

/* drop empties a queue. Its turn ends. */
static void drop(uint32_t number)
{
	struct queue *q = &queues[number];
	bool changed = q->head != q->tail;
	q->head = q->next = q->tail;
	q->begun = false;
	q->left = q->longer = 0;
	queue_update(number);
	if (changed)
		queue_show(number);
}

void yield_end(struct node *n)
{
	uint32_t all = members(n);
	if (!queues_known(all))
		return;
	if (!n->dropping) {
		n->places = 0;
		for (uint32_t i = 0; all >> i; i++) {
			if (!(all >> i & 1))
				continue;
			if (!queue_place(i, inside(&queues[i])))
				return;
			n->places |= (uint32_t)inside(&queues[i]) << i;
		}
		n->dropping = true;
		for (uint32_t i = 0; all >> i; i++)
			if (all >> i & 1)
				drop(i);
		queues_show();
	}
	if (!queues_shown(all))
		return;
	n->yields = false;
	notice(OP_YIELDED, n->offset / NODE_STRIDE, n->places, 0);
}

void yield_lost(struct node *n)
{
	if (!n->yields)
		return;
	n->yields = false;
	notice(OP_YIELDED, n->offset / NODE_STRIDE, 0, 0);
}
