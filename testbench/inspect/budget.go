package inspect

import (
	"time"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
)

const (
	// share is the part of a link's rate that the inspector may use, in percent.
	share = 20

	// requestBytes is the largest payload of a read request that every link carries, in bytes.
	requestBytes = 128

	// overhead bounds the bytes of one read on a line without its data, in both directions:
	// two packets, their frames and their acknowledgements.
	overhead = 64
)

// cost returns the bytes on a line that a read of n bytes takes at most, in both directions.
// Stuffing adds a byte to 254.
func cost(n int) uint64 {
	requests := (n+requestBytes-1)/requestBytes + 1 // one more if it crosses a boundary
	return uint64(n + n/200 + requests*overhead)
}

// A budget bounds the bytes that the inspector moves over a slow link. The zero value is ready.
type budget struct {
	free time.Duration // when the bytes taken so far are paid for
}

// wait returns how long a read must wait, at the given time.
func (b *budget) wait(now time.Duration) time.Duration { return max(0, b.free-now) }

// take pays for n bytes over a link.
func (b *budget) take(link bus.Link, now time.Duration, n uint64) {
	b.free = max(b.free, now) + price(link, n)
}

// price returns the time in which the share of a link carries n bytes; 0 for a link without a rate.
func price(link bus.Link, n uint64) time.Duration {
	slow, ok := link.(boards.Rated)
	if !ok {
		return 0
	}
	return time.Duration(float64(n) * 100 / share * float64(time.Second) / float64(slow.BytesPerSecond()))
}
