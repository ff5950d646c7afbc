package bustest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// wantErr returns an error unless got is want.
func wantErr(what string, got, want error) error {
	if errors.Is(got, want) {
		return nil
	}
	return fmt.Errorf("%s: error %v, want %v", what, got, want)
}

// wantBytes returns an error unless got equals want.
func wantBytes(what string, got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("%s: %x, want %x", what, got, want)
}

// pattern returns n bytes without a short period.
func pattern(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func checkConfig(f Fixture) error {
	id, err := f.Link.ReadConfig(pcicfg.ID)
	if err != nil || id != pcicfg.VendorID|pcicfg.DeviceID<<16 {
		return fmt.Errorf("identity %#x, error %v", id, err)
	}
	if err := f.Link.WriteConfig(pcicfg.IntLine, 0x5a); err != nil {
		return err
	}
	v, err := f.Link.ReadConfig(pcicfg.IntLine)
	if err != nil || v&0xff != 0x5a {
		return fmt.Errorf("interrupt line %#x after 0x5a was written, error %v", v, err)
	}
	return nil
}

func checkSizing(f Fixture) error {
	for _, off := range []int{pcicfg.BAR0, pcicfg.BAR2, pcicfg.BAR3} {
		if err := f.Link.WriteConfig(off, 0xffffffff); err != nil {
			return err
		}
	}
	lo, err := f.Link.ReadConfig(pcicfg.BAR0)
	if err != nil || lo != ^uint32(pcicfg.BAR0Size-1) {
		return fmt.Errorf("BAR0 sizes as %#x, want 64 KiB, error %v", lo, err)
	}
	lo, err = f.Link.ReadConfig(pcicfg.BAR2)
	if err != nil {
		return err
	}
	hi, err := f.Link.ReadConfig(pcicfg.BAR3)
	if err != nil {
		return err
	}
	size := -(uint64(hi)<<32 | uint64(lo&^pcicfg.BARFlags))
	if lo&pcicfg.BARFlags != pcicfg.BARMem64|pcicfg.BARPrefetchable || size < 4096 || size&(size-1) != 0 {
		return fmt.Errorf("BAR2 sizes as %#x %#x", hi, lo)
	}
	return nil
}

func checkPosted(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	for i := range 20 {
		want := pattern(uint64(i), 4)
		if err := f.Link.Write(0, f.Register, want); err != nil {
			return err
		}
		got := make([]byte, 4)
		if err := f.Link.Read(0, f.Register, got); err != nil {
			return err
		}
		if err := wantBytes("register", got, want); err != nil {
			return err
		}
	}
	return nil
}

func checkRanges(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	const size = 2048
	model := pattern(1, size)
	if err := f.Link.Write(2, 0, model); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(2, 0))
	for i := range 60 {
		off := 4 * r.IntN(size/4)
		n := 4 * r.IntN(min(100, size/4-off/4)+1)
		if i%2 == 0 {
			copy(model[off:], pattern(uint64(i), n))
			if err := f.Link.Write(2, uint64(off), model[off:off+n]); err != nil {
				return err
			}
			continue
		}
		got := make([]byte, n)
		if err := f.Link.Read(2, uint64(off), got); err != nil {
			return err
		}
		if err := wantBytes(fmt.Sprintf("%d bytes at %#x", n, off), got, model[off:off+n]); err != nil {
			return err
		}
	}
	got := make([]byte, size)
	if err := f.Link.Read(2, 0, got); err != nil {
		return err
	}
	return wantBytes("all", got, model)
}

