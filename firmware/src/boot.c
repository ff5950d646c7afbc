#include "boot.h"

#include <stdbool.h>

#include "boot_abi.h"
#include "hw.h"
#include "log.h"
#include "message.h"
#include "message_abi.h"
#include "queue.h"
#include "registers.h"
#include "selftest.h"
#include "telemetry.h"

/* The high half is read twice, so that a carry between the halves does no harm. */
uint64_t now(void)
{
	uint32_t hi, lo;
	do {
		hi = read32(LOCAL_TIME_HI);
		lo = read32(LOCAL_TIME_LO);
	} while (hi != read32(LOCAL_TIME_HI));
	return (uint64_t)hi << 32 | lo;
}

/* The timer is never due in between. */
void set_timer(uint64_t at)
{
	write32(LOCAL_COMPARE_HI, 0xffffffff);
	write32(LOCAL_COMPARE_LO, (uint32_t)at);
	write32(LOCAL_COMPARE_HI, (uint32_t)(at >> 32));
}

/* bells returns the doorbells that have rung since the last call. One that rings from now on is in
   the next call. */
static uint32_t bells(void)
{
	uint32_t rung = read32(LOCAL_DOORBELL);
	write32(LOCAL_DOORBELL, rung);
	return rung;
}

/* build returns the first bytes of the build id, in the order in which the host shows them. */
static uint32_t build(void)
{
	uint32_t b = read32(MAIL_BUILD);
	return b << 24 | (b & 0xff00) << 8 | (b >> 8 & 0xff00) | b >> 24;
}

/* wake sets the timer to when there is work though nothing happens. */
static void wake(void)
{
	uint32_t due = queues_due(), samples = telemetry_due(), messages = messages_due();
	if (due > samples)
		due = samples;
	if (due > messages)
		due = messages;
	set_timer(due == UINT32_MAX ? UINT64_MAX : now() + due);
}

/* loop works for doorbells, events and the timer, and sleeps while there is nothing to do. No interrupt is taken: one that
   is pending wakes it, also one from before it sleeps. */
_Noreturn static void loop(uint32_t memory)
{
	uint32_t work = 0;
	bool more = false;
	write32(MAIL_CHECKPOINT, STAGE_LOOP);
	write32(LOCAL_KICK, 0);
	enable(WAKES);
	write32(MAIL_DETAIL0, messages_begin());
	log_begin();
	LOG(LOG_EVENT, "boot: build %08x, memory of %u bytes", build(), memory);
	write32(MAIL_RESULT, RESULT_READY);
	for (;;) {
		uint32_t rung;
		if (work == 0 && !more) {
			wake();
			sleep();
		}
		write32(LOCAL_KICK, 0);
		rung = bells();
		if (messages_retry())
			work = BELL_MESSAGES;
		queues_ring(rung); /* a request may wait for a node, while the other one works */
		work = (work | rung) & BELL_MESSAGES && message() ? BELL_MESSAGES : 0;
		more = queues_serve();
		if (notices())
			work = BELL_MESSAGES;
		telemetry_serve(rung != 0 || more);
	}
}

void boot(uint32_t memory)
{
	const struct finding *f = selftest(memory, read32(MAIL_TEST));
	if (f->result == RESULT_READY)
		loop(memory);
	write32(MAIL_DETAIL0, f->detail0);
	write32(MAIL_DETAIL1, f->detail1);
	write32(MAIL_DETAIL2, f->detail2);
	write32(MAIL_RESULT, f->result);
	stop();
}
