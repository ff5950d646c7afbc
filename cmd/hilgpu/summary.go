package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/testbench"
)

// summary is what a run prints. All but the last two are the same for the same
// command line.
type summary struct {
	testbench.Stats

	FrameSHA256     string  `json:"frame_sha256"` // of the pixels, R G B A, row by row
	HostMS          float64 `json:"host_ms"`
	CyclesPerSecond float64 `json:"cycles_per_second,omitempty"`
}

func newSummary(frame *image.NRGBA, stats testbench.Stats, host time.Duration) summary {
	sum := sha256.Sum256(frame.Pix)
	s := summary{Stats: stats, FrameSHA256: hex.EncodeToString(sum[:]), HostMS: float64(host.Microseconds()) / 1000}
	if host > 0 {
		s.CyclesPerSecond = float64(stats.Cycles) / host.Seconds()
	}
	return s
}

// text returns the summary for people.
func (s summary) text(f composeFlags) string {
	var b strings.Builder
	fmt.Fprintf(&b, "frame    %s, %d contexts, seed %d on %s, sha256 %.16s", f.size, f.contexts, f.seed, f.board, s.FrameSHA256)
	if f.check {
		b.WriteString(", every pixel as expected")
	}
	if f.out != "" {
		fmt.Fprintf(&b, ", in %s", f.out)
	}
	b.WriteString("\n")
	if s.Cycles != 0 {
		fmt.Fprintf(&b, "gpu      %d cycles", s.Cycles)
		if s.Packets != 0 {
			fmt.Fprintf(&b, ", %d packets, %d bytes moved", s.Packets, s.BytesMoved)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "kernel   %d DMA buffers, %d paging buffers, %d fences, %d interrupts, %d DPCs\n",
		s.DMABuffers, s.PagingBuffers, s.Fences, s.Interrupts, s.DPCs)
	if s.Lost != 0 {
		fmt.Fprintf(&b, "         %d interrupts were lost: the kernel found the fences by asking, after its time-out\n", s.Lost)
	}
	fmt.Fprintf(&b, "host     %.0f ms", s.HostMS)
	if s.Cycles != 0 {
		fmt.Fprintf(&b, ", %.2f million cycles/s", s.CyclesPerSecond/1e6)
	}
	b.WriteString("\n")
	return b.String()
}