func checkArguments(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	p := make([]byte, 8)
	if err := f.Link.Read(0, f.Register, p[:4]); err != nil {
		return err
	}
	var before uint64
	if f.Requests != nil {
		before = f.Requests()
	}
	_, config := f.Link.ReadConfig(2)
	_, beyond := f.Link.ReadConfig(0x1000)
	for _, e := range []struct {
		what string
		err  error
	}{
		{"read at offset 2", f.Link.Read(0, 2, p)},
		{"read of 3 bytes", f.Link.Read(0, 0, p[:3])},
		{"read of BAR 6", f.Link.Read(6, 0, p)},
		{"read of BAR -1", f.Link.Read(-1, 0, p)},
		{"read that wraps", f.Link.Read(0, 1<<64-4, p)},
		{"write at offset 1", f.Link.Write(0, 1, p)},
		{"write of 5 bytes", f.Link.Write(0, 0, p[:5])},
		{"write of BAR 6", f.Link.Write(6, 0, p)},
		{"configuration read at 2", config},
		{"configuration read at 0x1000", beyond},
		{"configuration write at -4", f.Link.WriteConfig(-4, 0)},
	} {
		if err := wantErr(e.what, e.err, bus.ErrArgument); err != nil {
			return err
		}
	}
	if err := f.Link.Read(0, f.Register, p[:4]); err != nil {
		return err
	}
	if f.Requests != nil && f.Requests() != before+1 {
		return fmt.Errorf("%d requests were sent for bad arguments", f.Requests()-before-1)
	}
	return nil
}

func checkDecodeOff(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	if err := f.Link.WriteConfig(pcicfg.Command, 0); err != nil {
		return err
	}
	p := make([]byte, 4)
	if err := wantErr("register", f.Link.Read(0, f.Register, p), bus.ErrUnsupported); err != nil {
		return err
	}
	return wantErr("memory", f.Link.Read(2, 0, p), bus.ErrUnsupported)
}

func checkBeyond(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	p := make([]byte, 8)
	return wantErr("read after BAR0", f.Link.Read(0, pcicfg.BAR0Size, p), bus.ErrUnsupported)
}

func checkUnmapped(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	return wantErr("unmapped", f.Link.Read(0, f.Unmapped, make([]byte, 4)), bus.ErrAbort)
}

func checkRecovery(f Fixture) error {
	if err := checkUnmapped(f); err != nil {
		return err
	}
	want := pattern(9, 1024)
	if err := f.Link.Write(2, 64, want); err != nil {
		return err
	}
	got := make([]byte, len(want))
	if err := f.Link.Read(2, 64, got); err != nil {
		return err
	}
	return wantBytes("after an abort", got, want)
}

// checkGoroutines runs four goroutines, each on its own part of memory.
func checkGoroutines(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	const part = 512
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for g := range errs {
		wg.Go(func() {
			for i := range 8 {
				want := pattern(uint64(10*g+i), part)
				got := make([]byte, part)
				err := f.Link.Write(2, uint64(part*g), want)
				if err == nil {
					err = f.Link.Read(2, uint64(part*g), got)
				}
				if err == nil {
					err = wantBytes("memory of one goroutine", got, want)
				}
				errs[g] = errors.Join(errs[g], err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func checkClose(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	for range 2 {
		if err := f.Link.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
	}
	return allFail(f, bus.ErrClosed)
}

func checkDead(f Fixture) error {
	if f.Kill == nil {
		return nil
	}
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	f.Kill()
	first := f.Link.Read(0, f.Register, make([]byte, 4))
	if err := allFail(f, bus.ErrLinkDown); err != nil {
		return err
	}
	if _, again := f.Link.ReadConfig(0); first == nil || again.Error() != first.Error() {
		return fmt.Errorf("first error %v, then %v", first, again)
	}
	return nil
}

// allFail checks that every call fails with want.
func allFail(f Fixture, want error) error {
	p := make([]byte, 4)
	_, read := f.Link.ReadConfig(0)
	_, wait := f.Clock.Wait(f.Clock.Now() + 10)
	return errors.Join(
		wantErr("configuration read", read, want),
		wantErr("configuration write", f.Link.WriteConfig(pcicfg.IntLine, 0), want),
		wantErr("read", f.Link.Read(0, f.Register, p), want),
		wantErr("write", f.Link.Write(0, f.Register, p), want),
		wantErr("wait", wait, want))
}
