/* The program that gdb debugs. A store to RAISE raises or clears the software interrupt. */
#include <stdint.h>

#define RAISE (*(volatile uint32_t *)0x40000000)

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
	RAISE = 0;
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
	RAISE = 1;
	rounds++; /* after the interrupt */
}

int main(void)
{
	uint32_t step = 1;
	for (;;) {
		work(step);
		corner.color.r += 1;
	}
}
