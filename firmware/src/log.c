#include "log.h"

#include "boot.h"
#include "message.h"
#include "message_abi.h"

/* Dwords of a line before its arguments. */
#define LOG_HEAD_DWORDS 4

static uint32_t selected;
static uint32_t tail, lost;

void log_begin(void) { selected = LOG_EVENT; }

uint32_t log_select(const uint32_t *in)
{
	if (in[LOG_IN_LEVEL] > LOG_DEBUG)
		return STATUS_ARGUMENT;
	selected = in[LOG_IN_LEVEL];
	return STATUS_OK;
}

/* put writes a line to the ring, if there is room. */
static bool put(const uint32_t *line)
{
	uint32_t head, at = AREA_LOG + (tail & (LOG_ENTRIES - 1)) * LOG_BYTES;
	if (!area_read(AREA_LOG_HEAD, &head) || tail - head >= LOG_ENTRIES)
		return false;
	for (uint32_t i = 0; i < LOG_HEAD_DWORDS + LOG_ARGUMENTS; i++)
		if (!area_write(at + 4 * i, line[i]))
			return false;
	return true;
}

void log_line(uint32_t level, uint32_t id, const uint32_t *arguments)
{
	uint64_t time = now();
	uint32_t line[LOG_HEAD_DWORDS + LOG_ARGUMENTS] = {
		tail + lost, id | level << LINE_LEVEL_SHIFT, (uint32_t)time, (uint32_t)(time >> 32), arguments[0], arguments[1], arguments[2],
	};
	if (level > selected || !messages_open())
		return;
	if (put(line))
		area_write(AREA_LOG_TAIL, ++tail);
	else
		area_write(AREA_LOG_LOST, ++lost);
}
