// Package hdl holds what register-transfer logic is written with: memories,
// FIFOs and assertions. Everything else in a block is plain values.
//
// A primitive follows the rules of every block: Out is a function of the
// registers alone, Tick is one rising clock edge, Reset sets registers and
// never memories.
package hdl

// Asleep returns quiet: a parent may leave out the Tick of a block whose Sleeps says
// that nothing would change, a block a part of its Tick, and a function may return
// anything if nobody looks; that spares the emulation the work. Hardware has nothing to spare: in
// synthesis it is false, and quiet is not looked at. That quiet is right is for
// lockstep to show, which compares a Tick that was left with one that never is. In a
// build with the tag awake it is false, too.
func Asleep(quiet bool) bool { return quiet && sleeps }

// A Nap is what Asleep returned at the end of a Tick, for the next one: mostly whether
// only an input could wake the block, which asks Asleep again then with what tells that
// no input has.
// Work it out once, with Asleep, where that costs more than to look at it. It is
// no state: a Snapshot has no word for it, Restore wakes the block, and in
// synthesis it is a constant.
type Nap bool

// Assert stops the simulation if cond is false: one of our own blocks broke a
// protocol. What the host or software can cause is never an assertion. It is
// dropped in synthesis.
func Assert(cond bool, text string) {
	if !cond {
		panic("hdl: assertion failed: " + text)
	}
}
