package stress

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/inject"
)

// A device has at least minPieces resources, of equal sizes in bytes.
const (
	minPieces = 8
	minPiece  = 1 << 10
	maxPiece  = 64 << 10
)

// bench is a run.
type bench struct {
	Options
	sys      *testbench.System
	injector *inject.Injector
	spoil    *spoiler
	judge    *judge
	claims   claims

	processes []*process
	piece     int // bytes of a resource
	pieces    int // of a device
	round     int // from 1; 0: the baseline
	done      int // frames of the round
	calm      bool
	totals    Totals
	tdr       uint64 // time-out of a node in clocks; 0: the time of the board is not counted in clocks
	aborted   uint64 // devices that were lost with the work of a node
	memory    uint64 // of the PC, in use without devices
	maxLength uint64 // bytes that a packet moves at most; 0: nothing is to hang
	failed    error  // the first failure
	told      bool   // Options.Failed was called
}

// open opens the board and prepares the processes.
func open(o Options) (*bench, error) {
	b := &bench{Options: o, injector: new(inject.Injector)}
	b.judge = newJudge(b)
	b.spoil = newSpoiler(b)
	b.Contexts = max(b.Contexts, 1)
	s := o.System
	s.Inject, s.Seed, s.TdrLimit = b.injector, o.Seed, -1
	if b.tdr, _, _ = o.timeOut(); b.tdr != 0 {
		s.TdrDelay = b.tdr
	}
	err := b.openSystem(s)
	if err != nil {
		return nil, err
	}
	share := int(o.Pressure * float64(b.sys.MemoryBytes()) / float64(o.Processes))
	b.piece = min(max(minPiece, share/minPieces), maxPiece)
	b.pieces = max(minPieces, share/b.piece)
	if err = b.checkFaults(); err == nil {
		err = b.prepareHangs()
	}
	if err != nil {
		b.sys.Close() // err is the reason to close: a link that is down fails Close too, and no run has begun that Close could judge
		return nil, err
	}
	for i := range o.Processes {
		b.processes = append(b.processes, &process{
			bench: b, number: i, system: b.sys.NewProcess(), rand: rand.New(rand.NewPCG(o.Seed, uint64(i))), frames: sha256.New(),
			spread: rand.New(rand.NewPCG(o.Seed, uint64(i)|1<<33)),
		})
	}
	b.sys.RefuseMemory(b.refuses)
	return b, b.baseline()
}

// openSystem opens the board, and then passes on what the miniport has logged, except what the error already says.
func (b *bench) openSystem(o testbench.Options) (err error) {
	log, release := hold(o.Log)
	o.Log = log
	defer func() { release(err) }()
	b.sys, err = testbench.Open(b.Board, b.spoil.drivers(b.Drivers), o)
	return err
}

// baseline runs round 0, without injections, closes the devices and notes the memory that is in
// use afterwards. Options.Progress gets the round only if it fails.
func (b *bench) baseline() error {
	b.calm = true
	err := b.next()
	if err == nil {
		b.close()
		err = b.sys.WaitForIdle()
	}
	if err != nil {
		b.tell(err)
		if b.Progress != nil {
			err = errors.Join(err, b.Progress(b.state()))
		}
		if cerr := b.sys.Close(); !errors.Is(err, cerr) {
			err = errors.Join(err, cerr)
		}
		return err
	}
	b.memory = b.sys.MemoryInUse()
	b.totals = Totals{}
	return nil
}

// close closes all devices.
func (b *bench) close() {
	for _, p := range b.processes {
		p.close()
	}
}

// run runs the rounds, and then one without injections in which each guilty device is found.
func (b *bench) run() error {
	begun := time.Now()
	b.calm = false
	for !b.over(time.Since(begun)) {
		b.round++
		if err := b.next(); err != nil {
			return err
		}
	}
	b.calm = true
	b.injector.Disarm()
	b.round++
	return b.next()
}

// over reports whether the run ends after the rounds so far.
func (b *bench) over(passed time.Duration) bool {
	return b.Rounds > 0 && b.round >= b.Rounds || b.Time > 0 && b.round > 0 && passed >= b.Time
}

// next runs a round of all processes.
func (b *bench) next() error {
	b.step(0)
	tasks := make([]testbench.Task, len(b.processes))
	for i, p := range b.processes {
		tasks[i] = testbench.Task{Process: p.system, Run: p.round}
	}
	b.sys.Run(b.Seed+uint64(b.round)<<32, tasks)
	if b.failed != nil {
		return b.failed
	}
	b.sys.WaitForIdle() // Err has its error
	if err := b.recover(); err != nil {
		return err
	}
	if err := b.warned(); err != nil || b.round == 0 || b.Progress == nil {
		return err
	}
	return b.Progress(b.state())
}

