#include "telemetry.h"

#include "boot.h"
#include "hw.h"
#include "message.h"
#include "message_abi.h"
#include "registers.h"

/* Dwords of a sample: its number, 0, the time, and the counters. */
#define SAMPLE_HEAD 4
#define SAMPLE_DWORDS (SAMPLE_HEAD + COUNTERS)

#define COUNTERS 10
#define BUSY0 2
#define BUSY1 6

static const uint32_t counters[COUNTERS] = {
	PERF_CYCLES_LO, PERF_CYCLES_HI, PERF_BUSY_LO0, PERF_BUSY_HI0, PERF_BYTES_LO0, PERF_BYTES_HI0,
	PERF_BUSY_LO1, PERF_BUSY_HI1, PERF_BYTES_LO1, PERF_BYTES_HI1,
};

static uint32_t period; /* 0: no samples */
static bool sleeps;     /* no node has worked since the last sample */
static uint64_t due;
static uint32_t busy0, busy1; /* of the last sample */
static uint32_t tail, lost;

/* snapshot copies the counters to their registers. It reports whether the host allows it. */
static bool snapshot(void) { return probe_write(PERF_CTL, PERF_CTL_RUN | PERF_CTL_SNAPSHOT) == 0; }

void telemetry_begin(void) { period = 0; }

uint32_t telemetry_select(const uint32_t *in)
{
	uint32_t wanted = in[TELEMETRY_IN_PERIOD];
	if (wanted != 0 && wanted < TELEMETRY_LEAST)
		return STATUS_ARGUMENT;
	if (wanted != 0 && !snapshot())
		return STATUS_REFUSED;
	period = wanted;
	due = now() + period;
	sleeps = false;
	return STATUS_OK;
}

/* put writes a sample to the ring, if there is room. */
static bool put(const uint32_t *sample)
{
	uint32_t head, at = AREA_TELEMETRY + (tail & (TELEMETRY_ENTRIES - 1)) * TELEMETRY_BYTES;
	if (!area_read(AREA_TELEMETRY_HEAD, &head) || tail - head >= TELEMETRY_ENTRIES)
		return false;
	for (uint32_t i = 0; i < SAMPLE_DWORDS; i++)
		if (!area_write(at + 4 * i, sample[i]))
			return false;
	return true;
}

/* take takes a sample. The counters of a node that the GPU does not have are 0. */
static void take(uint64_t time)
{
	uint32_t sample[SAMPLE_DWORDS];
	sample[0] = tail + lost;
	sample[1] = 0;
	sample[2] = (uint32_t)time;
	sample[3] = (uint32_t)(time >> 32);
	(void)snapshot();
	for (uint32_t i = 0; i < COUNTERS; i++) {
		struct answer a = probe_read(counters[i]);
		sample[SAMPLE_HEAD + i] = a.fault ? 0 : a.value;
	}
	if (put(sample))
		area_write(AREA_TELEMETRY_TAIL, ++tail);
	else
		area_write(AREA_TELEMETRY_LOST, ++lost);
	sleeps = sample[SAMPLE_HEAD + BUSY0] == busy0 && sample[SAMPLE_HEAD + BUSY1] == busy1;
	busy0 = sample[SAMPLE_HEAD + BUSY0];
	busy1 = sample[SAMPLE_HEAD + BUSY1];
	due = time + period;
}

void telemetry_serve(bool woken)
{
	uint64_t time;
	if (period == 0 || (sleeps && !woken))
		return;
	time = now();
	if (sleeps) {
		sleeps = false;
		due = time + period;
	}
	if (time >= due)
		take(time);
}

uint32_t telemetry_due(void)
{
	uint64_t time;
	if (period == 0 || sleeps)
		return UINT32_MAX;
	time = now();
	return time >= due ? 0 : (uint32_t)(due - time);
}
