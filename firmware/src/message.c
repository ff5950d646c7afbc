#include "message.h"

#include "boot_abi.h"
#include "hw.h"
#include "log.h"
#include "message_abi.h"
#include "queue.h"
#include "registers.h"
#include "retry.h"
#include "selftest.h"
#include "telemetry.h"

#define DWORDS (ENTRY_BYTES / 4)

/* An entry: its sequence, its head, and the payload. */
#define SEQUENCE 0
#define HEAD 1
#define PAYLOAD 2

/* Counts after those of the statuses. */
#define COUNTS (COUNTERS_OUT_BYTES / 4)

/* How many notices may wait: one of each queue that stops, and those of the nodes. A power of two. */
#define NOTICES 32
#define NOTICE_DWORDS 3

/* Entries of each ring; 0 without a message area. */
static uint32_t entries;

/* Heads and tails of this side, and which values the host sees. */
static uint32_t request_head, request_head_shown;
static uint32_t answer_tail, answer_tail_shown;

static bool session;
static uint32_t next_sequence;

static uint32_t counts[COUNTS];

/* A request and its answer. answering is set until the answer is in the ring. */
static uint32_t request[DWORDS], answer[DWORDS];
static bool answering;

/* Notices that wait. */
static uint32_t waiting[NOTICES][1 + NOTICE_DWORDS];
static uint32_t notices_head, notices_tail, notices_seen;

/* An access failed in the last call of message. retrying: the next call is another try. */
static bool failed, retrying;
static struct retry again;

bool area_read(uint32_t at, uint32_t *value)
{
	struct answer a = probe_read(at);
	*value = a.value;
	counts[COUNTERS_OUT_MEMORY] += a.fault;
	return a.fault == 0;
}

bool area_write(uint32_t at, uint32_t value)
{
	uint32_t fault = probe_write(at, value);
	counts[COUNTERS_OUT_MEMORY] += fault;
	return fault == 0;
}

bool messages_begin(void)
{
	uint32_t magic, version, rings;
	entries = 0;
	if (!area_read(AREA_MAGIC, &magic) || !area_read(AREA_VERSION, &version) || !area_read(AREA_RINGS, &rings))
		return false;
	if (magic != AREA_MAGIC_VALUE || version != FIRMWARE_VERSION || rings > RINGS_MOST)
		return false;
	entries = 1u << rings;
	return true;
}

bool messages_open(void) { return entries != 0; }

/* far counts a word of the host that is more than a ring ahead of, or behind, one of this side. */
static bool far(uint32_t distance)
{
	if (distance <= entries)
		return false;
	counts[COUNTERS_OUT_TAILS]++;
	return true;
}

/* room reports whether the ring of answers has room. */
static bool room(void)
{
	uint32_t head;
	return area_read(AREA_ANSWER_HEAD, &head) && !far(answer_tail - head) && answer_tail - head < entries;
}

/* put writes an entry to the ring of answers, if it has room. */
static bool put(const uint32_t *entry, uint32_t dwords)
{
	uint32_t at = AREA_ANSWERS + (answer_tail & (entries - 1)) * ENTRY_BYTES;
	if (!room())
		return false;
	for (uint32_t i = 0; i < dwords; i++)
		if (!area_write(at + 4 * i, entry[i]))
			return false;
	answer_tail++;
	return true;
}

/* put_answer writes the answer that waits. */
static bool put_answer(void)
{
	uint32_t bytes = (answer[HEAD] & HEAD_LENGTH) >> HEAD_LENGTH_SHIFT;
	if (!answering)
		return true;
	if (!put(answer, PAYLOAD + (bytes + 3) / 4))
		return false;
	answering = false;
	return true;
}

/* put_notices writes the notices that wait. */
static bool put_notices(void)
{
	for (; notices_head != notices_tail; notices_head++) {
		const uint32_t *n = waiting[notices_head & (NOTICES - 1)];
		uint32_t entry[PAYLOAD + NOTICE_DWORDS] = {0, n[0] | 4 * NOTICE_DWORDS << HEAD_LENGTH_SHIFT, n[1], n[2], n[3]};
		if (!put(entry, PAYLOAD + NOTICE_DWORDS))
			return false;
	}
	return true;
}

