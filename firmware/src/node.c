/* The time from the stop of a node to its next work counts, so this file is not compiled for size. */
#pragma GCC optimize("O2")

#include "node.h"

#include "hw.h"
#include "message_abi.h"
#include "registers.h"

/* How often the end of a reset is read before the caller must try again. */
#define POLLS 4096

/* The bits of a node in ARB.EVENTS. */
#define EVENTS_BITS 8
#define EVENTS (ARB_EVENTS_FENCE0 | ARB_EVENTS_PREEMPT0 | ARB_EVENTS_FAULT0 | ARB_EVENTS_WATCHDOG0)

struct node nodes[NODES];

void node_write(struct node *n, uint32_t at, uint32_t value)
{
	if (probe_write(at + n->offset, value))
		n->lost = true;
}

/* choose lets the events of the nodes that are taken interrupt. */
static void choose(void)
{
	uint32_t events = 0;
	for (uint32_t i = 0; i < NODES; i++)
		if (nodes[i].state != NODE_FREE)
			events |= (uint32_t)EVENTS << EVENTS_BITS * i;
	write32(LOCAL_EVENTS, events);
}

/* clear forgets the ring and the context of a node after a reset. */
static void clear(struct node *n)
{
	n->read = n->write = 0;
	n->first = n->count = n->entries = n->switches = n->placed = n->dropped = 0;
	n->loaded = n->planned = n->current = NO_QUEUE;
	n->running = false;
}

/* can_run reports whether the GPU has what the firmware needs of a node: contexts that are saved, stops and SIGNAL. */
static bool can_run(void)
{
	const uint32_t needs = ID_CAPS_CONTEXTS | ID_CAPS_PREEMPTION;
	struct answer caps = probe_read(ID_CAPS), caps2 = probe_read(ID_CAPS2);
	return !caps.fault && !caps2.fault && (caps.value & needs) == needs && (caps2.value & ID_CAPS2_SIGNAL);
}

/* meets reports whether a ring in window 0 has bytes of the ring of another node. */
static bool meets(uint32_t number, uint32_t ring, uint32_t bytes)
{
	for (uint32_t i = 0; i < NODES; i++) {
		uint32_t at = nodes[i].window - WINDOW_NODES;
		if (i != number && (nodes[i].state != NODE_FREE || nodes[i].stuck) && ring < at + 4 * (nodes[i].mask + 1) && at < ring + bytes)
			return true;
	}
	return false;
}

uint32_t node_open(uint32_t number, uint32_t ring, uint32_t log2)
{
	struct node *n = &nodes[number];
	uint32_t size = read32(MCU_WINDOW0_SIZE), bytes = 1u << log2, ctl;
	struct answer status, owner;
	if (n->state != NODE_FREE || n->stuck)
		return STATUS_STATE;
	n->offset = number * NODE_STRIDE;
	n->window = WINDOW_NODES + ring;
	n->ring_lo = read32(MCU_WINDOW0_BASE_LO) + ring;
	n->ring_hi = read32(MCU_WINDOW0_BASE_HI) + (n->ring_lo < ring);
	if (!(size & MCU_WINDOW0_SIZE_WRITE) || ring > (size & MCU_WINDOW0_SIZE_BYTES) || bytes > (size & MCU_WINDOW0_SIZE_BYTES) - ring)
		return STATUS_ARGUMENT;
	if ((n->ring_lo & 0xfff) != 0 || meets(number, ring, bytes))
		return STATUS_ARGUMENT;
	status = probe_read(CP0_STATUS + n->offset);
	owner = probe_read(ARB_OWNER);
	if (!can_run() || status.fault || owner.fault || !(owner.value >> number & 1) || probe_write(ARB_EVENTS, 0))
		return STATUS_REFUSED;
	if (!(status.value & CP0_STATUS_IDLE))
		return STATUS_STATE;
	if (probe_write(n->window, 0) || probe_write(n->window + bytes - 4, 0))
		return STATUS_ARGUMENT;
	ctl = node_read(n, CP0_CTL);
	n->log2 = log2;
	n->mask = bytes / 4 - 1;
	n->id = 0;
	n->lost = n->drains = n->yields = false;
	n->protect = ctl & CP0_CTL_PROTECT;
	node_reset(n);
	if (n->lost) {
		n->state = NODE_FREE;
		return STATUS_REFUSED;
	}
	choose();
	return STATUS_OK;
}

