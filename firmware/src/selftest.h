/* The self-test of the hardware, at the boot and when the host asks for it. */
#pragma once

#include <stdint.h>

/* What a self-test has found: RESULT_READY in the stage LOOP, or the first test that failed. */
struct finding {
	uint32_t stage, result, detail0, detail1, detail2;
};

/* selftest tests what the start code has not tested, and writes each stage to CHECKPOINT. memory is the
   size of the memory in bytes, test is as in the mail word TEST. Interrupts are off afterwards, and the
   timer is not due. */
const struct finding *selftest(uint32_t memory, uint32_t test);

/* selftest_again is the request SELFTEST. */
uint32_t selftest_again(const uint32_t *in, uint32_t *out, uint32_t *length);

/* interrupt handles an interrupt of the self-test. cause is mcause. */
void interrupt(uint32_t cause);
