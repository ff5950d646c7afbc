/* Yields: a node stops, and its queues forget what is not complete. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "node.h"

/* yield_begin begins the yield of a node, whose doorbell has rung: the node stops. A second one changes nothing. yield_tails
   reads the tails of its queues, but for those that have just been read, one bit for each. */
void yield_begin(struct node *n);
void yield_tails(const struct node *n, uint32_t seen);

/* yield_end ends the yield of a node in which nothing is in flight: it writes places and heads, drops the entries that are not
   complete, and sends YIELDED. If host memory cannot be accessed, it must be called again. */
void yield_end(struct node *n);

/* yield_lost ends the yield of a node that the firmware loses. */
void yield_lost(struct node *n);
