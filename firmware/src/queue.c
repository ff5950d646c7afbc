#include "queue.h"

#include "hw.h"
#include "message.h"
#include "registers.h"
#include "retry.h"
#include "schedule.h"

struct queue queues[QUEUES];

/* Queues whose tail could not be read, whose head or place could not be written, and whose head has changed and is written later. */
static uint32_t unread, unshown, unplaced, later;
static struct retry again;

void queue_update(uint32_t number)
{
	const struct queue *q = &queues[number];
	struct node *n = &nodes[q->node];
	uint32_t *set = &n->ready[q->priority], bit = 1u << number;
	if (q->state == QUEUE_READY)
		n->open |= bit;
	else
		n->open &= ~bit;
	if (q->state == QUEUE_READY && q->next != q->tail)
		*set |= bit;
	else
		*set &= ~bit;
}

/* see reads the tail of a queue, and reports whether it could. */
static bool see(uint32_t number)
{
	struct queue *q = &queues[number];
	struct answer tail;
	unread &= ~(1u << number);
	if (q->state == QUEUE_NONE)
		return true;
	tail = probe_read(AREA_QUEUE_TAILS + 4 * number);
	if (tail.fault)
		unread |= 1u << number;
	if (tail.fault || tail.value - q->head > q->mask + 1 || tail.value - q->head < q->tail - q->head) {
		q->tails++;
		return !tail.fault;
	}
	q->tail = tail.value;
	queue_update(number);
	return true;
}

/* show writes the head of a queue, and reports whether it could. */
static bool show(uint32_t number)
{
	unshown &= ~(1u << number);
	if (!probe_write(AREA_QUEUE_HEADS + 4 * number, queues[number].head))
		return true;
	unshown |= 1u << number;
	return false;
}

void queue_bell(uint32_t number)
{
	if (!see(number))
		retry_begin(&again);
}

void queue_show(uint32_t number)
{
	if (!show(number))
		retry_begin(&again);
}

bool queue_place(uint32_t number, bool inside)
{
	const struct queue *q = &queues[number];
	uint32_t at = AREA_QUEUE_PLACES + PLACE_BYTES * number, bit = 1u << number, fault = 0;
	if (inside) {
		fault = probe_write(at + 4 * PLACE_ADDR_LO, q->entry[ENTRY_BUFFER_LO]);
		fault |= probe_write(at + 4 * PLACE_ADDR_HI, q->entry[ENTRY_BUFFER_HI]);
		fault |= probe_write(at + 4 * PLACE_PROGRESS, q->progress);
	}
	fault |= probe_write(at + 4 * PLACE_LEFT, inside ? q->entry[ENTRY_DWORDS] & INDIRECT_MOST : 0);
	if (fault && !(unplaced & bit))
		retry_begin(&again);
	unplaced = fault ? unplaced | bit : unplaced & ~bit;
	return !fault;
}

bool queues_known(uint32_t all) { return !(unread & all); }
bool queues_shown(uint32_t all) { return !(unshown & all); }

void queue_show_later(uint32_t number) { later |= 1u << number; }

void queues_show(void)
{
	for (uint32_t i = 0; later >> i; i++)
		if (later >> i & 1)
			queue_show(i);
	later = 0;
}

void queue_retry(void)
{
	uint32_t tails = unread, heads = unshown;
	if (!(tails | heads | unplaced))
		return;
	(void)retry_due(&again); /* it only begins the next time; each call tries */
	for (uint32_t i = 0; (tails | heads) >> i; i++) {
		if (tails >> i & 1)
			(void)see(i);
		if (heads >> i & 1)
			(void)show(i);
	}
}

uint32_t queue_retry_due(void) { return unread | unshown | unplaced ? retry_left(&again) : UINT32_MAX; }

/* leave takes a queue out of the queues that its node executes. */
static void leave(uint32_t number)
{
	struct node *n = &nodes[queues[number].node];
	uint32_t others = ~(1u << number);
	n->members &= others;
	n->places &= others;
	unread &= others;
	unplaced &= others;
	queue_update(number);
}

/* forget ends a queue. */
static void forget(uint32_t number)
{
	queues[number].state = QUEUE_NONE;
	unshown &= ~(1u << number);
	later &= ~(1u << number);
	leave(number);
}

