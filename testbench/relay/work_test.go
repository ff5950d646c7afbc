package relay_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// Memory layout of the work.
const (
	modelBytes = 8192       // compared with a model, from 0 in BAR 2; bulk transfers have more
	jobAt      = modelBytes // jobs, from here on in BAR 2
	jobBytes   = 2048
	hostBytes  = 16 << 10
)

// A change is a posted write of at most one packet that is not known to have arrived.
type change struct {
	off  int
	data []byte
}

// work makes random calls and compares each answer with a model of the device. The
// device's engine does jobs.
type work struct {
	link    bus.Link
	clock   bus.Clock
	host    *bustest.Host
	rng     *rand.Rand
	model   []byte // with all writes known to have arrived
	changes []change
	done    uint32 // jobs that the device has ended
	errs    uint32 // those that have failed
	moved   uint64 // bytes
	bulk    bool   // large transfers only
	at      int    // offset of the next write of a bulk transfer
	ledger  ledger // of the packets of bulk writes
	back    ledger // of the same packets that the device writes to the host
	ends    map[string]int
}

// errWrong is a wrong answer, as opposed to an error of the link.
var errWrong = errors.New("wrong")

func same(what string, got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: %s: %x, want %x", errWrong, what, got, want)
	}
	return nil
}

// patience is how long a host tries to begin a session.
const patience = 20 * time.Second

// open opens a host. A link that is damaged from the beginning gets more attempts.
func (w *work) open(selector string) (err error) {
	w.host = bustest.NewHost(max(hostBytes, len(w.model)))
	var host bus.Host = w.host
	if w.bulk {
		host = &numberedHost{w.host, &w.back}
	}
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(10 * time.Millisecond) {
		w.link, w.clock, err = boards.Open(selector, host)
		if err == nil {
			return nil
		}
		if err = w.named(err); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: no session in %v: %w", errWrong, patience, err)
}

// named returns nil for an error that names the cause why a link is down, and counts it.
func (w *work) named(err error) error {
	for _, cause := range []error{
		datalink.ErrOpen, datalink.ErrRefused, datalink.ErrReplay, datalink.ErrDead, datalink.ErrPeerDown, datalink.ErrNewEpoch,
		datalink.ErrProtocol, io.EOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed, serial.ErrUnplugged, serial.ErrMissing, syscall.EIO,
	} {
		if errors.Is(err, cause) && (errors.Is(err, bus.ErrLinkDown) || errors.Is(err, serial.ErrMissing)) {
			w.ends[cause.Error()]++
			return nil
		}
	}
	return fmt.Errorf("%w: no cause: %w", errWrong, err)
}

// do makes one call, or runs one job of the device.
func (w *work) do() error {
	if w.bulk {
		return w.stream()
	}
	switch k := w.rng.IntN(20); {
	case k < 9:
		return w.write()
	case k < 12:
		return w.read()
	case k < 14:
		return w.register()
	}
	return w.job()
}

func (w *work) span() (off, n int) {
	if w.bulk {
		return w.at, writeBytes
	}
	off = 4 * w.rng.IntN(modelBytes/4)
	return off, 4 * (1 + w.rng.IntN(min(512, (modelBytes-off)/4)))
}

func (w *work) random(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(w.rng.Uint32())
	}
	return p
}

func (w *work) write() error {
	off, n := w.span()
	var p []byte
	if w.bulk {
		p = w.ledger.take(n / packetBytes)
	} else {
		p = w.random(n)
	}
	for at := 0; at < n; { // the packets of the call; none crosses a multiple of 128
		end := min(n, at+128-(off+at)%128)
		w.changes = append(w.changes, change{off + at, p[at:end]})
		at = end
	}
	w.moved += uint64(n)
	return w.link.Write(2, uint64(off), p)
}

// read sees all earlier writes.
func (w *work) read() error {
	off, n := w.span()
	p := make([]byte, n)
	if err := w.link.Read(2, uint64(off), p); err != nil {
		return err
	}
	w.moved += uint64(n)
	w.settle()
	return same("read", p, w.model[off:off+n])
}

// settle applies the changes to the model.
func (w *work) settle() {
	for _, c := range w.changes {
		copy(w.model[c.off:], c.data)
	}
	w.changes = w.changes[:0]
}

func (w *work) dword(off uint64) (uint32, error) {
	p := make([]byte, 4)
	err := w.link.Read(0, off, p)
	return binary.LittleEndian.Uint32(p), err
}

func (w *work) register() error {
	v, err := w.dword(bustest.RegMagic)
	if err == nil && v != bustest.MagicValue {
		err = fmt.Errorf("%w: magic %#x", errWrong, v)
	}
	return err
}

