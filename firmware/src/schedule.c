/* The time from the stop of a node to its next work counts, so this file is not compiled for size. */
#pragma GCC optimize("O2")

#include "schedule.h"

#include "hw.h"
#include "message.h"
#include "queue.h"
#include "registers.h"
#include "yield.h"

/* Clocks between two reads of a register that has no event. */
#define POLL_CLOCKS 256

/* How often a node that must stop is asked before the firmware sleeps until its event. */
#define STOP_POLLS 64

/* The doorbells of yields. */
#define BELLS_YIELD (BELL_YIELD * ((1u << NODES) - 1))

/* How often a node that has stopped is asked whether anything is in flight before the firmware sleeps. */
#define IDLE_POLLS 16

/* The largest factor of a quantum, as log2. */
#define LONGER 12

/* from returns the first bit of a mask of queues that is set, from a queue on and then from 0. */
static uint32_t from(uint32_t mask, uint32_t queue)
{
	uint32_t upper = mask >> queue << queue, at = 0;
	if (upper)
		mask = upper;
	if (!(mask & 0xff))
		mask >>= 8, at += 8;
	if (!(mask & 0xf))
		mask >>= 4, at += 4;
	if (!(mask & 3))
		mask >>= 2, at += 2;
	return at + !(mask & 1);
}

/* highest returns the highest priority of a queue with entries to be placed, plus 1; 0: none. */
static uint32_t highest(const struct node *n)
{
	uint32_t p = QUEUE_PRIORITIES;
	while (p != 0 && n->ready[p - 1] == 0)
		p--;
	return p;
}

/* end_turn settles the turn of a node that has stopped. The turn ends if its time has passed. Otherwise it continues
   later, and has used nothing if the queue has not moved forward in it. */
static void end_turn(struct node *n)
{
	uint32_t used = read32(LOCAL_TIME_LO) - n->since, current = n->current, next;
	struct queue *q;
	n->current = NO_QUEUE;
	if (current == NO_QUEUE || queues[current].state == QUEUE_NONE)
		return;
	q = &queues[current];
	next = current;
	if (q->moved && (n->reason == STOP_QUANTUM || used >= q->left)) {
		q->left = 0;
		q->longer = 0;
		next = (current + 1) & (QUEUES - 1);
	} else if (q->moved) {
		q->left -= used;
	} else if (n->reason == STOP_QUANTUM) {
		/* A quantum may be shorter than what a switch takes. */
		if (q->longer < LONGER)
			q->longer++;
		q->left = 0;
	}
	n->turn[q->priority] = next;
}

/* begin_turn begins the turn of a queue at a time, or continues it. A stop that was asked for before does not end this turn. The
   turn before ends if it was of the same priority; otherwise it continues later. */
static void begin_turn(struct node *n, uint32_t queue, uint32_t time)
{
	struct queue *q = &queues[queue];
	if (n->current == queue)
		return;
	n->reason = STOP_HOLD;
	if (n->current != NO_QUEUE && queues[n->current].priority != q->priority)
		end_turn(n);
	else if (n->current != NO_QUEUE)
		queues[n->current].left = 0;
	n->current = queue;
	n->since = time;
	if (q->left != 0)
		return;
	q->moved = false;
	q->left = q->quantum;
	for (uint32_t i = 0; i < q->longer && q->left < QUANTUM_MOST; i++)
		q->left *= 2;
}

/* complete counts an entry whose progress value was written. */
static void complete(struct node *n, uint32_t queue)
{
	struct queue *q = &queues[queue];
	q->head++;
	if (q->head == q->next)
		n->placed &= ~(1u << queue);
	q->begun = false;
	q->longer = 0;
	q->moved = true;
	queue_show_later(queue);
}

