package dxgkrnl

import (
	"cmp"
	"slices"
)

// Priorities of contexts (D3DKMT_SETCONTEXTSCHEDULINGPRIORITY). Paging buffers and what the
// kernel draws are of the system class, above all of them.
const (
	MinPriority = -7
	MaxPriority = 7

	systemPriority = MaxPriority + 1
)

// Defaults of Config, as parts of a second.
const (
	quantumsPerSecond = 1000
	agingQuantums     = 16
)

// rank gives each context that has work its level.
func (k *Kernel) rank() {
	k.able = k.able[:0]
	for _, d := range k.devices {
		for _, c := range d.contexts {
			if c.runs() {
				c.level = k.levelOf(c)
				k.able = append(k.able, c)
			}
		}
	}
	if len(k.able) > 1 {
		for _, c := range k.able {
			k.lift(c, c.level)
		}
	}
}

// candidates returns the contexts of a node that have work, in the order in which they
// may go. A higher level goes first. Contexts of one level take turns of a quantum each;
// in one turn the older work goes first.
func (k *Kernel) candidates(n *node) []*context {
	list := k.picked[:0]
	for _, c := range k.able {
		if c.line.node == n {
			list = append(list, c)
		}
	}
	k.picked = list
	if len(list) > 1 {
		slices.SortStableFunc(list, func(a, b *context) int {
			return cmp.Or(cmp.Compare(b.level, a.level), cmp.Compare(a.used/k.quantum, b.used/k.quantum), cmp.Compare(a.oldest(), b.oldest()))
		})
	}
	return list
}

// waits reports whether a context has work that is not in the hardware.
func (c *context) waits() bool { return len(c.jobs) > 0 || len(c.pending) > 0 }

// runs reports whether a context has work that is not in the hardware and may go there.
func (c *context) runs() bool { return c.waits() && !c.device.removed.Failed() }

// first returns the job of the first work that waits.
func (c *context) first() *job {
	if len(c.pending) > 0 {
		return c.pending[0].job
	}
	return c.jobs[0]
}

// holds reports whether a part of a job is made, but not in the hardware.
func (c *context) holds(j *job) bool {
	return slices.ContainsFunc(c.pending, func(s *submission) bool { return s.job == j })
}

// oldest returns the number of the first job that waits.
func (c *context) oldest() uint64 { return c.first().id }

// levelOf returns the priority of a context, which rises by 1 for each period that its
// work has waited, so that no context starves.
func (k *Kernel) levelOf(c *context) int {
	if c.device.system {
		return systemPriority
	}
	waited := k.dev.Now() - min(max(c.first().at, c.turn), k.dev.Now())
	return min(MaxPriority, c.priority+int(min(waited/(agingQuantums*k.quantum), MaxPriority-MinPriority)))
}

// lift raises the level of the contexts that the work of c waits for: a context of low
// priority does not hold up one of high priority longer than its own work takes.
func (k *Kernel) lift(c *context, level int) {
	if c.level < level {
		c.level = level
	}
	if len(c.pending) > 0 {
		for _, m := range c.pending[0].waits {
			if o := m.line.context; o != nil && !m.completed() && !m.running() && o.waits() && o.level < level {
				k.lift(o, level)
			}
		}
		return
	}
	for _, e := range c.jobs[0].after {
		if o := e.job.dma.context; (e.waits() || o.holds(e.job)) && o.level < level {
			k.lift(o, level)
		}
	}
}

// charge adds the time that a submission took to the account of its context.
func (k *Kernel) charge(s *submission, now uint64) {
	if c := s.line.context; c != nil {
		c.used += now - min(s.began, now)
		c.turn = now
		c.line.node.floor = max(c.line.node.floor, k.least(c))
	}
}

// least returns the least ticks that c, or a context that has work for its node, has used.
func (k *Kernel) least(c *context) uint64 {
	least := c.used
	for _, d := range k.devices {
		for _, o := range d.contexts {
			if o.line.node == c.line.node && !o.idle() {
				least = min(least, o.used)
			}
		}
	}
	return least
}

// wake is called when a context gets work after it had none. It does not keep time that it
// did not use, also if the others have no work at the moment.
func (k *Kernel) wake(c *context) { c.used = max(c.used, c.line.node.floor) }