/* show tells the host the head of the requests and the tail of the answers. Without an interrupt
   controller that the host allows, the host reads the words. */
static bool show(void)
{
	if (request_head_shown != request_head) {
		if (!area_write(AREA_REQUEST_HEAD, request_head))
			return false;
		request_head_shown = request_head;
	}
	if (answer_tail_shown != answer_tail) {
		if (!area_write(AREA_ANSWER_TAIL, answer_tail))
			return false;
		answer_tail_shown = answer_tail;
		(void)probe_write(INTC_RAISE, INTC_RAISE_FIRMWARE);
	}
	return true;
}

/* flush writes what waits, and reports whether nothing waits any more. After it has shown new answers it
   looks for room again: a host that made room before it saw them has not rung. */
static bool flush(void)
{
	uint32_t before;
	bool all;
	do {
		before = answer_tail;
		all = put_answer() && put_notices();
		if (!show())
			return false;
	} while (!all && answer_tail != before);
	return all;
}

/* add adds a notice to those that wait. */
static void add(uint32_t op, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t *n = waiting[notices_tail & (NOTICES - 1)];
	if (notices_tail - notices_head == NOTICES) {
		counts[COUNTERS_OUT_NOTICES]++;
		return;
	}
	n[0] = op;
	n[1] = a;
	n[2] = b;
	n[3] = c;
	notices_tail++;
}

void notice(uint32_t op, uint32_t a, uint32_t b, uint32_t c)
{
	LOG(LOG_EVENT, "notice %u: %u, %u", op, a, b);
	add(op, a, b, c);
}

void notice_now(uint32_t op, uint32_t a, uint32_t b, uint32_t c)
{
	add(op, a, b, c);
	if (entries != 0 && flush())
		notices_seen = notices_tail;
	LOG(LOG_EVENT, "notice %u: %u, %u", op, a, b);
}

bool notices(void)
{
	bool more = notices_seen != notices_tail;
	notices_seen = notices_tail;
	return more;
}

static uint32_t hello(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	if (in[HELLO_IN_VERSION] != FIRMWARE_VERSION)
		return STATUS_ARGUMENT;
	if (!queues_clear())
		return STATUS_BUSY;
	session = true;
	next_sequence = 1;
	notices_head = notices_tail;
	log_begin();
	telemetry_begin();
	out[HELLO_OUT_VERSION] = FIRMWARE_VERSION;
	out[HELLO_OUT_BUILD] = read32(MAIL_BUILD);
	out[HELLO_OUT_LIMITS] = QUEUES << LIMIT_QUEUES_SHIFT | RINGS_MOST << LIMIT_RINGS_SHIFT | PAYLOAD_BYTES << LIMIT_PAYLOAD_SHIFT;
	*length = HELLO_OUT_BYTES;
	return STATUS_OK;
}

static uint32_t ping(const uint32_t *in, uint32_t *out, uint32_t *length)
{
	*length = (request[HEAD] & HEAD_LENGTH) >> HEAD_LENGTH_SHIFT;
	for (uint32_t i = 0; i < *length; i += 4)
		out[i / 4] = in[i / 4];
	return STATUS_OK;
}

static uint32_t counters(uint32_t *out, uint32_t *length)
{
	for (uint32_t i = 0; i < COUNTS; i++)
		out[i] = counts[i];
	*length = COUNTERS_OUT_BYTES;
	return STATUS_OK;
}

