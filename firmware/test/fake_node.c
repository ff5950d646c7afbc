#include <string.h>

#include "fake.h"

struct fake_nodes fakes;

void reset_node(void)
{
	memset(&fakes, 0, sizeof fakes);
	fakes.owner = 3;
	fakes.size = 0x4001;
	fakes.base = 0x100000;
	fakes.caps = 0x06000002, fakes.caps2 = 2;
	for (int i = 0; i < 64; i++)
		fakes.node[0].trace[i] = 0x7000u + (uint32_t)i;
}

bool of_node(uint32_t at)
{
	return at == 0x20000008 || at == 0x20000048 || at == 0x2000004c || at == 0x10000018 || at == 0x10000020 || at == 0x10000024 || at == 0x20000400 || at == 0x20000404 ||
		(at >= 0x20000680 && at < 0x20000690) || (at >= 0x20001000 && at < 0x20001400) || (at >> 28) == 8 || (at >> 28) == 15;
}

bool node_refuses(uint32_t at)
{
	if ((at >> 28) == 8)
		return (at & 0xfffffff) >= (fakes.size & 0x1ffffffc);
	if ((at >> 28) == 15)
		return fakes.free[1] != 0 || fakes.free[0] < 0x10000 || fakes.free[0] + (at & 0xff) >= 0x10000 + 4 * RING_WORDS;
	if (at >= 0x20001200 && at < 0x20001400)
		return fakes.no_trace;
	if (at == 0x2000004c)
		return fakes.no_timeout;
	return fakes.locked && at >= 0x20001000 && at < 0x20001200;
}

/* node_register reads a register of a node. */
static uint32_t node_register(struct fake_node *n, uint32_t at)
{
	if ((at & 0xff) == 0 && n->vanishes != 0 && --n->vanishes == 0)
		memset(n->regs, 0, sizeof n->regs);
	return n->regs[at / 4 % 64];
}

uint32_t node_loads(uint32_t at)
{
	if (at >= 0x20001200 && at < 0x20001400)
		return fakes.node[at >> 8 & 1].trace[at / 4 % 64];
	if (at >= 0x20001000 && at < 0x20001200)
		return node_register(&fakes.node[at >> 8 & 1], at);
	switch (at) {
	case 0x10000018:
		return fakes.chosen;
	case 0x20000008:
		return fakes.caps;
	case 0x20000048:
		return fakes.caps2;
	case 0x2000004c:
		return fakes.timeout;
	case 0x20000400:
		return fakes.events;
	case 0x20000404:
		return fakes.owner;
	case 0x20000680:
		return fakes.base;
	case 0x20000684:
		return 0;
	case 0x20000688:
		return fakes.size;
	}
	if ((at >> 28) == 8)
		return fakes.ring[(at & 0xffff) / 4];
	return fakes.host[(fakes.free[0] - 0x10000 + (at & 0xff)) / 4];
}

/* control writes CTL. A reset ends at once unless the node is stuck. */
static void control(struct fake_node *n, uint32_t value)
{
	if (!(value & 2)) {
		fakes.runs += value & ~n->regs[0] & 1;
		n->regs[0] = value;
		return;
	}
	memset(n->regs, 0, sizeof n->regs);
	n->regs[1] = 1;
	n->regs[0] = n->stuck ? 2 : 0;
}

void node_stores(uint32_t at, uint32_t value)
{
	if (at >= 0x20001000 && at < 0x20001200) {
		struct fake_node *n = &fakes.node[at >> 8 & 1];
		if ((at & 0xff) == 0) {
			control(n, value);
			return;
		}
		n->regs[at / 4 % 64] = value;
		if ((at & 0xff) == 0x50 && !n->silent) {
			n->regs[0x54 / 4] = value;
			n->regs[0] &= ~1u;
		}
	} else if ((at >> 28) == 8) {
		fakes.ring[(at & 0xffff) / 4] = value;
	} else if (at == 0x20000400) {
		fakes.events &= ~value;
	} else if (at == 0x10000018) {
		fakes.chosen = value;
	} else if (at == 0x10000020) {
		fakes.free[0] = value;
	} else if (at == 0x10000024) {
		fakes.free[1] = value;
	}
}
