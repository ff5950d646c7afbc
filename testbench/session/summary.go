package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/testbench"
)

// A Summary tells what a session took. All but the last two are the same for the same
// plan and board.
type Summary struct {
	testbench.Stats

	FrameSHA256     string  `json:"frame_sha256"` // of the pixels, R G B A, row by row
	HostMS          float64 `json:"host_ms"`
	CyclesPerSecond float64 `json:"cycles_per_second,omitempty"`
}

// NewSummary returns the summary of a session that composed frame in the time host of
// the wall clock.
func NewSummary(frame *image.NRGBA, stats testbench.Stats, host time.Duration) Summary {
	sum := sha256.Sum256(frame.Pix)
	s := Summary{Stats: stats, FrameSHA256: hex.EncodeToString(sum[:]), HostMS: float64(host.Microseconds()) / 1000}
	if host > 0 {
		s.CyclesPerSecond = float64(stats.Cycles) / host.Seconds()
	}
	return s
}

// Text returns what the GPU, the kernel and the host did, a line each. A board that does
// not tell its clocks has no line for the GPU.
func (s Summary) Text() string {
	var b strings.Builder
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
