/* The queues, and the scheduler of the nodes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The handlers of the requests. Each gets the dwords of the payload, may write an answer and its
   length in bytes, and returns a status. */
uint32_t node_take(const uint32_t *in, uint32_t *out, uint32_t *length);
uint32_t node_give(const uint32_t *in, uint32_t *out, uint32_t *length);
uint32_t node_drain(const uint32_t *in, uint32_t *out, uint32_t *length);
uint32_t node_recover(const uint32_t *in, uint32_t *out, uint32_t *length);
uint32_t queue_create(const uint32_t *in, uint32_t *out, uint32_t *length);
uint32_t queue_destroy(const uint32_t *in, uint32_t *out, uint32_t *length);
uint32_t queue_state(const uint32_t *in, uint32_t *out, uint32_t *length);
uint32_t queue_preempt(const uint32_t *in, uint32_t *out, uint32_t *length);
uint32_t queue_resume(const uint32_t *in, uint32_t *out, uint32_t *length);

/* queues_clear destroys all queues, gives all nodes back, and forgets the ones that are stuck. It reports whether each of the
   other nodes has ended its reset; if not, it may be called again. */
bool queues_clear(void);

/* queues_ring reads the tails of queues. bells are bits of DOORBELL that rang and were cleared. */
void queues_ring(uint32_t bells);

/* queues_serve does what events of nodes, the time and new entries of queues ask for. It reports whether it must be called
   again at once. */
bool queues_serve(void);

/* queues_due returns in how many clocks queues_serve must be called though nothing happens;
   UINT32_MAX: never. */
uint32_t queues_due(void);