void queue_fail(uint32_t number, uint32_t cause)
{
	struct queue *q = &queues[number];
	if (q->state == QUEUE_FAULT)
		return;
	q->state = QUEUE_FAULT;
	q->cause = cause;
	leave(number);
	notice(OP_FAULT, q->node, number, cause);
}

/* find returns the queue of a request, or 0 if there is none. */
static struct queue *find(uint32_t number, uint32_t *status)
{
	if (number >= QUEUES) {
		*status = STATUS_ARGUMENT;
		return 0;
	}
	if (queues[number].state == QUEUE_NONE) {
		*status = STATUS_STATE;
		return 0;
	}
	*status = STATUS_OK;
	return &queues[number];
}

/* taken returns the node of a request, or 0 if the firmware has not taken it. One that it gave up because it is stuck
   counts as taken if stuck is set. */
static struct node *taken(uint32_t number, bool stuck, uint32_t *status)
{
	if (number >= NODES) {
		*status = STATUS_ARGUMENT;
		return 0;
	}
	if (nodes[number].state == NODE_FREE && !(stuck && nodes[number].stuck)) {
		*status = STATUS_STATE;
		return 0;
	}
	*status = STATUS_OK;
	return &nodes[number];
}

uint32_t node_take(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t number = in[NODE_TAKE_IN_NODE], log2 = in[NODE_TAKE_IN_LOG2];
	(void)out;
	(void)length;
	if (number >= NODES || log2 < NODE_RING_LEAST || log2 > NODE_RING_MOST || in[NODE_TAKE_IN_RING] & 3)
		return STATUS_ARGUMENT;
	return node_open(number, in[NODE_TAKE_IN_RING], log2);
}

uint32_t node_give(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t status;
	struct node *n = taken(in[NODE_GIVE_IN_NODE], true, &status);
	(void)out;
	(void)length;
	if (!n)
		return status;
	for (uint32_t i = 0; i < QUEUES; i++)
		if (queues[i].state != QUEUE_NONE && queues[i].node == in[NODE_GIVE_IN_NODE])
			return STATUS_STATE;
	return node_close(n) ? STATUS_OK : STATUS_BUSY;
}

uint32_t node_drain(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t status;
	struct node *n = taken(in[DRAIN_IN_NODE], false, &status);
	(void)out;
	(void)length;
	if (!n)
		return status;
	if (n->state == NODE_STOPPING || n->yields)
		return STATUS_BUSY;
	for (uint32_t i = 0; i < QUEUES; i++)
		if (queues[i].state == QUEUE_READY && queues[i].node == in[DRAIN_IN_NODE]) {
			queues[i].state = QUEUE_HELD;
			queue_update(i);
		}
	n->drains = true;
	return STATUS_OK;
}

uint32_t node_recover(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t status;
	struct node *n = taken(in[RESET_IN_NODE], true, &status);
	(void)out;
	(void)length;
	if (!n)
		return status;
	if (n->state == NODE_RESETTING)
		return STATUS_BUSY;
	if (n->stuck) {
		node_retry(n);
		return n->lost ? STATUS_REFUSED : STATUS_OK;
	}
	schedule_fault(n, CAUSE_RESET);
	return STATUS_OK;
}

