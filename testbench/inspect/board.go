package inspect

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
)

// errRefused: an address whose read has an effect, or that has no register.
var errRefused = errors.New("inspect: not read")

const (
	// fresh is the age up to which a value is not read again, on links that are fast enough.
	// All clients share it.
	fresh = 400 * time.Millisecond

	// maxBurst is the longest read, in bytes, so that the accesses of the command wait little.
	maxBurst = 256
)

// A clock is the time by which values age and the budget is kept.
type clock struct {
	now   func() time.Duration
	sleep func(ctx context.Context, d time.Duration) error
}

// A burst is a run of registers that are next to each other, in bytes of BAR 0.
type burst struct {
	off uint32
	len int
}

// A word is the value of a register, and when it was read.
type word struct {
	value uint32
	at    time.Duration
}

// A board is a board that is open. It only reads, and no register whose read has an effect.
type board struct {
	link bus.Link
	twin boards.Twinned // nil: reads are accesses
	time clock

	turn    chan struct{}    // has an element while the board is in use; guards the fields below
	ctx     context.Context  // of the caller whose turn it is
	device  *regs.Function   // over view
	plan    map[uint32]burst // by the offset of each register; empty: the device is not known
	words   map[uint32]word
	samples map[uint32]*samples // by offset
	whole   uint64              // cost of a reading of all registers
	budget  budget
}

// newBoard returns the board of a link. Whoever watches the accesses of the command does not see
// those of the inspector.
func newBoard(link bus.Link, t clock) *board {
	for {
		w, ok := link.(interface{ Unwrap() bus.Link })
		if !ok {
			break
		}
		link = w.Unwrap()
	}
	b := &board{link: link, time: t, turn: make(chan struct{}, 1), words: map[uint32]word{}, samples: map[uint32]*samples{}}
	b.twin, _ = link.(boards.Twinned)
	return b
}

// enter waits for the turn of the caller, or for the end of ctx.
func (b *board) enter(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *board) leave() { <-b.turn }

// with calls do with the registers of the device, whose values are fresh. A failed link is
// identified anew, since the device may then be another one.
func (b *board) with(ctx context.Context, do func(*regs.Function) error) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.leave()
	b.ctx = ctx
	err := b.identify()
	if err == nil {
		err = do(b.device)
	}
	if errors.Is(err, bus.ErrLinkDown) {
		b.device, b.plan = nil, nil
	}
	return err
}

// identify reads the identity of the device, if it is not known, one register at a time.
func (b *board) identify() error {
	if b.device != nil {
		return nil
	}
	f, err := regs.Open(view{b}, regs.Options{})
	if err != nil {
		return err
	}
	b.device, b.plan, b.whole = f, plan(f.Names()), 0
	for off, run := range b.plan {
		if off == run.off {
			b.whole += cost(run.len)
		}
	}
	return nil
}

// usable reports whether a value need not be read again. On a slow link it lasts until the
// budget allows another reading of all registers.
func (b *board) usable(w word) bool {
	return b.time.now()-w.at < max(fresh, price(b.link, b.whole))
}

// plan merges registers that are next to each other and whose reads have no effect.
func plan(names *regs.Names) map[uint32]burst {
	all := map[uint32]burst{}
	var run burst
	end := func() {
		for i := 0; i < run.len; i += 4 {
			all[run.off+uint32(i)] = run
		}
		run = burst{}
	}
	for _, e := range names.Entries() {
		if (regs.Target{Entry: e}).ReadEffect() != "" {
			continue
		}
		if e.Off() != run.off+uint32(run.len) || run.len == maxBurst {
			end()
			run.off = e.Off()
		}
		run.len += 4
	}
	end()
	return all
}

// burst returns what to read for a register.
func (b *board) burst(off uint32) (burst, error) {
	if run, ok := b.plan[off]; ok {
		return run, nil
	}
	names := regs.AllNames()
	if b.device != nil {
		names = b.device.Names()
	}
	found, err := names.Find(fmt.Sprintf("@%#x", off))
	if err != nil {
		return burst{}, fmt.Errorf("%w: BAR 0 has no register at %#x", errRefused, off)
	}
	if effect := found[0].ReadEffect(); effect != "" {
		return burst{}, fmt.Errorf("%w: %s", errRefused, effect)
	}
	return burst{off, 4}, nil
}

// word returns the value of a register.
func (b *board) word(off uint32) (word, error) {
	if w, ok := b.words[off]; ok && b.usable(w) {
		return w, nil
	}
	run, err := b.burst(off)
	if err != nil {
		return word{}, err
	}
	p := make([]byte, run.len)
	if err := b.access(run.len, func(l bus.Link) error { return l.Read(0, uint64(run.off), p) }); err != nil {
		return word{}, err
	}
	at := b.time.now()
	for i := 0; i < len(p); i += 4 {
		off, v := run.off+uint32(i), binary.LittleEndian.Uint32(p[i:])
		b.words[off] = word{v, at}
		b.sampled(off, v, at)
	}
	return b.words[off], nil
}

// access makes an access of n bytes when the budget allows it.
func (b *board) access(n int, read func(bus.Link) error) (err error) {
	if b.twin != nil {
		b.twin.Twin(func(l bus.Link, _ func(uint64, []byte) error) { err = read(l) })
		return err
	}
	if d := b.budget.wait(b.time.now()); d > 0 {
		if err := b.time.sleep(b.ctx, d); err != nil {
			return err
		}
	}
	b.budget.take(b.link, b.time.now(), cost(n))
	return read(b.link)
}

// config reads a dword of configuration space.
func (b *board) config(off int) (v uint32, err error) {
	err = b.access(4, func(l bus.Link) (err error) {
		v, err = l.ReadConfig(off)
		return err
	})
	return v, err
}

// A view is the link of regs.Function: it only reads.
type view struct{ *board }

// Recording marks a link that must not be set up.
func (v view) Recording() string { return "the board" }

// ReadConfig implements bus.Link.
func (v view) ReadConfig(off int) (uint32, error) { return v.config(off) }

// Read implements bus.Link, for BAR 0.
func (v view) Read(_ int, off uint64, p []byte) error {
	for i := 0; i < len(p); i += 4 {
		w, err := v.word(uint32(off) + uint32(i))
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(p[i:], w.value)
	}
	return nil
}

// WriteConfig implements bus.Link. It always fails.
func (v view) WriteConfig(int, uint32) error { return bus.ErrUnsupported }

// Write implements bus.Link. It always fails.
func (v view) Write(int, uint64, []byte) error { return bus.ErrUnsupported }

// Close implements bus.Link.
func (v view) Close() error { return nil }

// wordsFrom returns the registers from an offset on.
func (b *board) wordsFrom(off uint32, n int) (all []uint32, age time.Duration, err error) {
	for i := range n {
		w, err := b.word(off + 4*uint32(i))
		if err != nil {
			return nil, 0, err
		}
		all, age = append(all, w.value), max(age, b.time.now()-w.at)
	}
	return all, age, nil
}
