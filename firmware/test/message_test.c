/* Tests of the messages on the PC. The program is never restarted here: its heads and tails continue. */

#include <string.h>

#include "fake.h"
#include "hw.h"
#include "message.h"
#include "telemetry.h"

#define WORD(offset) hw.area[(offset) / 4]
#define REQUEST_TAIL WORD(0x20)
#define ANSWER_HEAD WORD(0x24)
#define REQUEST_HEAD WORD(0x40)
#define ANSWER_TAIL WORD(0x44)

/* Status of an answer, in its head. */
#define STATUS(n) ((n) << 16)

uint32_t answers_taken;
static uint32_t sent, sequence;

void open_messages(void)
{
	hw.open = true;
	WORD(0) = 0x414d4c48;
	WORD(4) = 1;
	WORD(8) = 2;
	REQUEST_TAIL = sent;
	ANSWER_HEAD = answers_taken;
	REQUEST_HEAD = sent;
	ANSWER_TAIL = answers_taken;
	hw.mail[7] = 0xb01db01d;
}

/* open_area resets the hardware, and makes an area. */
static void open_area(void)
{
	reset(64);
	(void)open_messages();
}

/* post writes a request. Dword i of its payload is 0xa0 + i, but the first two. */
static void post(uint32_t number, uint32_t head, uint32_t first, uint32_t second)
{
	uint32_t at = 0x1000 + (sent++ & 3) * 64;
	WORD(at) = number;
	WORD(at + 4) = head;
	for (uint32_t i = 0; i < 14; i++)
		WORD(at + 8 + 4 * i) = 0xa0 + i;
	WORD(at + 8) = first;
	WORD(at + 12) = second;
	REQUEST_TAIL = sent;
}

/* serve calls message until it waits, and returns how many requests it has handled. */
static uint32_t serve(void)
{
	uint32_t n = 0;
	while (message())
		n++;
	return n;
}

/* take checks the next answer, and returns the offset of its payload. */
static uint32_t take(const char *name, uint32_t number, uint32_t head)
{
	uint32_t at = 0x2000 + (answers_taken++ & 3) * 64;
	equal(name, "answers", ANSWER_TAIL - (answers_taken - 1) != 0, 1);
	equal(name, "sequence", WORD(at), number);
	equal(name, "head", WORD(at + 4), head);
	ANSWER_HEAD = answers_taken;
	return at + 8;
}

/* answers checks that a request has an answer with a status and no payload. */
static void answers(const char *name, uint32_t number, uint32_t head, uint32_t status)
{
	post(number, head, 1, 2);
	equal(name, "handled", serve(), 1);
	take(name, number, (head & 0xff) | STATUS(status));
	equal(name, "head of the requests", REQUEST_HEAD, sent);
	equal(name, "tail of the answers", ANSWER_TAIL, answers_taken);
}

/* count returns a count of COUNTERS. */
static uint32_t count(uint32_t i)
{
	post(++sequence, 3, 0, 0);
	serve();
	return WORD(take("COUNTERS", sequence, 0x3403) + 4 * i);
}

static void test_begin(void)
{
	reset(64);
	equal("no area", "begin", messages_begin(), 0);
	equal("no area", "message", message(), 0);
	open_area();
	WORD(0) = 0x484c4d41;
	equal("magic", "begin", messages_begin(), 0);
	open_area();
	WORD(4) = 2;
	equal("version", "begin", messages_begin(), 0);
	open_area();
	WORD(8) = 7;
	equal("rings", "begin", messages_begin(), 0);
	equal("rings", "message", message(), 0);
	for (uint32_t at = 0; at < 12; at += 4) {
		open_area();
		hw.broken = AREA + at;
		equal("a header that refuses", "begin", messages_begin(), 0);
	}
	open_area();
	equal("area", "begin", messages_begin(), 1);
}

static void test_session(void)
{
	uint32_t at;
	answers("before HELLO", 1, 0x0402, 5);
	answers("HELLO of another version", 1, 0x0801 | 0x100, 3);
	post(9, 0x0801, 2, 7);
	serve();
	take("HELLO of another version", 9, 1 | STATUS(6));
	answers("a refused HELLO begins no session", 1, 0x0402, 5);
	post(77, 0x0801, 1, 7);
	serve();
	at = take("HELLO", 77, 0x0c01);
	equal("HELLO", "version", WORD(at), 1);
	equal("HELLO", "build", WORD(at + 4), 0xb01db01d);
	equal("HELLO", "limits", WORD(at + 8), 0x00380610);
	equal("HELLO", "raises", hw.raises, 5);
	equal("HELLO", "raised", hw.raised, 4);
}