uint32_t queue_create(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t number = in[QUEUE_CREATE_IN_QUEUE], node = in[QUEUE_CREATE_IN_NODE];
	uint32_t quantum = in[QUEUE_CREATE_IN_QUANTUM] & ~QUANTUM_FORCED, log2 = in[QUEUE_CREATE_IN_LOG2];
	struct queue *q;
	(void)out;
	(void)length;
	if (number >= QUEUES || node >= NODES || in[QUEUE_CREATE_IN_PRIORITY] >= QUEUE_PRIORITIES || log2 > QUEUE_RING_MOST)
		return STATUS_ARGUMENT;
	if (quantum < QUANTUM_LEAST || quantum > QUANTUM_MOST)
		return STATUS_ARGUMENT;
	if (in[QUEUE_CREATE_IN_RING_LO] & (4 * QUEUE_ENTRY_WORDS - 1) || in[QUEUE_CREATE_IN_SAVE_LO] & (SAVE_BYTES - 1))
		return STATUS_ARGUMENT;
	q = &queues[number];
	if (q->state != QUEUE_NONE || nodes[node].state == NODE_FREE)
		return STATUS_STATE;
	q->state = QUEUE_READY;
	q->cause = 0;
	q->node = node;
	q->priority = in[QUEUE_CREATE_IN_PRIORITY];
	q->quantum = quantum;
	q->left = q->longer = 0;
	q->head = q->next = q->tail = 0;
	q->mask = (1u << log2) - 1;
	q->ring[0] = in[QUEUE_CREATE_IN_RING_LO];
	q->ring[1] = in[QUEUE_CREATE_IN_RING_HI];
	q->save[0] = in[QUEUE_CREATE_IN_SAVE_LO];
	q->save[1] = in[QUEUE_CREATE_IN_SAVE_HI];
	q->tails = q->resumes = 0;
	q->begun = false;
	q->forced = in[QUEUE_CREATE_IN_QUANTUM] >= QUANTUM_FORCED;
	nodes[node].members |= 1u << number;
	queue_show(number);
	(void)probe_write(AREA_QUEUE_RESUMES + 4 * number, 0);
	queue_bell(number);
	return STATUS_OK;
}

/* draining reports whether a node must complete its entries before it may be stopped. */
static bool draining(const struct node *n) { return n->drains && n->entries != 0; }

uint32_t queue_destroy(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t status, number = in[QUEUE_DESTROY_IN_QUEUE];
	struct queue *q = find(number, &status);
	struct node *n;
	(void)out;
	(void)length;
	if (!q)
		return status;
	n = &nodes[q->node];
	if (draining(n) || !schedule_halt(n))
		return STATUS_BUSY;
	if (n->count != 0 && slot_at(n, 0)->queue == number)
		schedule_drop(n);
	forget(number);
	if (n->loaded == number)
		n->loaded = NO_QUEUE;
	if (n->planned == number)
		n->planned = NO_QUEUE;
	if (n->current == number)
		n->current = NO_QUEUE;
	return STATUS_OK;
}

uint32_t queue_state(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t number = in[QUEUE_STATE_IN_QUEUE];
	if (number >= QUEUES)
		return STATUS_ARGUMENT;
	out[QUEUE_STATE_OUT_STATE] = queues[number].state;
	out[QUEUE_STATE_OUT_CAUSE] = queues[number].cause;
	out[QUEUE_STATE_OUT_HEAD] = queues[number].head;
	out[QUEUE_STATE_OUT_TAIL] = queues[number].tail;
	out[QUEUE_STATE_OUT_TAILS] = queues[number].tails;
	*length = QUEUE_STATE_OUT_BYTES;
	return STATUS_OK;
}

uint32_t queue_preempt(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t status;
	struct queue *q = find(in[PREEMPT_IN_QUEUE], &status);
	(void)out;
	(void)length;
	if (!q)
		return status;
	if (q->state != QUEUE_READY)
		return STATUS_STATE;
	if (q->next != q->head && (draining(&nodes[q->node]) || !schedule_halt(&nodes[q->node])))
		return STATUS_BUSY;
	if (q->state != QUEUE_READY)
		return STATUS_STATE;
	q->state = QUEUE_HELD;
	queue_update(in[PREEMPT_IN_QUEUE]);
	return STATUS_OK;
}

uint32_t queue_resume(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	uint32_t status, number = in[RESUME_IN_QUEUE];
	struct queue *q = find(number, &status);
	(void)out;
	(void)length;
	if (!q)
		return status;
	if (q->state != QUEUE_HELD)
		return STATUS_STATE;
	q->state = QUEUE_READY;
	queue_bell(number);
	queue_update(number);
	return STATUS_OK;
}

bool queues_clear(void)
{
	bool all = true;
	for (uint32_t i = 0; i < QUEUES; i++)
		forget(i);
	for (struct node *n = nodes; n < nodes + NODES; n++) {
		n->stuck = n->yields = false;
		if (n->state != NODE_FREE && !node_close(n))
			all = false;
	}
	return all;
}