/* retire_slots is retire, if there are such slots. */
static void retire_slots(struct node *n, uint32_t position)
{
	uint32_t last = NO_QUEUE, first = n->first, count = n->count, entries = n->entries;
	for (; count != 0; count--) {
		const struct slot *s = &n->slots[first];
		if ((int32_t)(position - s->end) < 0)
			break;
		first = (first + 1) & (SLOTS - 1);
		n->read = s->end;
		if (s->kind == SLOT_SWITCH) {
			n->loaded = s->queue;
			n->switches--;
			continue;
		}
		entries -= s->kind == SLOT_ENTRY;
		last = s->queue;
		complete(n, last);
	}
	n->first = first;
	n->count = count;
	n->entries = entries;
	for (uint32_t i = 0; i < count && entries != 0; i++)
		if (slot_at(n, i)->kind == SLOT_ENTRY) {
			begin_turn(n, slot_at(n, i)->queue, read32(LOCAL_TIME_LO));
			return;
		}
	if (last != NO_QUEUE) {
		begin_turn(n, last, read32(LOCAL_TIME_LO));
		queues[last].moved = true;
	}
}

/* retire removes the slots that the node has executed, up to a position. The turn is then that of the queue that the node
   executes, or has executed last. */
static inline void retire(struct node *n, uint32_t position)
{
	if (n->count != 0 && (int32_t)(position - slot_at(n, 0)->end) >= 0)
		retire_slots(n, position);
}

void schedule_drop(struct node *n)
{
	for (; n->placed != 0; n->placed &= n->placed - 1) {
		uint32_t number = from(n->placed, 0);
		queues[number].next = queues[number].head;
		queue_update(number);
	}
	node_empty(n, n->read);
}

/* drop empties the ring of a node after a stop. All entries in the ring are of the priority of the node. settle or place
   then sets next of their queues. */
static void drop(struct node *n)
{
	n->dropped = n->placed;
	n->ready[n->priority] |= n->placed & n->open;
	node_empty(n, n->read);
}

/* settle notes that no entry of the queues in n->dropped is in the ring. */
static void settle(struct node *n)
{
	for (; n->dropped != 0; n->dropped &= n->dropped - 1) {
		struct queue *q = &queues[from(n->dropped, 0)];
		q->next = q->head;
	}
}

/* keep_entry keeps the entry of a slot, so that it is not read again from the ring of its queue. The entry is the first
   one of the queue that is not complete. */
static void keep_entry(struct queue *q, const struct slot *s)
{
	if (q->begun)
		return;
	copy_entry(q->entry, s->entry);
	q->begun = true;
	q->progress = 0;
}

/* keep notes how far the node is in the entry of its first slot. It reports whether the buffer has
   moved forward since the queue was stopped last. Once an entry has begun, its state is not needed any more. */
static bool keep(struct node *n, const struct slot *s)
{
	struct queue *q = &queues[s->queue];
	uint32_t left = node_read(n, CP0_IB_LEFT), dwords = s->entry[ENTRY_DWORDS] & INDIRECT_MOST, old;
	keep_entry(q, s);
	old = q->progress;
	if (left == 0)
		return false;
	q->entry[ENTRY_BUFFER_LO] = node_read(n, CP0_IB_ADDR_LO);
	q->entry[ENTRY_BUFFER_HI] = node_read(n, CP0_IB_ADDR_HI);
	q->entry[ENTRY_DWORDS] = left | INDIRECT_RESUME;
	q->entry[ENTRY_FLAGS] = 0;
	q->progress = node_read(n, CP0_PROGRESS);
	return left != dwords || q->progress != old;
}

/* place_in sets which context is in the node, from the position of its first slot. */
static void place_in(struct node *n, const struct slot *s, uint32_t position)
{
	if (s->kind == SLOT_SWITCH)
		n->loaded = position == s->begin && s->begin != s->last ? s->from : NO_QUEUE;
}

/* stopped notes the place of a node that has stopped for a preemption. A SIGNAL that alone is left of an
   entry stays in the ring. */
static void stopped(struct node *n)
{
	uint32_t position = node_position(n);
	bool signals = false;
	n->state = NODE_READY;
	n->running = false;
	n->sure = true;
	retire(n, position);
	n->read = position;
	if (n->count != 0) {
		struct slot *s = slot_at(n, 0);
		place_in(n, s, position);
		if (s->kind == SLOT_SIGNAL || (s->kind == SLOT_ENTRY && position == s->last)) {
			signals = true;
			s->kind = SLOT_SIGNAL;
			queues[s->queue].moved = true;
		} else if (s->kind == SLOT_ENTRY && keep(n, s)) {
			queues[s->queue].moved = true;
		}
	}
	end_turn(n);
	if (!signals) {
		drop(n);
		return;
	}
	const struct slot *s = slot_at(n, 0);
	struct queue *q = &queues[s->queue];
	uint32_t end = s->end, bit = 1u << s->queue;
	n->placed &= ~bit;
	drop(n);
	n->write = end;
	n->count = 1;
	n->placed = bit;
	q->next = q->head + 1;
	if ((n->open & bit) && q->next != q->tail)
		n->ready[q->priority] |= bit;
}