/* reset_clocks returns after how many clocks a reset counts as stuck. A read ends after at most twice the time of
   READ_TIMEOUT, so the reset waits for it. The longest of these times does not fit into 32 bits. */
static uint32_t reset_clocks(void)
{
	struct answer timeout = probe_read(ID_READ_TIMEOUT);
	uint32_t range = timeout.fault ? 0 : timeout.value & ID_READ_TIMEOUT_RANGE;
	if (range == 0)
		return NODE_RESET_CLOCKS;
	return range == ID_READ_TIMEOUT_RANGE ? UINT32_MAX - NODE_RESET_CLOCKS : (16u << 4 * range) + NODE_RESET_CLOCKS;
}

void node_reset(struct node *n)
{
	clear(n);
	n->state = NODE_RESETTING;
	n->since = read32(LOCAL_TIME_LO);
	n->patience = reset_clocks();
	node_write(n, CP0_CTL, CP0_CTL_RESET);
}

void node_restart(struct node *n)
{
	if (node_read(n, CP0_CTL) & CP0_CTL_RESET) {
		n->lost = n->stuck = read32(LOCAL_TIME_LO) - n->since >= n->patience;
		return;
	}
	node_write(n, CP0_RING_BASE_LO, n->ring_lo);
	node_write(n, CP0_RING_BASE_HI, n->ring_hi);
	node_write(n, CP0_RING_SIZE, n->log2);
	n->state = NODE_READY;
}

void node_retry(struct node *n)
{
	n->lost = n->stuck = n->drains = false;
	node_reset(n);
	choose();
}

bool node_close(struct node *n)
{
	uint32_t polls = 0;
	if (n->state == NODE_FREE) {
		n->stuck = node_read(n, CP0_CTL) & CP0_CTL_RESET;
		return !n->stuck;
	}
	if (n->state != NODE_RESETTING)
		node_reset(n);
	while (!n->lost && node_read(n, CP0_CTL) & CP0_CTL_RESET) {
		write32(LOCAL_KICK, 0);
		if (++polls == POLLS)
			return false;
	}
	n->state = NODE_FREE;
	choose();
	return true;
}

/* An end of the ring while packets are written. It is in registers, since the host waits for the next packet. */
struct end {
	uint32_t window, mask, write;
};

static inline struct end end_of(const struct node *n) { return (struct end){n->window, n->mask, n->write}; }

/* put writes the next dword of the ring. */
static inline void put(struct end *e, uint32_t word)
{
	write32(e->window + 4 * (e->write & e->mask), word);
	e->write++;
}

struct slot *node_next(struct node *n) { return slot_at(n, n->count); }

void node_switch(struct node *n, uint32_t queue, const uint32_t *save, const uint32_t *restore)
{
	struct slot *s = node_next(n);
	struct end e = end_of(n);
	uint32_t last;
	s->begin = e.write;
	if (save) {
		put(&e, PACKET_SAVE_STATE);
		put(&e, save[0]);
		put(&e, save[1]);
	}
	last = e.write;
	put(&e, PACKET_RESTORE_STATE);
	put(&e, restore[0]);
	put(&e, restore[1]);
	n->write = e.write;
	node_start(n);
	s->kind = SLOT_SWITCH;
	s->queue = queue;
	s->from = n->planned;
	s->last = last;
	s->end = e.write;
	n->planned = queue;
	n->count++;
	n->switches++;
}

