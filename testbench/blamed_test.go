package testbench

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// brokenLog composes with a miniport that breaks a rule and returns the log.
func brokenLog(t *testing.T, miniport func(d *kmddi.DriverInitializationData)) []byte {
	t.Helper()
	var ring *eventlog.Ring
	s, err := Open("emu", withKernel(miniport), Options{Sanitize: true, CallLimit: time.Minute, Record: func(h eventlog.Header) (events.Sink, error) {
		ring = eventlog.NewRing(64<<20, h)
		return ring, nil
	}})
	require.NoError(t, err)
	_, err = compose.Run(s, smallPlan(t, 1))
	require.Error(t, errors.Join(err, s.Close()))
	return ringReader(t, ring).Bytes()
}

// elsewhere makes DxgkDdiPatch give the first COPY of each buffer another destination.
func elsewhere(d *kmddi.DriverInitializationData) {
	patch := d.Patch
	d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
		status := patch(t, h, arg)
		for rest := arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset]; len(rest) > 0; {
			l, p, next, err := pkt.Next(rest)
			if err != nil || l.Op == pkt.OpCopy {
				dword(p, 3, 0x700000)
				break
			}
			rest = next
		}
		return status
	}
}

// The answer about a broken rule has the submission and the packet that the finding names, and the call that wrote the packet, besides the
// place where it was noticed.
func TestRuleNamesItsWork(t *testing.T) {
	log := brokenLog(t, elsewhere)
	var broken eventlog.Event
	queued, packet := map[string]eventlog.Event{}, map[string]eventlog.Event{}
	for _, e := range eventsOf(t, log) {
		switch {
		case e.Kind == eventlog.Broken && e.Fields[0] != 0 && broken.ID == 0:
			broken = e
		case e.Kind == eventlog.Queue:
			queued[fmt.Sprint(e.Fields[0])] = e
		case e.Kind == eventlog.Packet:
			packet[fmt.Sprintf("%d %#x", e.Fields[0], e.Fields[1])] = e
		}
	}
	m := regexp.MustCompile(`access-address .*COPY at (0x\w+) of submission (\d+) `).FindStringSubmatch(broken.Text())
	require.NotNil(t, m, broken.Text())
	assert.Equal(t, m[2], fmt.Sprint(broken.Fields[1]))
	assert.Equal(t, m[1], fmt.Sprintf("%#x", broken.Fields[3]))
	assert.NotZero(t, broken.Fields[2])
	assert.NotZero(t, packet[m[2]+" "+m[1]].ID, "a packet at %s", m[1])

	a := runIn(t, bytes.NewReader(log)).Fault()
	assert.Equal(t, why.MissingRule, a.Missing)
	steps := map[uint64]string{}
	for _, s := range a.Chain {
		steps[s.Event] = s.What
	}
	assert.Contains(t, steps[queued[m[2]].ID], "COPY ", "the packet follows its submission: %s", a.Text())
	assert.Contains(t, a.Text(), fmt.Sprintf("it is about submission %s (", m[2]))
	assert.Regexp(t, `^call \d+, CopyResource$`, a.Chain[0].What, "%s", a.Text())
	assert.Contains(t, steps[broken.ID], "access-address")
}