// recover judges an adapter that stopped, which a fault must have caused. It recovers by itself when a process next opens
// a device, unless that has failed.
func (b *bench) recover() error {
	err := b.sys.Err()
	if err == nil {
		return nil
	}
	if broken := b.broken(); broken != nil {
		return fmt.Errorf("%w: seed %d, round %d: %w", ErrFailed, b.Seed, b.round, broken)
	}
	var stopped *dxgkrnl.DeviceError
	errors.As(err, &stopped)
	if !explainsStop(b.judge.active(), stopped) {
		return fmt.Errorf("%w: seed %d, round %d: %w: %w", b.failure(), b.Seed, b.round, errStopped, err)
	}
	b.injector.Disarm()
	if stopped != nil && stopped.Recovery == nil && !b.calm {
		return nil
	}
	if !b.calm {
		err = b.sys.Recover()
	}
	if err != nil {
		err = fmt.Errorf("%w: seed %d, round %d: no recovery: %w", ErrFailed, b.Seed, b.round, err)
	}
	return err
}

// errStopped is wrapped by the error of an adapter that stops though no fault has hit that may stop it.
var errStopped = errors.New("the adapter has stopped, and no fault explains it")

// unexplained notes that the adapter is reset without a fault that explains it.
func (b *bench) unexplained() {
	b.first(fmt.Errorf("%w: seed %d, round %d: %w", ErrFailed, b.Seed, b.round, errStopped))
}

// failure returns ErrLink if the adapter has stopped since its link has failed and the run injects no Unplug, and else
// ErrFailed.
func (b *bench) failure() error {
	var stopped *dxgkrnl.DeviceError
	if errors.As(b.sys.Err(), &stopped) && stopped.Kind == dxgkrnl.Link && !b.spoil.injects(Unplug) && b.broken() == nil {
		return ErrLink
	}
	return ErrFailed
}

// first notes a failure, if it is the first.
func (b *bench) first(err error) {
	if b.failed == nil {
		b.failed = err
		b.tell(err)
	}
}

// tell tells the first failure to Options.Failed. No error is none.
func (b *bench) tell(err error) {
	if err != nil && !b.told && b.Failed != nil {
		b.told = true
		b.Failed(err)
	}
}

// broken returns the broken rule that has stopped the system, or nil. No fault explains one.
func (b *bench) broken() error {
	var v *verifier.Violation
	if errors.As(b.sys.Err(), &v) {
		return v
	}
	return nil
}

// warned returns the first warning of the sanitizer, or nil, and without faults also that of a wrong content. The processes
// read nothing that nobody has written.
func (b *bench) warned() error {
	healthy := b.Hang == 0 && len(b.Faults) == 0
	for _, f := range b.sys.Findings() {
		if !f.Waived && (strings.HasPrefix(f.Rule, "access-") || healthy && f.Rule == "content") {
			return fmt.Errorf("%w: seed %d, round %d: %w", ErrFailed, b.Seed, b.round, f.Violation)
		}
	}
	return nil
}

// settle closes all devices. Nothing may be left.
func (b *bench) settle() error {
	b.close()
	if err := b.sys.WaitForIdle(); err != nil {
		return err
	}
	if left := b.sys.MemoryInUse(); left != b.memory {
		return fmt.Errorf("%w: seed %d: %d bytes of the PC's memory are in use at the end, want %d as at the beginning", ErrFailed, b.Seed, left, b.memory)
	}
	return nil
}

// fail notes the first failure, after which the processes end.
func (b *bench) fail(p *process, err error) {
	if b.failed != nil {
		return
	}
	if cause := b.sys.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	b.first(fmt.Errorf("%w: seed %d, round %d, process %d: %w", b.failure(), b.Seed, b.round, p.number, err))
}

// state returns the state after a round.
func (b *bench) state() Round {
	r := Round{Seed: b.Seed, Round: b.round, Totals: b.totals, Stats: b.sys.Stats()}
	r.Injected = b.judge.injected()
	all := sha256.New()
	for _, p := range b.processes {
		all.Write(p.frames.Sum(nil))
	}
	r.Packets = 0 // the reset of a node clears the counter
	same := r
	same.BytesMoved = 0 // not every board reports it
	if err := json.NewEncoder(all).Encode(same); err != nil {
		panic(err) // numbers and strings alone
	}
	r.Digest = fmt.Sprintf("%x", all.Sum(nil)[:16])
	return r
}
