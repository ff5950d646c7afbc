package turns_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/boards/turns"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// A hooked link calls before, if it is set, before an access to MCU.CTL.
type hooked struct {
	bus.Link
	before func()
}

func (h *hooked) Read(bar int, off uint64, p []byte) error {
	if h.before != nil && bar == 0 && off == mcureg.Base+mcureg.Ctl {
		h.before()
	}
	return h.Link.Read(bar, off, p)
}

func (h *hooked) Write(bar int, off uint64, p []byte) error {
	if h.before != nil && bar == 0 && off == mcureg.Base+mcureg.Ctl {
		h.before()
	}
	return h.Link.Write(bar, off, p)
}

// A client that connects while the command starts a program halts it, or makes it halt before its first
// instruction: the client sees a halt in any order of the two.
func TestHaltAtStart(t *testing.T) {
	for name, clientFirst := range map[string]bool{"the command is first": false, "the client is first": true} {
		t.Run(name, func(t *testing.T) {
			var link *hooked
			tr := turns.New(false)
			share := func(l bus.Link, c bus.Clock, virtual bool) (bus.Link, bus.Clock, error) {
				link = &hooked{Link: l}
				return tr.Share(link, c, virtual)
			}
			shared, _, err := boards.OpenWith(emu, regs.NoMemory{}, boards.Options{Share: share})
			require.NoError(t, err)
			_, err = regs.Open(shared, regs.Options{})
			require.NoError(t, err)
			r := mcu.Over(shared)
			require.NoError(t, mcu.Load(r, 0, []byte{0x6f, 0, 0, 0})) // j 0
			var halted, ran error
			halt, run := func() { halted = tr.Halt() }, func() { ran = mcu.Run(r) }
			first, second := run, halt
			if clientFirst {
				first, second = halt, run
			}
			var both sync.WaitGroup
			var begun atomic.Bool
			link.before = func() {
				if begun.CompareAndSwap(false, true) {
					both.Go(second)
					moment()
				}
			}
			both.Go(first)
			both.Wait()
			require.NoError(t, ran)
			if halted != nil {
				require.True(t, errors.Is(halted, mcu.ErrReset), halted)
			}
			link.before = nil
			v, err := mcu.Over(link).Read(mcureg.DebugBase + mcureg.DebugStatus)
			require.NoError(t, err)
			assert.EqualValues(t, mcureg.DebugHalted, v&mcureg.DebugHalted)
			require.NoError(t, tr.Detach())
			require.NoError(t, shared.Close())
		})
	}
}