static void test_errors(void)
{
	sequence = 0;
	answers("sequence 0", 0, 0x0402, 4);
	answers("a later sequence", 2, 0x0402, 4);
	answers("an unknown op", ++sequence, 0x00ff, 1);
	answers("a notice is no request", ++sequence, 0x0c40, 1);
	answers("reserved bits", ++sequence, 0x01000003, 6);
	answers("a status", ++sequence, 0x00800003, 6);
	answers("short", ++sequence, 0x0304, 2);
	answers("long", ++sequence, 0x0103, 3);
	answers("a PING that is too long", ++sequence, 0x3902, 3);
	answers("the same sequence", sequence, 0x0402, 4);
	answers("the longest of all", ++sequence, 0xff02, 3);
}

static void test_ping(void)
{
	for (uint32_t bytes = 0; bytes <= 56; bytes++) {
		uint32_t at;
		memset(&WORD(0x2000), 0xee, 256);
		post(++sequence, 2 | bytes << 8, 0xa0, 0xa1);
		equal("PING", "handled", serve(), 1);
		at = take("PING", sequence, 2 | bytes << 8);
		for (uint32_t i = 0; i < 14; i++)
			equal("PING", "payload", WORD(at + 4 * i), 4 * i < bytes ? 0xa0 + i : 0xeeeeeeee);
	}
}

/* Requests wait while the ring of answers is full. */
static void test_full(void)
{
	for (int i = 0; i < 4; i++)
		post(++sequence, 2, 0, 0);
	equal("full", "handled", serve(), 4);
	for (int i = 0; i < 4; i++)
		post(++sequence, 2, 0, 0);
	equal("full", "handled without room", serve(), 0);
	take("full", sequence - 7, 2);
	equal("full", "handled with room for one", serve(), 1);
	for (int i = 6; i >= 4; i--)
		take("full", sequence - (uint32_t)i, 2);
	equal("full", "handled with room", serve(), 3);
	for (int i = 3; i >= 0; i--)
		take("full", sequence - (uint32_t)i, 2);
}

/* Tails of the host that are too far away change nothing, and are counted. */
static void test_tails(void)
{
	uint32_t before = count(10);
	REQUEST_TAIL = sent + 5;
	equal("tail", "handled", serve(), 0);
	REQUEST_TAIL = sent - 1;
	equal("tail behind", "handled", serve(), 0);
	REQUEST_TAIL = sent;
	ANSWER_HEAD = answers_taken + 1;
	post(++sequence, 2, 0, 0);
	equal("head", "handled", serve(), 0);
	ANSWER_HEAD = answers_taken;
	equal("tails", "handled", serve(), 1);
	take("tails", sequence, 2);
	equal("tails", "count", count(10), before + 3);
}

/* An access that fails is repeated at the next doorbell, and no answer is lost or repeated. */
static void test_memory(void)
{
	static const uint32_t offsets[] = {0x20, 0x24, 0x40, 0x44};
	uint32_t before = count(11), failed = 0;
	for (uint32_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
		post(++sequence, 0x0402, 5, 0);
		hw.broken = AREA + offsets[i];
		serve(), failed++;
		hw.broken = 1;
		serve();
		equal("memory", "payload", WORD(take("memory", sequence, 0x0402)), 5);
		equal("memory", "tail", ANSWER_TAIL, answers_taken);
		equal("memory", "head", REQUEST_HEAD, sent);
	}
	for (uint32_t i = 0; i < 3; i++) {
		post(++sequence, 0x0402, 5, 0);
		hw.broken = AREA + (i == 0 ? 0x1000 + ((sent - 1) & 3) * 64 + 60 : 0x2000 + (answers_taken & 3) * 64 + 8 * (i - 1));
		equal("entry", "handled", serve(), 0);
		failed++;
		hw.broken = 1;
		serve();
		equal("entry", "payload", WORD(take("entry", sequence, 0x0402)), 5);
	}
	equal("memory", "count", count(11), before + failed);
}

