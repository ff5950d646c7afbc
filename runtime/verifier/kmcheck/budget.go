package kmcheck

import "time"

// Budgets of functions. The WDK gives 100 microseconds at DISPATCH_LEVEL and
// TdrDdiDelay, 5 seconds, for a thread in the driver. For the interrupt routine it
// says "as quickly as possible"; the number here is a common guideline.
const (
	interruptBudget = 25 * time.Microsecond
	dispatchBudget  = 100 * time.Microsecond
	passiveBudget   = 5 * time.Second // also of the functions that have no entry in budgets
)

// budgets are the budgets of the functions above PASSIVE_LEVEL.
var budgets = map[string]time.Duration{
	interruptRoutine:       interruptBudget,
	dpcRoutine:             dispatchBudget,
	"DxgkDdiSubmitCommand": dispatchBudget,
	synchronize:            interruptBudget, // of its function
}

// maxAccesses is the number of accesses to the device that one call may make, at
// any level. It ends an endless loop that polls the device.
const maxAccesses = 1 << 18

// minBudget is the least budget, in clocks. A device whose clock is slow takes as
// many clocks for an access as a fast one.
const minBudget = 2048

// An access counts as at most accessTime, so that a slow link, a time-out or an
// interrupt meanwhile is not charged to the function.
const accessTime = time.Microsecond

// clocks returns a time in clocks.
func (k *Checker) clocks(d time.Duration) uint64 {
	return uint64(d.Seconds() * float64(k.o.Hz))
}

// isAccess reports whether a callback accesses the device.
func isAccess(name string) bool {
	switch name {
	case "READ_REGISTER_ULONG", "WRITE_REGISTER_ULONG", "DxgkCbReadDeviceSpace", "DxgkCbWriteDeviceSpace":
		return true
	}
	return false
}

// beginAccess notes when an access begins.
func (k *Checker) beginAccess(fr *frame) {
	if k.o.Now != nil && isAccess(fr.f.Name) {
		fr.began = k.o.Now()
	}
}

// endAccess charges an access to the function that made it, and to the function of
// SynchronizeExecution that did.
func (k *Checker) endAccess(fr *frame) {
	if k.o.Now == nil || !isAccess(fr.f.Name) {
		return
	}
	took := min(k.o.Now()-fr.began, max(k.clocks(accessTime), 1))
	for in := fr.caller; in != nil; in = in.caller {
		over := in.charge(took) && k.checkBudget(in)
		if !in.f.Callback {
			return
		}
		for c := in.caller; over && c != nil; c = c.caller {
			c.over = true // one mistake
		}
	}
}

// charge charges an access to a function, or to the one that a callback runs. It
// reports whether the budget has not been exceeded yet.
func (fr *frame) charge(took uint64) bool {
	fr.accesses++
	fr.spent += took
	return !fr.over
}

// checkBudget checks the budget of a function and reports whether it is exceeded.
func (k *Checker) checkBudget(fr *frame) bool {
	budget, ok := budgets[fr.f.Name]
	if !ok {
		budget = passiveBudget
	}
	limit, what := max(k.clocks(budget), minBudget), "has"
	if fr.f.Callback {
		what = "the function has"
	}
	switch {
	case fr.accesses > maxAccesses:
		k.fail(fr, "call-budget", "%s accessed the device more than %d times", what, maxAccesses)
	case fr.spent > limit:
		k.fail(fr, "call-budget", "%s spent %d clocks on %d accesses to the device, want at most %d clocks (%v)", what, fr.spent, fr.accesses, limit, budget)
	default:
		return false
	}
	fr.over = true
	return true
}