/* vanished reports whether something else has reset a node: it does not run, has no fault, and has not stopped
   for a preemption. Its position has no meaning then. */
static bool vanished(const struct node *n)
{
	if (!n->running || (node_read(n, CP0_CTL) & CP0_CTL_RUN) || (node_read(n, CP0_FAULT_INFO) & CP0_FAULT_INFO_CAUSE))
		return false;
	return n->state != NODE_STOPPING || !node_stopped(n);
}

/* has_stopped reports whether a node has stopped, and then notes its place. A fault is left to its event. */
static bool has_stopped(struct node *n)
{
	if (!node_stopped(n) || (node_read(n, CP0_FAULT_INFO) & CP0_FAULT_INFO_CAUSE))
		return false;
	stopped(n);
	return true;
}

/* has_entry reports whether entry of a queue is the next one to be placed. */
static bool has_entry(const struct queue *q) { return q->begun && q->next == q->head; }

/* fetch reads the next entry of a queue, and returns why the queue must stop; 0: it need not. */
static uint32_t fetch(const struct queue *q, uint32_t *entry)
{
	uint32_t offset = (q->next & q->mask) * (4 * QUEUE_ENTRY_WORDS), lo = q->ring[0] + offset;
	const uint32_t at = MCU_THROUGH + MCU_FREE_WINDOW * MCU_WINDOW_BYTES;
	write32(LOCAL_FREE_LO, lo);
	write32(LOCAL_FREE_HI, q->ring[1] + (lo < offset));
	for (uint32_t i = 0; i < QUEUE_ENTRY_WORDS; i++) {
		struct answer a = probe_read(at + 4 * i);
		if (a.fault)
			return CAUSE_ENTRY_READ;
		entry[i] = a.value;
	}
	if ((entry[ENTRY_FLAGS] & ~ENTRY_FLAGS_RESUME) || (entry[ENTRY_BUFFER_LO] & 3) || (entry[ENTRY_PROGRESS_LO] & 7) || entry[ENTRY_DWORDS] > INDIRECT_MOST)
		return CAUSE_ENTRY;
	if (entry[ENTRY_FLAGS])
		entry[ENTRY_DWORDS] |= INDIRECT_RESUME;
	return 0;
}

/* keep_placed keeps the first entry of each queue that is in the ring, before the node stops. */
static void keep_placed(struct node *n)
{
	uint32_t seen = 0;
	for (uint32_t i = 0; i < n->count; i++) {
		const struct slot *s = slot_at(n, i);
		if (s->kind != SLOT_ENTRY || (seen >> s->queue & 1))
			continue;
		seen |= 1u << s->queue;
		keep_entry(&queues[s->queue], s);
	}
}

/* ahead reads the entry that is probably next, before the node stops. A bad one is found when it is placed. */
static void ahead(struct node *n, uint32_t p, uint32_t first)
{
	struct queue *q;
	if (n->ready[p] == 0)
		return;
	q = &queues[from(n->ready[p], first)];
	if (q->begun || q->next != q->head || fetch(q, q->entry))
		return;
	q->begun = true;
	q->progress = 0;
}

/* state_of sets the GPU address of the state of the next entry of a queue. The states are after the ring of the queue. */
static void state_of(const struct queue *q, uint32_t *state)
{
	uint32_t offset = (q->mask + 1) * (4 * QUEUE_ENTRY_WORDS) + (q->next & q->mask) * SAVE_BYTES;
	state[0] = q->ring[0] + offset;
	state[1] = q->ring[1] + (state[0] < offset);
}

/* resumes reports whether the next entry of a queue is one in which it was stopped. */
static bool resumes(const struct queue *q) { return has_entry(q) && (q->entry[ENTRY_DWORDS] & INDIRECT_RESUME); }

