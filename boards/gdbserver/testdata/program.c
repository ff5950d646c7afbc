/* The program that gdb debugs. RAISE raises the interrupt of the timer, and CLEAR clears it. */
#include <stdint.h>

#define COMPARE ((volatile uint32_t *)0x10000008)
#define RAISE (COMPARE[1] = 0)
#define CLEAR (COMPARE[1] = ~0u)

struct corner {
	int16_t x, y;
	char name[4];
	struct { uint8_t r, g, b, a; } color;
};

struct corner corner = {-3, 7, "top", {1, 2, 3, 255}};
volatile uint32_t interrupts, last_cause;
uint32_t total, rounds;

void handle(uint32_t cause)
{
	CLEAR;
	last_cause = cause;
	interrupts++; /* in the handler */
}

uint32_t add(uint32_t a, uint32_t b)
{
	uint32_t sum = a + b;
	return sum; /* the sum is known */
}

void work(uint32_t n)
{
	total = add(total, n);
	RAISE;
	rounds++; /* after the interrupt */
}

int main(void)
{
	uint32_t step = 1;
	COMPARE[0] = 0;
	for (;;) {
		work(step);
		corner.color.r += 1;
	}
}
