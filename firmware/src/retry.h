/* The times after which a failed access to host memory is tried again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hw.h"
#include "registers.h"

/* Clocks until the time has passed first. Each later time is twice as long. */
#define RETRY_CLOCKS 256u

/* How many such times there are. After them nothing causes a try but what else happens. */
#define RETRIES 16

struct retry {
	uint32_t count; /* times that have passed */
	uint32_t since; /* when the present one began, low half of TIME */
};

/* retry_begin begins the times after a failure. */
static inline void retry_begin(struct retry *r)
{
	r->count = 0;
	r->since = read32(LOCAL_TIME_LO);
}

/* retry_left returns how many clocks are left until the next try; UINT32_MAX: there is none. */
static inline uint32_t retry_left(const struct retry *r)
{
	uint32_t time = RETRY_CLOCKS << r->count, passed;
	if (r->count == RETRIES)
		return UINT32_MAX;
	passed = read32(LOCAL_TIME_LO) - r->since;
	return time > passed ? time - passed : 0;
}

/* retry_due reports whether it is time for the next try, and then begins the time after that. */
static inline bool retry_due(struct retry *r)
{
	if (retry_left(r) != 0)
		return false;
	r->count++;
	r->since = read32(LOCAL_TIME_LO);
	return true;
}
