// Package hdl has the primitives of register-transfer logic: memories, FIFOs and
// assertions. Everything else in a block is plain Go values.
//
// A primitive follows the rules of every block: Out is a function of the
// registers only, Tick is one rising clock edge, and Reset sets registers but
// never memories.
package hdl

// Asleep returns quiet, which the caller sets if work can be skipped. A parent
// may skip the Tick of a block whose Sleeps reports that nothing would change. A
// block may skip part of its Tick. A function may return anything if its result
// is not used. This only speeds up the emulator: in synthesis Asleep is false and
// quiet is not evaluated. Lockstep checks that quiet is right, because it
// compares a skipped Tick with one that never is. Asleep is also false in a build
// with the tag awake.
func Asleep(quiet bool) bool { return quiet && sleeps }

// A Nap stores the result of Asleep at the end of a Tick, for the next Tick.
// Usually it records whether only an input can wake the block; the next Tick then
// calls Asleep with the Nap and the absence of inputs. Use one where computing
// the condition costs more than reading the Nap. A Nap is not state: a Snapshot
// does not include it, Restore wakes the block, and in synthesis it is a
// constant.
type Nap bool

// Assert panics if cond is false: one of our own blocks broke a protocol. Nothing
// that the host or software can cause may be an assertion. Synthesis drops it.
func Assert(cond bool, text string) {
	if !cond {
		panic("hdl: assertion failed: " + text)
	}
}
