/* The nodes that the firmware has taken: their rings, their stops and their resets. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hw.h"
#include "queue_abi.h"
#include "registers.h"

#define NODES 2

/* Entries of queues in the ring of a node at the same time. Each may need a switch before it. */
#define ENTRIES 4
#define SLOTS (2 * ENTRIES)

enum node_state {
	NODE_FREE,      /* it belongs to the host */
	NODE_RESETTING, /* CTL.RESET was written */
	NODE_READY,     /* it executes its ring, or has nothing to do */
	NODE_STOPPING,  /* PREEMPT was written */
};

enum slot_kind {
	SLOT_SWITCH, /* SAVE_STATE of one queue, RESTORE_STATE of the next */
	SLOT_ENTRY,  /* INDIRECT and SIGNAL of an entry, after RESTORE_STATE if it continues from a state */
	SLOT_SIGNAL, /* only the SIGNAL is left */
};

/* Packets in the ring that belong together. Positions count dwords since the reset of the node. */
struct slot {
	uint32_t begin;
	uint32_t last; /* of its last packet: RESTORE_STATE or SIGNAL */
	uint32_t end;
	uint32_t kind;
	uint32_t queue; /* whose context is restored, or whose entry it is */
	uint32_t from;  /* of a switch: whose context is saved, or NO_QUEUE */
	uint32_t reserved[2];
	uint32_t entry[QUEUE_ENTRY_WORDS];
};
_Static_assert(sizeof(struct slot) == 64, "a slot is found by a shift");

enum stop_reason { STOP_PRIORITY, STOP_QUANTUM, STOP_HOLD };

struct node {
	enum node_state state;
	uint32_t offset; /* of its registers from those of node 0 */
	uint32_t ring_lo, ring_hi, log2;
	uint32_t window; /* address of the ring */
	uint32_t mask;   /* dwords of the ring - 1 */
	uint32_t protect;
	uint32_t read, write; /* positions */
	uint32_t first, count; /* slots in use */
	uint32_t entries, switches; /* slots of these kinds */
	uint32_t placed; /* queues with entries in the ring, one bit for each */
	uint32_t dropped; /* queues whose entries were taken out of the ring, and whose next still counts these, one bit for each */
	uint32_t open; /* queues whose entries may be placed: their state is READY */
	uint32_t id;      /* of the last PREEMPT */
	uint32_t records; /* fault records since the start */
	uint32_t loaded;  /* whose context is in the node and not saved */
	uint32_t planned; /* whose context is in it after all slots */
	uint32_t current; /* whose turn it is */
	uint32_t patience; /* clocks after which its reset counts as stuck */
	uint32_t since;   /* begin of the turn or of the reset, low half of TIME */
	uint32_t priority; /* of the entries in the ring */
	enum stop_reason reason;
	uint32_t places; /* queues of YIELDED that were stopped inside an entry, one bit for each */
	uint32_t members; /* its queues that are READY or HELD, one bit for each */
	uint32_t reserved[2];
	bool running; /* CTL.RUN is 1 */
	bool sure;    /* PREEMPTED has shown in this call that nothing else has reset it */
	bool drains;
	bool halts; /* a request waits for its stop, and no entry is placed */
	bool yields; /* its doorbell has rung: it stops, no entry is placed, and YIELDED follows */
	bool dropping; /* the entries were dropped, and a head may not be written yet */
	bool lost; /* it no longer belongs to the firmware, or something else has reset it */
	bool stuck; /* the firmware gave it up because its reset did not end; then it is free */
	uint32_t ready[QUEUE_PRIORITIES]; /* queues with entries to be placed, one bit for each */
	uint32_t turn[QUEUE_PRIORITIES];  /* queue from which the next one is searched */
	struct slot slots[SLOTS];
};
_Static_assert(sizeof(struct node) == 21 * 32, "a node is found by two shifts and additions");

extern struct node nodes[NODES];

/* node_read and node_write access a register of a node, named by that of node 0. */
static inline uint32_t node_read(const struct node *n, uint32_t at) { return read32(at + n->offset); }
void node_write(struct node *n, uint32_t at, uint32_t value);

/* node_position returns the position of RPTR. */
static inline uint32_t node_position(const struct node *n) { return n->read + ((node_read(n, CP0_RPTR) - n->read) & n->mask); }

/* node_open takes a node and begins its reset. It returns the status of NODE_TAKE. */
uint32_t node_open(uint32_t number, uint32_t ring, uint32_t log2);

/* node_reset begins a reset. The ring is empty after it, and no context is in the node. */
void node_reset(struct node *n);

/* node_restart ends a reset if it is complete. A reset that lasts NODE_RESET_CLOCKS plus twice the time of READ_TIMEOUT is
   given up: the node is lost and stuck. */
void node_restart(struct node *n);

/* node_retry begins the reset of a stuck node anew. */
void node_retry(struct node *n);

/* node_close gives a node back. It resets the node, and reports whether the reset has ended. That of a stuck node
   has begun already. */
bool node_close(struct node *n);

/* node_switch writes SAVE_STATE and RESTORE_STATE to the ring. save and restore point to the halves of
   GPU addresses; without save there is only RESTORE_STATE. The node starts with it. */
void node_switch(struct node *n, uint32_t queue, const uint32_t *save, const uint32_t *restore);

/* node_next returns the slot for the next entry. node_entry writes INDIRECT and SIGNAL of an entry to the ring, and the node
   starts with them. The slot gets a copy of the entry if it is not there yet. state points to the halves of the GPU address of the
   state from which the entry continues, or is 0. */
struct slot *node_next(struct node *n);
void node_entry(struct node *n, uint32_t queue, const uint32_t *entry, const uint32_t *state);

/* node_has_ring reports whether a node that does not run still has its ring. It has none if something else has reset it. */
bool node_has_ring(const struct node *n);

/* node_start lets the node execute what is in the ring. A node that has lost its ring is lost, and does not run. */
void node_start(struct node *n);

/* node_stop asks the node to stop, and node_stopped reports whether it has. */
void node_stop(struct node *n, enum stop_reason reason);
static inline bool node_stopped(const struct node *n) { return node_read(n, CP0_PREEMPTED) == n->id; }

/* node_hold stops the node before its next packet, for a reset. */
void node_hold(struct node *n);

/* node_empty empties the ring from a position on, while the node is stopped. */
void node_empty(struct node *n, uint32_t position);

/* node_record writes the fault record of a node. */
void node_record(struct node *n, uint32_t queue, uint32_t cause);

/* copy_entry copies an entry. */
static inline void copy_entry(uint32_t *to, const uint32_t *from)
{
#pragma GCC unroll 8
	for (uint32_t i = 0; i < QUEUE_ENTRY_WORDS; i++)
		to[i] = from[i];
}

static inline struct slot *slot_at(struct node *n, uint32_t i) { return &n->slots[(n->first + i) & (SLOTS - 1)]; }