/* place puts the next entry of a queue in the ring, after its context. The node works on the context while
   the entry is read. A queue that was forced to stop also saves and restores its context if it is the next
   one, unless it has not moved. */
static void place(struct node *n, uint32_t queue)
{
	struct queue *q = &queues[queue];
	uint32_t cause = 0, time, state[2];
	const uint32_t *entry;
	bool first = n->entries == 0;
	if (n->dropped >> queue & 1) {
		q->next = q->head;
		n->dropped &= ~(1u << queue);
	}
	if (n->planned != queue || (q->forced && q->longer == 0 && resumes(q)))
		node_switch(n, queue, n->planned == NO_QUEUE ? 0 : queues[n->planned].save, q->save);
	if (!has_entry(q))
		cause = fetch(q, node_next(n)->entry);
	if (cause) {
		queue_fail(queue, cause);
		return;
	}
	time = read32(LOCAL_TIME_LO);
	entry = has_entry(q) ? q->entry : node_next(n)->entry;
	if (entry[ENTRY_FLAGS])
		state_of(q, state);
	node_entry(n, queue, entry, entry[ENTRY_FLAGS] ? state : 0);
	if (first)
		begin_turn(n, queue, time);
	if (entry[ENTRY_DWORDS] & INDIRECT_RESUME)
		(void)probe_write(AREA_QUEUE_RESUMES + 4 * queue, ++q->resumes);
	q->next++;
	n->placed |= 1u << queue;
	queue_update(queue);
}

/* limited reports whether the turn of the current queue ends after its quantum. */
static bool limited(const struct node *n)
{
	return (n->ready[n->priority] & ~(1u << n->current)) != 0 || n->switches != 0 || queues[n->current].forced;
}

/* must_stop reports whether the node must stop, and why. top is highest. */
static bool must_stop(const struct node *n, uint32_t top, enum stop_reason *why)
{
	if (n->entries == 0 || n->drains)
		return false;
	*why = STOP_PRIORITY;
	if (top > n->priority + 1)
		return true;
	*why = STOP_QUANTUM;
	return limited(n) && read32(LOCAL_TIME_LO) - n->since >= queues[n->current].left;
}

/* stop_node asks a node to stop, and waits a moment for it. It reads entries and counts those that are complete before, so that
   little is left between the stop and the next work. The reason may be gone then. A node that something else has reset is lost. */
static void stop_node(struct node *n, uint32_t top, enum stop_reason why)
{
	uint32_t count;
	if (why == STOP_PRIORITY)
		ahead(n, top - 1, n->turn[top - 1]);
	else
		ahead(n, n->priority, (n->current + 1) & (QUEUES - 1));
	keep_placed(n);
	if (vanished(n)) {
		n->lost = true;
		return;
	}
	count = n->count;
	retire(n, node_position(n));
	if (n->count != count && !must_stop(n, top, &why))
		return;
	node_stop(n, why);
	for (uint32_t polls = 0; polls < STOP_POLLS && !has_stopped(n); polls++)
		;
}

/* expire ends the turn of a queue that has used its quantum while no entry is in the ring. Otherwise a queue
   whose entries end before the next ones are placed would keep the node. */
static void expire(struct node *n)
{
	if (n->entries != 0 || n->current == NO_QUEUE || !limited(n) || read32(LOCAL_TIME_LO) - n->since < queues[n->current].left)
		return;
	queues[n->current].left = 0;
	n->turn[n->priority] = (n->current + 1) & (QUEUES - 1);
	n->current = NO_QUEUE;
}

/* signal_left reports whether only the SIGNAL of an entry is in the ring of a node. */
static bool signal_left(struct node *n) { return n->count == 1 && slot_at(n, 0)->kind == SLOT_SIGNAL; }

void schedule_yield(struct node *n)
{
	if (n->state != NODE_READY || n->count == 0 || n->drains || signal_left(n))
		return;
	if (vanished(n))
		n->lost = true;
	else
		node_stop(n, STOP_HOLD);
}