/* A notice that host memory refuses is tried again at times that get longer, and at the next notice anew. */
static void test_notice_retries(void)
{
	uint32_t due = 256, step = hw.step;
	hw.step = 0;
	hw.broken = 0x90000024;
	for (int anew = 0; anew < 2; anew++, due = 256) {
		notice(64, 1, 2, 3);
		equal("notice retries", "refused", serve(), 0);
		for (int tries = 0; tries < 16; tries++, due *= 2) {
			equal("notice retries", "due", messages_due(), due);
			hw.time += due - 1;
			equal("notice retries", "not yet", messages_retry(), 0);
			hw.time++;
			equal("notice retries", "now", messages_retry(), 1);
			serve();
		}
		equal("notice retries", "an end", messages_due(), 0xffffffff);
	}
	hw.broken = 1;
	serve();
	equal("notice retries", "nothing left", messages_due(), 0xffffffff);
	equal("notice retries", "no try", messages_retry(), 0);
	for (int i = 0; i < 2; i++) {
		(void)take("notice", 0, 0x0c40);
		serve();
	}
	hw.step = step;
}

static void test_notices(void)
{
	for (uint32_t i = 0; i < 34; i++)
		notice(64, i, 2, 3);
	equal("notices", "handled", serve(), 0);
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t at = take("notice", 0, 0x0c40);
		equal("notice", "first", WORD(at), i);
		equal("notice", "third", WORD(at + 8), 3);
		serve();
	}
	equal("notices", "tail", ANSWER_TAIL, answers_taken);
	equal("notices", "lost", count(12), 2);
	notice(64, 1, 2, 3);
	for (int i = 0; i < 4; i++)
		notice(64, 1, 2, 3);
	serve();
	post(5, 0x0801, 1, 7);
	for (int i = 0; i < 4; i++)
		take("notice before HELLO", 0, 0x0c40);
	equal("HELLO after notices", "handled", serve(), 1);
	take("a notice from before HELLO", 0, 0x0c40);
	take("HELLO", 5, 0x0c01);
	sequence = 0;
	answers("HELLO begins anew", 5, 0x0402, 4);
	equal("HELLO", "answers with OK since the start", count(0) > 70, 1);
}

/* A line has its number, its format, the time and its arguments. */
static void test_log(void)
{
	uint32_t tail = WORD(0x48), lost, at = 0x3000 + (tail & 127) * 32;
	hw.time = 0x500000000;
	WORD(0x28) = tail;
	answers("an error", ++sequence, 0x00ff, 1);
	equal("log", "tail", WORD(0x48), tail + 1);
	equal("log", "head of the line", WORD(at + 4), 0x11234);
	equal("log", "time", WORD(at + 12), 5);
	equal("log", "first argument", WORD(at + 16), sequence);
	equal("log", "second argument", WORD(at + 20), 255);
	equal("log", "third argument", WORD(at + 24), 1);
	equal("log", "text", (uint32_t)strcmp(hw.text, "request %u: op %u, status %u"), 0);
	lost = WORD(0x4c);
	WORD(0x28) = tail + 1 - 128;
	answers("a full log", ++sequence, 0x00ff, 1);
	equal("a full log", "tail", WORD(0x48), tail + 1);
	equal("a full log", "lost", WORD(0x4c), lost + 1);
	WORD(0x28) = tail + 1;
	hw.broken = AREA + 0x3000 + ((tail + 1) & 127) * 32;
	answers("a line that is refused", ++sequence, 0x00ff, 1);
	equal("a line that is refused", "lost", WORD(0x4c), lost + 2);
	hw.broken = 1;
	answers("a level", ++sequence, 0x0404, 0);
	post(++sequence, 0x0404, 4, 0);
	serve();
	take("a level that is too high", sequence, 4 | STATUS(6));
}

