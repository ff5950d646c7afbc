/* Samples of what the nodes do, in a ring of the message area. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* telemetry_begin begins without samples. */
void telemetry_begin(void);

/* telemetry_select sets the clocks between two samples; 0: none. It handles the request TELEMETRY. */
uint32_t telemetry_select(const uint32_t *in);

/* telemetry_serve takes a sample when it is due. woken is set after a doorbell: work may have begun. */
void telemetry_serve(bool woken);

/* telemetry_due returns in how many clocks a sample is due; UINT32_MAX: none, since no node has worked
   since the last one. */
uint32_t telemetry_due(void);