/* yield serves a node that yields. A SIGNAL that alone is left is executed first. */
static void yield(struct node *n)
{
	settle(n);
	if (n->count != 0) {
		schedule_yield(n);
		if (n->state == NODE_READY && !n->running && !n->lost)
			node_start(n);
		return;
	}
	n->current = NO_QUEUE;
	for (uint32_t polls = 0; !(node_read(n, CP0_STATUS) & CP0_STATUS_IDLE); polls++)
		if (polls == IDLE_POLLS)
			return;
	if (node_has_ring(n))
		yield_end(n);
	else
		n->lost = true; /* the place is not one of this work */
}

bool schedule_node(struct node *n)
{
	uint32_t top = highest(n);
	enum stop_reason why;
	if (n->state != NODE_READY || n->halts)
		return false;
	if (n->yields && !n->drains) {
		yield(n);
		return false;
	}
	if (must_stop(n, top, &why)) {
		stop_node(n, top, why);
		if (n->lost || n->state != NODE_READY)
			return false;
		top = highest(n);
	}
	expire(n);
	if (top != 0 && !n->drains && n->entries < ENTRIES && n->count < SLOTS - 1 && (n->entries == 0 || top - 1 == n->priority)) {
		uint32_t p = top - 1, queue = from(n->ready[p], n->turn[p]);
		if (n->entries != 0 && (read32(LOCAL_DOORBELL) & BELLS_YIELD))
			return true; /* an entry takes long to place, and the node has work */
		n->turn[p] = queue;
		n->priority = p;
		place(n, queue);
		settle(n);
		return true;
	}
	settle(n);
	if (n->count != 0 && !n->running)
		node_start(n);
	if (n->entries == 0 && n->current != NO_QUEUE) {
		queues[n->current].left = 0;
		n->current = NO_QUEUE;
	}
	if (n->count == 0 && n->drains) {
		n->drains = false;
		notice(OP_DRAINED, n->offset / NODE_STRIDE, 0, 0);
		return n->yields;
	}
	return false;
}

void schedule_fault(struct node *n, uint32_t cause)
{
	uint32_t queue, position;
	if (vanished(n)) {
		n->lost = true;
		return;
	}
	node_hold(n);
	position = node_position(n);
	retire(n, position);
	queues_show();
	n->read = position;
	queue = n->loaded;
	if (n->count != 0) {
		const struct slot *s = slot_at(n, 0);
		queue = s->kind == SLOT_SWITCH && position != s->last ? s->from : s->queue;
	}
	node_record(n, queue, cause);
	n->reason = STOP_PRIORITY;
	end_turn(n);
	schedule_drop(n);
	if (queue != NO_QUEUE && queues[queue].state != QUEUE_FAULT)
		queue_fail(queue, cause);
	else
		notice(OP_FAULT, n->offset / NODE_STRIDE, queue, cause);
	node_reset(n);
}

/* lose gives up a node that the host has taken back or has reset without a request, or whose reset does not end. */
static void lose(struct node *n)
{
	uint32_t number = n->offset / NODE_STRIDE;
	for (uint32_t i = 0; i < QUEUES; i++)
		if (queues[i].state != QUEUE_NONE && queues[i].node == number)
			queue_fail(i, n->stuck ? CAUSE_STUCK : CAUSE_LOST);
	if (n->drains)
		notice(OP_DRAINED, number, 0, 0);
	yield_lost(n);
	if (n->stuck)
		notice(OP_FAULT, number, NO_QUEUE, CAUSE_STUCK);
	node_empty(n, 0);
	n->current = NO_QUEUE;
	(void)node_close(n);
}

/* serve_node does what the events of a node ask for. They are those of node 0. */
static void serve_node(struct node *n, uint32_t events)
{
	uint32_t info;
	n->sure = false;
	if (n->lost)
		return;
	switch (n->state) {
	case NODE_FREE:
		return;
	case NODE_RESETTING:
		node_restart(n);
		break;
	case NODE_READY:
	case NODE_STOPPING:
		info = events & ARB_EVENTS_FAULT0 ? node_read(n, CP0_FAULT_INFO) & CP0_FAULT_INFO_CAUSE : 0;
		if (info)
			schedule_fault(n, info);
		else if (events & ARB_EVENTS_WATCHDOG0)
			schedule_fault(n, CAUSE_WATCHDOG);
		else if (n->state == NODE_STOPPING)
			n->lost = !has_stopped(n) && vanished(n);
		else if (n->count != 0 && vanished(n))
			n->lost = true;
		else if (n->count != 0)
			retire(n, node_position(n));
		settle(n);
		break;
	}
}

