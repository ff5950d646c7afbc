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

// A Summary is the cost of a session. All fields except the last two depend only on
// the plan and the board.
type Summary struct {
	testbench.Stats

	FrameSHA256     string  `json:"frame_sha256"` // hash of the pixels, R G B A, row by row
	HostMS          float64 `json:"host_ms"`
	CyclesPerSecond float64 `json:"cycles_per_second,omitempty"`
}

// NewSummary returns the summary of a session that composed frame in the wall-clock
// time host.
func NewSummary(frame *image.NRGBA, stats testbench.Stats, host time.Duration) Summary {
	sum := sha256.Sum256(frame.Pix)
	s := Summary{Stats: stats, FrameSHA256: hex.EncodeToString(sum[:]), HostMS: float64(host.Microseconds()) / 1000}
	if host > 0 {
		s.CyclesPerSecond = float64(stats.Cycles) / host.Seconds()
	}
	return s
}

// Text formats the work of the GPU, the kernel and the host, a line each. It omits
// the GPU for a board that does not report its clocks.
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
		fmt.Fprintf(&b, "         %d interrupts were lost: the kernel found their fences by polling, after its time-out\n", s.Lost)
	}
	if s.Late != 0 {
		fmt.Fprintf(&b, "         %d submissions made no progress: the kernel stopped their nodes after its time-out, and they went on\n", s.Late)
	}
	fmt.Fprintf(&b, "host     %.0f ms", s.HostMS)
	if s.Cycles != 0 {
		fmt.Fprintf(&b, ", %.2f million cycles/s", s.CyclesPerSecond/1e6)
	}
	b.WriteString("\n")
	return b.String()
}