// job makes the device copy between its memory and the host's. It must do so exactly
// once, with one message.
func (w *work) job() error {
	n := 4 * (1 + w.rng.IntN(jobBytes/4))
	off := 4 * w.rng.IntN((len(w.host.Mem)-n)/4)
	data := w.random(n)
	w.moved += uint64(2 * n)
	w.host.ForgetMessages()
	toHost := w.rng.IntN(2) == 0
	job := uint32(bustest.JobRead)
	if toHost {
		job = bustest.JobWrite
		if err := w.link.Write(2, jobAt, data); err != nil {
			return err
		}
	} else {
		copy(w.host.Mem[off:], data)
	}
	if err := bustest.StartJob(w.link, job, w.host.Base+uint64(off), jobAt, uint32(n)); err != nil {
		return err
	}
	if err := w.message(); err != nil {
		return err
	}
	if err := w.once(); err != nil {
		return err
	}
	if toHost {
		return same("memory of the host", w.host.Mem[off:off+n], data)
	}
	got := make([]byte, n)
	if err := w.link.Read(2, jobAt, got); err != nil {
		return err
	}
	return same("memory of the device", got, data)
}

// message waits for a message.
func (w *work) message() error {
	for deadline := w.clock.Now() + 20*w.clock.Hz(); len(w.host.Messages()) == 0; {
		if w.clock.Now() >= deadline {
			return w.unheard()
		}
		if _, err := w.clock.Wait(deadline); err != nil {
			return err
		}
	}
	return nil
}

// unheard returns the error for a job without a message, with what the device has done of it.
func (w *work) unheard() error {
	done, err := w.dword(bustest.RegDone)
	if err != nil {
		return fmt.Errorf("%w: no message, and then no answer: %w", errWrong, err)
	}
	errs, err := w.dword(bustest.RegErrors)
	return fmt.Errorf("%w: no message; %d jobs done, want %d, %d errors, want %d (%v), %d messages now",
		errWrong, done, w.done+1, errs, w.errs, err, len(w.host.Messages()))
}

// once checks that the device has done one job more, without an error and with one
// message.
func (w *work) once() error {
	done, err := w.dword(bustest.RegDone)
	if err != nil {
		return err
	}
	w.settle() // the read has seen all writes
	w.done++
	errs, err := w.dword(bustest.RegErrors)
	switch {
	case err != nil:
		return err
	case done != w.done || errs != w.errs || len(w.host.Messages()) != 1:
		return fmt.Errorf("%w: %d jobs done, want %d, %d errors, want %d, %d messages", errWrong, done, w.done, errs, w.errs, len(w.host.Messages()))
	}
	return nil
}

// resume begins a session after the link was down.
func (w *work) resume() error {
	w.back.interrupt()
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(10 * time.Millisecond) {
		err := w.link.(boards.Reopener).Reopen()
		if err == nil {
			err = w.check()
		}
		if err == nil {
			err = w.restart()
		}
		if err == nil || !errors.Is(err, bus.ErrLinkDown) {
			return err
		}
		if err := w.named(err); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: no session in %v", errWrong, patience)
}

// check compares the memory of the device with the writes before the session. It has
// all of them but zero or more of the last ones: exactly once, and in order.
func (w *work) check() error {
	if err := bustest.Enumerate(w.link); err != nil {
		return err
	}
	got := make([]byte, len(w.model))
	if err := w.link.Read(2, 0, got); err != nil {
		return err
	}
	now := slices.Clone(w.model)
	for k := 0; !bytes.Equal(now, got); k++ {
		if k == len(w.changes) {
			return fmt.Errorf("%w: memory matches no prefix of the %d writes", errWrong, k)
		}
		copy(now[w.changes[k].off:], w.changes[k].data)
	}
	if err := w.idle(); err != nil {
		return err
	}
	w.model, w.changes = now, w.changes[:0]
	return nil
}

// idle waits for the end of the job that was interrupted. It may have failed.
func (w *work) idle() error {
	for begun := time.Now(); ; {
		job, err := w.dword(bustest.RegJob)
		if err != nil {
			return err
		}
		if job == 0 {
			break
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("%w: job %d does not end in %v", errWrong, job, patience)
		}
		if _, err := w.clock.Wait(w.clock.Now() + w.clock.Hz()/50); err != nil {
			return err
		}
	}
	var err error
	if w.done, err = w.dword(bustest.RegDone); err != nil {
		return err
	}
	w.errs, err = w.dword(bustest.RegErrors)
	return err
}

// counters returns the counters of the link, by name.
func (w *work) counters() map[string]uint64 {
	all := map[string]uint64{}
	if l, ok := w.link.(interface{ Counters() []boards.Counter }); ok {
		for _, c := range l.Counters() {
			all[c.Name] = c.Value
		}
	}
	return all
}