void node_entry(struct node *n, uint32_t queue, const uint32_t *entry, const uint32_t *state)
{
	struct slot *s = node_next(n);
	struct end e = end_of(n);
	s->begin = e.write;
	if (state) {
		put(&e, PACKET_RESTORE_STATE);
		put(&e, state[0]);
		put(&e, state[1]);
	}
	put(&e, PACKET_INDIRECT);
	put(&e, entry[ENTRY_BUFFER_LO]);
	put(&e, entry[ENTRY_BUFFER_HI]);
	put(&e, entry[ENTRY_DWORDS]);
	s->last = n->write = e.write;
	if (n->entries == 0)
		node_start(n);
	put(&e, PACKET_SIGNAL);
	put(&e, entry[ENTRY_PROGRESS_LO]);
	put(&e, entry[ENTRY_PROGRESS_HI]);
	put(&e, entry[ENTRY_VALUE_LO]);
	put(&e, entry[ENTRY_VALUE_HI]);
	put(&e, SIGNAL_IRQ);
	s->end = n->write = e.write;
	s->kind = SLOT_ENTRY;
	s->queue = queue;
	if (entry != s->entry)
		copy_entry(s->entry, entry);
	n->count++;
	n->entries++;
	node_start(n);
}

bool node_has_ring(const struct node *n)
{
	return node_read(n, CP0_RING_SIZE) == n->log2 && node_read(n, CP0_RING_BASE_LO) == n->ring_lo;
}

void node_start(struct node *n)
{
	if (!n->running && !n->sure && !node_has_ring(n)) {
		n->lost = true;
		return;
	}
	node_write(n, CP0_WPTR, n->write & n->mask);
	if (!n->running)
		node_write(n, CP0_CTL, CP0_CTL_RUN | n->protect);
	n->running = true;
}

void node_stop(struct node *n, enum stop_reason reason)
{
	n->id++;
	n->reason = reason;
	n->state = NODE_STOPPING;
	node_write(n, CP0_PREEMPT, n->id);
}

void node_hold(struct node *n)
{
	if (n->running)
		node_write(n, CP0_CTL, n->protect);
	n->running = false;
}

void node_empty(struct node *n, uint32_t position)
{
	n->count = n->entries = n->switches = n->placed = 0;
	n->read = n->write = position;
	n->planned = n->loaded;
}

/* The registers of a record, from RECORD_STATUS on. */
static const uint32_t recorded[] = {
	CP0_STATUS, CP0_RPTR, CP0_WPTR, CP0_FAULT_INFO, CP0_FAULT_ADDR_LO, CP0_FAULT_ADDR_HI, CP0_FAULT_OP, CP0_FAULT_BAD_LO, CP0_FAULT_BAD_HI,
	CP0_PACKETS, CP0_IB_ADDR_LO, CP0_IB_ADDR_HI, CP0_IB_LEFT, CP0_PROGRESS,
};
_Static_assert(sizeof(recorded) / 4 == RECORD_RING_AT - RECORD_STATUS, "registers of a record");

void node_record(struct node *n, uint32_t queue, uint32_t cause)
{
	uint32_t number = n->offset / NODE_STRIDE, at = AREA_FAULTS + number * FAULT_BYTES, ring = node_position(n) - RECORD_RING / 2;
	struct answer trace = probe_read(TRACE0_HEADER0 + n->offset);
	n->records++;
	(void)probe_write(at + 4 * RECORD_NODE, number);
	(void)probe_write(at + 4 * RECORD_QUEUE, queue);
	(void)probe_write(at + 4 * RECORD_CAUSE, cause);
	(void)probe_write(at + 4 * RECORD_TIME_LO, read32(LOCAL_TIME_LO));
	(void)probe_write(at + 4 * RECORD_TIME_HI, read32(LOCAL_TIME_HI));
	for (uint32_t i = 0; i < sizeof(recorded) / 4; i++)
		(void)probe_write(at + 4 * (RECORD_STATUS + i), node_read(n, recorded[i]));
	(void)probe_write(at + 4 * RECORD_RING_AT, ring & n->mask);
	(void)probe_write(at + 4 * RECORD_TRACED, !trace.fault);
	for (uint32_t i = 0; i < RECORD_RING; i++)
		(void)probe_write(at + 4 * (RECORD_WORDS + i), read32(n->window + 4 * ((ring + i) & n->mask)));
	for (uint32_t i = 0; i < RECORD_TRACE && !trace.fault; i++) {
		write32(LOCAL_KICK, 0);
		(void)probe_write(at + 4 * (RECORD_WORDS + RECORD_RING + i), node_read(n, TRACE0_HEADER0 + 4 * i));
	}
	(void)probe_write(at + 4 * RECORD_COUNT, n->records);
}
