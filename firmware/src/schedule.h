/* The scheduler: which queue a node executes next. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "message_abi.h"
#include "node.h"

/* A queue. head counts the entries that are complete, next those that were put in the ring of the node,
   and tail those that the host has written. */
struct queue {
	uint32_t state;
	uint32_t cause;
	uint32_t node;
	uint32_t priority;
	uint32_t quantum; /* clocks */
	uint32_t left;    /* clocks of its turn that are left; 0: a new turn begins */
	uint32_t longer;  /* log2 of the factor of its quantum, after turns in which it did not move */
	uint32_t head, next, tail;
	uint32_t mask; /* entries of its ring - 1 */
	uint32_t ring[2], save[2]; /* GPU addresses */
	uint32_t tails;    /* values of its tail that were ignored */
	uint32_t progress; /* PROGRESS when it was stopped */
	uint32_t resumes;  /* entries that were continued after a stop */
	bool begun;        /* entry has the rest of the entry at head */
	bool forced;       /* its turn also ends if no other queue waits */
	bool moved;        /* it has moved forward in its turn */
	uint32_t entry[QUEUE_ENTRY_WORDS];
	uint32_t reserved[5];
};
_Static_assert(sizeof(struct queue) == 128, "a queue is found by a shift");

extern struct queue queues[QUEUES];

/* queue_update notes whether a queue has entries to be placed. */
void queue_update(uint32_t number);

/* queue_bell reads the tail of a queue. */
void queue_bell(uint32_t number);

/* queue_show tells the host the head of a queue. */
void queue_show(uint32_t number);

/* queue_place writes the place of a queue to the message area, or that it was not stopped inside an entry. It reports whether
   it could. */
bool queue_place(uint32_t number, bool inside);

/* queues_known reports whether the tails of queues, one bit for each, could be read, and queues_shown whether their
   heads could be written. */
bool queues_known(uint32_t all);
bool queues_shown(uint32_t all);

/* queue_show_later notes that the head of a queue has changed. queues_show tells the host these heads. */
void queue_show_later(uint32_t number);
void queues_show(void);

/* queue_retry tries again what queue_bell and queues_show could not do. queue_retry_due returns in how many clocks it must
   be called though nothing happens; UINT32_MAX: never. */
void queue_retry(void);
uint32_t queue_retry_due(void);

/* queue_fail stops a queue for good and tells the host. */
void queue_fail(uint32_t number, uint32_t cause);

/* schedule_node makes a node execute the queue whose turn it is. It puts at most one entry in the ring, so
   that doorbells and events do not wait, and reports whether there may be more. */
bool schedule_node(struct node *n);

/* schedule_halt stops a node for a request, and waits until nothing of it is in flight, for at most HALT_CLOCKS. It reports
   whether that is so. The other node is served meanwhile. It does not wait for a reset of the node. */
bool schedule_halt(struct node *n);

/* schedule_yield stops a node that yields, unless its entries must be completed. */
void schedule_yield(struct node *n);

/* schedule_fault writes the fault record of a node, stops the guilty queue and resets the node. */
void schedule_fault(struct node *n, uint32_t cause);

/* schedule_drop empties the ring of a node that is stopped. Entries that are not complete remain in
   their queues. */
void schedule_drop(struct node *n);