/* serve_events serves both nodes. Events are cleared before registers are read, so none is lost. */
static void serve_events(void)
{
	uint32_t events = read32(ARB_EVENTS), owner = read32(ARB_OWNER);
	for (uint32_t i = 0; i < NODES; i++)
		if (!(owner >> i & 1))
			nodes[i].lost = true;
	if (events)
		(void)probe_write(ARB_EVENTS, events);
	serve_node(&nodes[0], events);
	serve_node(&nodes[1], events >> ARB_EVENTS_FENCE1_SHIFT);
}

/* all_free reports whether the firmware has no node, so that it can do nothing for the queues. */
static bool all_free(void) { return nodes[0].state == NODE_FREE && nodes[1].state == NODE_FREE; }

void queues_ring(uint32_t bells)
{
	uint32_t yields = bells >> BELL_YIELD_SHIFT & ((1u << NODES) - 1), seen;
	if (!(bells & ~BELL_MESSAGES) || all_free())
		return;
	seen = bells >> BELL_QUEUE_SHIFT;
	for (uint32_t i = 0; yields >> i; i++)
		if (yields >> i & 1)
			yield_begin(&nodes[i]);
	for (bells = seen; bells != 0; bells &= bells - 1)
		queue_bell(from(bells, 0));
	for (uint32_t i = 0; yields >> i; i++)
		if (yields >> i & 1)
			yield_tails(&nodes[i], seen);
}

bool queues_serve(void)
{
	bool more = false;
	if (all_free())
		return false;
	queue_retry();
	serve_events();
	for (struct node *n = nodes; n < nodes + NODES; n++) {
		if (!n->lost)
			more |= schedule_node(n);
		if (n->lost && n->state != NODE_FREE)
			lose(n);
	}
	queues_show();
	return more;
}

/* halted reports whether nothing of a node is in flight: it has stopped, or is free. */
static bool halted(const struct node *n)
{
	if (n->state == NODE_FREE)
		return true;
	return n->state == NODE_READY && (n->running || (node_read(n, CP0_STATUS) & CP0_STATUS_IDLE));
}

/* ring returns the doorbells of queues and of yields that have rung since the last call. Those of messages wait. */
static uint32_t ring(void)
{
	uint32_t rung = read32(LOCAL_DOORBELL) & ~BELL_MESSAGES;
	write32(LOCAL_DOORBELL, rung);
	return rung;
}

bool schedule_halt(struct node *n)
{
	uint32_t since = read32(LOCAL_TIME_LO);
	bool done;
	if (n->state == NODE_READY && n->count != 0)
		node_stop(n, STOP_HOLD);
	n->halts = true;
	while (!(done = halted(n)) && n->state != NODE_RESETTING && read32(LOCAL_TIME_LO) - since < HALT_CLOCKS) {
		write32(LOCAL_KICK, 0);
		queues_ring(ring());
		(void)queues_serve();
	}
	n->halts = false;
	return done;
}

/* switches_last reports whether a node that drains has only contexts left in its ring. Their end has no event. */
static bool switches_last(const struct node *n) { return n->state == NODE_READY && n->drains && n->entries == 0 && n->count != 0; }

/* in_flight reports whether a node that yields has stopped and may have something in flight. Its end has no event. */
static bool in_flight(const struct node *n)
{
	return n->state == NODE_READY && n->yields && n->count == 0 && !(node_read(n, CP0_STATUS) & CP0_STATUS_IDLE);
}

uint32_t queues_due(void)
{
	uint32_t due = all_free() ? UINT32_MAX : queue_retry_due();
	for (const struct node *n = nodes; n < nodes + NODES; n++) {
		uint32_t used, left;
		if ((n->state == NODE_RESETTING || switches_last(n) || in_flight(n)) && due > POLL_CLOCKS)
			due = POLL_CLOCKS;
		if (n->state != NODE_READY || n->entries == 0 || n->drains || !limited(n))
			continue;
		used = read32(LOCAL_TIME_LO) - n->since;
		left = queues[n->current].left;
		left = left > used ? left - used : 0;
		due = due < left ? due : left;
	}
	return due;
}
