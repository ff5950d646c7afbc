/* A program with all kinds of data: bytes, halves, words, signs, structures, pointers to
 * functions, recursion, tables and 64 bits. The test runs it on the core and on the PC. */
#include "programs.h"

struct item {
	int8_t kind;
	uint16_t size;
	int32_t weight;
	struct item *next;
};

static struct item items[12];
static const char text[] = "a fence after the data";
static uint8_t bytes[64];
static volatile uint32_t seed = 12345;

static uint32_t next(void)
{
	seed = seed ^ seed << 13;
	seed = seed ^ seed >> 17;
	seed = seed ^ seed << 5;
	return seed;
}

static uint32_t crc(const uint8_t *p, uint32_t n)
{
	uint32_t c = ~0u;
	while (n--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
	}
	return ~c;
}

static int32_t by_weight(const struct item *a, const struct item *b) { return a->weight < b->weight; }
static int32_t by_size(const struct item *a, const struct item *b) { return a->size > b->size; }

static struct item *sort(struct item *list, int32_t (*before)(const struct item *, const struct item *))
{
	struct item *out = 0;
	while (list) {
		struct item *it = list, **at = &out;
		list = list->next;
		while (*at && !before(it, *at))
			at = &(*at)->next;
		it->next = *at;
		*at = it;
	}
	return out;
}

static uint32_t ackermann(uint32_t m, uint32_t n)
{
	if (m == 0)
		return n + 1;
	return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static uint32_t classify(uint32_t v)
{
	switch (v & 7) {
	case 0: return v >> 3;
	case 1: return v << 2;
	case 2: return (uint32_t)((int32_t)v >> 5);
	case 3: return v ^ 0x5a5a5a5au;
	case 5: return v - 77;
	case 6: return (uint32_t)-(int32_t)v;
	default: return ~v;
	}
}

int main(void)
{
	struct item *list = 0;
	uint64_t wide = 1;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 12; i++) {
		uint32_t v = next();
		items[i] = (struct item){(int8_t)v, (uint16_t)(v >> 8), (int32_t)(v << 7), list};
		list = &items[i];
	}
	list = sort(list, by_weight);
	for (struct item *it = list; it; it = it->next)
		put((uint32_t)it->weight);
	list = sort(list, by_size);
	for (struct item *it = list; it; it = it->next)
		put((uint32_t)it->size << 16 | (uint8_t)it->kind);
	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(text[i % (sizeof text - 1)] + i);
	for (uint32_t i = 0; i < sizeof bytes; i += 7)
		put(crc(bytes, i));
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t v = next();
		sum = (sum << 3 | sum >> 29) + classify(v);
		wide = (wide << (v & 31)) + v - (wide >> 60);
		wide ^= (uint64_t)((int64_t)wide >> (v >> 27));
	}
	put(sum);
	put((uint32_t)wide);
	put((uint32_t)(wide >> 32));
	put(ackermann(2, 3));
	for (uint32_t i = 1; i < 6; i++) {
		uint32_t a = next(), b = next() >> (4 * i);
		put(a * b);
		put(a / (b | 1));
		put((uint32_t)((int32_t)a % (int32_t)(b | 1)));
	}
	return 0;
}