/* A sample is taken when it is due. The timer is off after one without work, until a doorbell. */
static void test_telemetry(void)
{
	uint32_t tail = WORD(0x50), at = 0x4000 + (tail & 63) * 64;
	hw.step = 0;
	hw.time = 0x700000000;
	equal("telemetry", "off", telemetry_due(), 0xffffffff);
	post(++sequence, 0x0405, 1023, 0);
	serve();
	take("a short period", sequence, 5 | STATUS(6));
	hw.broken = 0x20000200;
	post(++sequence, 0x0405, 1024, 0);
	serve();
	take("a locked block", sequence, 5 | STATUS(8));
	hw.broken = 1;
	post(++sequence, 0x0405, 2000, 0);
	serve();
	take("telemetry", sequence, 5);
	equal("telemetry", "due", telemetry_due(), 2000);
	hw.time += 1999;
	telemetry_serve(false);
	equal("telemetry", "before", WORD(0x50), tail);
	equal("telemetry", "due soon", telemetry_due(), 1);
	hw.time++, hw.perf = 100;
	equal("telemetry", "due now", telemetry_due(), 0);
	telemetry_serve(false);
	equal("telemetry", "tail", WORD(0x50), tail + 1);
	equal("telemetry", "time", WORD(at + 8), 2000);
	equal("telemetry", "high half", WORD(at + 12), 7);
	equal("telemetry", "busy clocks of node 0", WORD(at + 24), 0x20000220 + 100);
	equal("telemetry", "bytes of node 1", WORD(at + 48), 0x20000280 + 100);
	equal("telemetry", "next", telemetry_due(), 2000);
	WORD(0x2c) = WORD(0x50) - 64;
	hw.time += 2000;
	telemetry_serve(false);
	equal("telemetry", "lost", WORD(0x54), 1);
	equal("telemetry", "asleep", telemetry_due(), 0xffffffff);
	hw.time += 5000;
	telemetry_serve(false);
	equal("telemetry", "no sample in its sleep", WORD(0x54), 1);
	telemetry_serve(true);
	equal("telemetry", "awake", telemetry_due(), 2000);
	WORD(0x2c) = WORD(0x50);
	hw.time += 2000, hw.perf = 101, hw.broken = 0x20000260;
	telemetry_serve(false);
	equal("telemetry", "a node that is not there", WORD(at + 64 + 40), 0);
	post(++sequence, 0x0405, 0, 0);
	hw.broken = 1;
	serve();
	take("telemetry", sequence, 5);
	equal("telemetry", "off", telemetry_due(), 0xffffffff);
}

/* Requests of nodes and queues that do not exist reach their handlers, which refuse the number. */
static void test_numbers(void)
{
	static const uint32_t ops[][2] = {{16, 12}, {17, 4}, {18, 36}, {19, 4}, {20, 4}, {21, 4}, {22, 4}, {23, 4}, {24, 4}};
	for (uint32_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		post(++sequence, ops[i][0] | ops[i][1] << 8, 99, 0);
		serve();
		take("a number out of range", sequence, ops[i][0] | STATUS(6));
	}
}

/* asks sends SELFTEST and checks its answer: the stage, the result and the details. */
static void asks(const char *name, uint32_t test, uint32_t stage, uint32_t result, uint32_t detail0, uint32_t detail1, uint32_t detail2)
{
	uint32_t at;
	post(++sequence, 0x0406, test, 0);
	equal(name, "handled", serve(), 1);
	at = take(name, sequence, 0x1406);
	equal(name, "stage", WORD(at), stage);
	equal(name, "result", WORD(at + 4), result);
	equal(name, "detail 0", WORD(at + 8), detail0);
	equal(name, "detail 1", WORD(at + 12), detail1);
	equal(name, "detail 2", WORD(at + 16), detail2);
	equal(name, "checkpoint", hw.mail[0], 7);
	equal(name, "interrupts that wake", hw.enabled, 0x888);
	equal(name, "the timer is not due", (uint32_t)(hw.compare & hw.compare >> 32), 0xffffffff);
}

/* The self-test runs again. The mail words of the boot keep their values. */
static void test_selftest(void)
{
	static const uint32_t bad[] = {1, 2, 64, 1u << 29 | 64};
	open_area();
	hw.mail[1] = 0x59444552;
	asks("as at the boot", 0, 7, 0x59444552, 0, 0, 0);
	equal("as at the boot", "words of 64 bytes", hw.words, 6);
	hw.mail[6] = 4u << 29 | 64 | 1;
	asks("another window", 3u << 29 | 64, 7, 0x59444552, 0, 0, 0);
	hw.mail[6] = 1;
	asks("no window at the boot", 0, 7, 0x59444552, 0, 0, 0);
	hw.silent = 0x20000000;
	asks("a silent bus", 0, 3, 4, 0x20000000, 0, 0x47504c48);
	hw.silent = 1, hw.late = true;
	post(++sequence, 0x0406, 0, 0);
	serve();
	equal("late", "result", WORD(take("late", sequence, 0x1406) + 4), 14);
	hw.late = false;
	asks("after failures", 0, 7, 0x59444552, 0, 0, 0);
	equal("result of the boot", "result", hw.mail[1], 0x59444552);
	for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		post(++sequence, 0x0406, bad[i], 0);
		serve();
		take("bad window", sequence, 6 | STATUS(6));
	}
	hw.mail[6] = 1u << 29 | 64;
	post(++sequence, 0x0406, 0, 0);
	serve();
	take("a boot that tested the message area", sequence, 6 | STATUS(6));
}

void test_messages(void)
{
	test_begin();
	test_session();
	test_errors();
	test_ping();
	test_full();
	test_tails();
	test_memory();
	test_notice_retries();
	test_notices();
	test_log();
	test_telemetry();
	test_numbers();
	test_selftest();
}