/* dispatch does what a request asks for. It sets the payload of the answer, and its length in bytes. */
static uint32_t dispatch(uint32_t op, const uint32_t *in, uint32_t *out, uint32_t *length)
{
	switch (op) {
	case OP_HELLO:
		return hello(in, out, length);
	case OP_PING:
		return ping(in, out, length);
	case OP_COUNTERS:
		return counters(out, length);
	case OP_LOG:
		return log_select(in);
	case OP_TELEMETRY:
		return telemetry_select(in);
	case OP_SELFTEST:
		return selftest_again(in, out, length);
	case OP_NODE_TAKE:
		return node_take(in, out, length);
	case OP_NODE_GIVE:
		return node_give(in, out, length);
	case OP_QUEUE_CREATE:
		return queue_create(in, out, length);
	case OP_QUEUE_DESTROY:
		return queue_destroy(in, out, length);
	case OP_QUEUE_STATE:
		return queue_state(in, out, length);
	case OP_PREEMPT:
		return queue_preempt(in, out, length);
	case OP_RESUME:
		return queue_resume(in, out, length);
	case OP_DRAIN:
		return node_drain(in, out, length);
	case OP_RESET:
		return node_recover(in, out, length);
	default:
		return STATUS_UNKNOWN;
	}
}

/* ordered checks session and sequence of a request. HELLO needs neither. */
static uint32_t ordered(uint32_t op, uint32_t sequence)
{
	if (op == OP_HELLO)
		return STATUS_OK;
	if (!session)
		return STATUS_SESSION;
	if (sequence != next_sequence)
		return STATUS_SEQUENCE;
	/* 0 is the sequence of notices. */
	if (++next_sequence == 0)
		next_sequence = 1;
	return STATUS_OK;
}

/* formed checks op, reserved bits and length of a request. */
static uint32_t formed(uint32_t head)
{
	uint32_t least, most, bytes = (head & HEAD_LENGTH) >> HEAD_LENGTH_SHIFT;
	if (!request_lengths(head & HEAD_OP, &least, &most))
		return STATUS_UNKNOWN;
	if (head & (HEAD_STATUS | HEAD_RESERVED))
		return STATUS_ARGUMENT;
	if (bytes < least)
		return STATUS_SHORT;
	return bytes > most ? STATUS_LONG : STATUS_OK;
}

/* handle makes the answer of the request that has been copied. */
static void handle(void)
{
	uint32_t head = request[HEAD], op = head & HEAD_OP, length = 0;
	uint32_t status = ordered(op, request[SEQUENCE]);
	if (status == STATUS_OK)
		status = formed(head);
	if (status == STATUS_OK)
		status = dispatch(op, request + PAYLOAD, answer + PAYLOAD, &length);
	if (status != STATUS_OK)
		length = 0;
	LOG(status == STATUS_OK ? LOG_DEBUG : LOG_ERROR, "request %u: op %u, status %u", request[SEQUENCE], op, status);
	counts[status]++;
	answer[SEQUENCE] = request[SEQUENCE];
	answer[HEAD] = op | length << HEAD_LENGTH_SHIFT | status << HEAD_STATUS_SHIFT;
	answering = true;
}

/* fetch copies the next request, if there is one. */
static bool fetch(void)
{
	uint32_t tail, at = AREA_REQUESTS + (request_head & (entries - 1)) * ENTRY_BYTES;
	if (!area_read(AREA_REQUEST_TAIL, &tail) || tail == request_head || far(tail - request_head))
		return false;
	for (uint32_t i = 0; i < DWORDS; i++)
		if (!area_read(at + 4 * i, &request[i]))
			return false;
	request_head++;
	return true;
}

/* serve is message without the times after a failure. */
static bool serve(void)
{
	if (entries == 0 || !flush() || !room() || !fetch())
		return false;
	handle();
	return flush();
}

bool message(void)
{
	uint32_t faults = counts[COUNTERS_OUT_MEMORY];
	bool more = serve();
	failed = counts[COUNTERS_OUT_MEMORY] != faults;
	if (failed && !retrying)
		retry_begin(&again);
	retrying = false;
	return more;
}

bool messages_retry(void)
{
	retrying = failed && retry_due(&again);
	return retrying;
}

uint32_t messages_due(void) { return failed ? retry_left(&again) : UINT32_MAX; }
