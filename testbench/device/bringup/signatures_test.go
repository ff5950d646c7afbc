package bringup

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/boards/linkstat"
)

// captured returns the change of a UART with the counters of a run.
func captured(framing, glitches, breaks uint32, sent, repeated uint64, received, refused uint32, damaged uint64) change {
	from := measure{board: &linkstat.State{UART: &linkstat.UART{}}, host: map[string]uint64{"sessions": 1}}
	to := measure{
		board: &linkstat.State{
			Counters: linkstat.Counters{Received: received, Refused: refused},
			UART:     &linkstat.UART{Framing: framing, Glitches: glitches, Breaks: breaks},
		},
		host:     map[string]uint64{"sessions": 1, "frames_sent": sent, "frames_repeated": repeated, "frames_received": sent, "frames_damaged": damaged},
		received: uint16(received), sent: [2]uint64{sent, sent},
	}
	return between(from, to)
}

// duringTwo adds two frames that the host sent while the last measure was made.
func duringTwo(c change) change {
	c.to.sent[1] += 2
	return c
}

// Captures of link.errors at pins:NAME?faults=..., with the fault that was injected.
func TestSignaturesOfUARTs(t *testing.T) {
	const noise, breaks = "noise: no common ground, a cable that is too long or next to a source of noise",
		"breaks: a cable with a bad contact, a driver without supply, or a host that sends breaks"
	for _, tt := range []struct {
		name   string
		c      change
		likely string
	}{
		{"ulx3s-25f", captured(0, 0, 0, 415, 0, 415, 0, 0), ""},
		{"ice40-hx8k", captured(0, 0, 0, 831, 0, 831, 0, 0), ""},
		{"a slow ice40-hx8k, late frames", captured(0, 0, 0, 908, 8, 908, 8, 0), ""},
		{"a slow ice40-hx8k, two of them in the measure", duringTwo(captured(0, 0, 0, 989, 24, 989, 22, 0)), ""},
		{"ulx3s-25f bit=0.0001,seed=5", captured(0, 0, 0, 417, 3, 415, 3, 0), rateOrNoise},
		{"ulx3s-25f bit=0.0003,seed=8", captured(0, 0, 0, 418, 4, 415, 4, 0), rateOrNoise},
		{"ulx3s-25f bit=0.003,seed=1", captured(15, 0, 0, 481, 46, 447, 46, 19), rateOrNoise},
		{"ice40-hx8k bit=0.0003,seed=5", captured(2, 0, 0, 839, 7, 837, 5, 3), rateOrNoise},
		{"ice40-hx8k bit=0.0003,seed=11", captured(0, 0, 0, 841, 8, 841, 8, 4), rateOrNoise},
		{"ice40-hx8k bit=0.001,seed=8", captured(10, 0, 0, 868, 24, 854, 25, 9), rateOrNoise},
		{"many wrong bits, and some frames sent again without need", captured(20, 0, 0, 900, 104, 800, 100, 10), rateOrNoise},
		{"ulx3s-25f glitch=0.0003,seed=1", captured(0, 5, 0, 415, 0, 415, 0, 0), noise},
		{"ulx3s-25f glitch=0.001,seed=3", captured(0, 3, 0, 416, 2, 415, 2, 0), noise},
		{"ulx3s-25f glitch=0.02,seed=3, a break too", captured(6, 178, 1, 481, 42, 452, 41, 26), noise},
		{"ice40-hx8k glitch=0.01,seed=7", captured(14, 164, 0, 931, 68, 883, 67, 29), noise},
		{"ulx3s-25f break=0.0002,seed=2", captured(3, 1, 3, 425, 10, 421, 8, 0), breaks},
		{"ulx3s-25f break=0.002,seed=1", captured(26, 4, 26, 482, 59, 445, 45, 1), breaks},
		{"ice40-hx8k break=0.0005,seed=3", captured(2, 0, 2, 839, 8, 837, 6, 1), breaks},
		{"ulx3s-25f unplug=0.0001,seed=1", captured(0, 0, 0, 423, 8, 417, 3, 0), openCable},
		{"ulx3s-25f unplug=0.001,seed=3", captured(0, 0, 0, 433, 17, 422, 10, 0), openCable},
		{"ice40-hx8k unplug=0.0003,seed=1", captured(1, 0, 0, 853, 20, 832, 9, 0), openCable},
		{"ice40-hx8k unplug=0.0003,seed=9", captured(0, 0, 0, 847, 12, 839, 6, 4), openCable},
		{"ice40-hx8k unplug=0.0003,seed=6", captured(0, 0, 0, 839, 9, 834, 6, 0), openCable},
		{"ulx3s-25f unplug=0.0003,seed=3", captured(0, 0, 0, 417, 4, 416, 2, 0), bitsOrOpen},
		{"wrong bits to the host alone", captured(0, 0, 0, 415, 0, 415, 0, 3), bitsOrBreak},
	} {
		var f finding
		serialFaults(&f, tt.c)
		if tt.likely == "" {
			assert.Empty(t, f.details, tt.name)
			continue
		}
		assert.Equal(t, []string{tt.likely}, f.likely, tt.name)
		assert.Len(t, f.details, 1, tt.name)
		assert.Equal(t, tt.likely == bitsOrOpen, undecided(tt.c), tt.name)
	}
}

// The session also ended: an open cable was open for long, and another cause is the same.
func TestSessionEndsByItsCause(t *testing.T) {
	for likely, c := range map[string]change{
		longOpen:    captured(0, 0, 0, 423, 8, 417, 3, 0),
		rateOrNoise: captured(15, 0, 0, 481, 46, 447, 46, 19),
	} {
		c.sessions = 1
		var f finding
		serialFaults(&f, c)
		assert.Equal(t, []string{likely}, f.likely)
		assert.Contains(t, f.details[len(f.details)-1], "the session ended and began again, 1 times")
	}
}

// Captures at pins:colorlight-i5, with runts and wrong FCS of short frames and of long ones.
func TestSignaturesOfPHYs(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		shortRunts, shortBad uint32
		longRunts, longBad   uint32
		likely               []string
		unclear              bool
	}{
		{"none", 0, 0, 0, 0, nil, false},
		{"carrier=0.005,seed=32", 5, 0, 1, 2, []string{carrierLost}, false},
		{"carrier=0.005,seed=9", 3, 0, 0, 3, []string{carrierLost}, false},
		{"carrier=0.05,seed=9", 21, 0, 12, 8, []string{carrierLost}, false},
		{"carrier=0.005,seed=1, one burst", 2, 0, 0, 0, []string{tooFewShort}, true},
		{"runt=0.005,seed=9", 3, 0, 5, 0, []string{collision}, false},
		{"runt=0.05,seed=8", 24, 0, 15, 0, []string{collision}, false},
		{"fcs=0.005,seed=8", 0, 2, 0, 1, []string{wrongPHY}, false},
		{"fcs=0.05,seed=1", 0, 25, 0, 16, []string{wrongPHY}, false},
		{"long frames alone", 0, 0, 0, 2, []string{tooFewBad}, true},
		{"runts and wrong bits", 9, 8, 5, 7, []string{collision, wrongPHY}, false},
	} {
		var f finding
		s := change{mac: linkstat.MAC{Runts: tt.shortRunts, Bad: tt.shortBad}}
		l := change{mac: linkstat.MAC{Runts: tt.longRunts, Bad: tt.longBad}}
		brokenFrames(&f, s, l)
		assert.Equal(t, tt.likely, f.likely, tt.name)
		assert.Equal(t, tt.unclear, unclear(s, l), tt.name)
	}
}
