package relay_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// packetBytes is the size of the data of a packet of a bulk write.
const packetBytes = 128

// A ledger numbers the packets of bulk writes at the host and checks at the board that
// each arrives exactly once, in order and with its data. Packets may be missing only
// before a resumed session.
type ledger struct {
	mu      sync.Mutex
	given   uint64 // packets that the host has made
	next    uint64 // number of the packet that must arrive next
	arrived uint64
	missing uint64 // lost with a session
	err     error  // the first fault
}

// numbered appends the data of packet n: its number, then bytes that depend on it.
func numbered(p []byte, n uint64) []byte {
	p = binary.LittleEndian.AppendUint64(p, n)
	for i := uint64(1); i < packetBytes/8; i++ {
		x := (n<<4 + i) * 0x9e3779b97f4a7c15
		p = binary.LittleEndian.AppendUint64(p, x^x>>31)
	}
	return p
}

// take returns the data of the next packets of the host.
func (l *ledger) take(packets int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := make([]byte, 0, packets*packetBytes)
	for range packets {
		p = numbered(p, l.given)
		l.given++
	}
	return p
}

// observe checks a packet that the board has received. It is an Observer of a board.
func (l *ledger) observe(up bool, _ time.Duration, packet []byte) {
	var in tlp.Packet
	if up || in.Decode(packet) != nil || in.Kind != tlp.MWr64 || in.Addr < bustest.Base2 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch got := in.Data; {
	case l.err != nil:
	case len(got) != packetBytes:
		l.err = fmt.Errorf("%w: packet of %d bytes after %d packets, want %d", errWrong, len(got), l.next, packetBytes)
	case binary.LittleEndian.Uint64(got) != l.next:
		l.err = fmt.Errorf("%w: packet %d arrives, want packet %d", errWrong, binary.LittleEndian.Uint64(got), l.next)
	case !bytes.Equal(got, numbered(nil, l.next)):
		l.err = fmt.Errorf("%w: data of packet %d: %x", errWrong, l.next, got)
	default:
		l.next++
		l.arrived++
	}
}

// resume allows the packets of an ended session to be missing. No packet of the host is
// on the path.
func (l *ledger) resume() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missing += l.given - l.next
	l.next = l.given
	return l.err
}

func (l *ledger) fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// complete returns an error unless the last packet of the host has arrived.
func (l *ledger) complete() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && l.next != l.given {
		return fmt.Errorf("%w: %d packets have arrived, want %d", errWrong, l.next, l.given)
	}
	return l.err
}

// String returns the counters.
func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("bulk packets: %d made, %d arrived once, in order and unchanged, %d lost with a session", l.given, l.arrived, l.missing)
}

// TestLedger: a ledger notices each thing that can happen to a packet.
func TestLedger(t *testing.T) {
	const resumed = -1
	for _, tt := range []struct {
		name    string
		arrive  []int // numbers of packets of five
		damaged int   // index in arrive of a packet with a wrong byte; 0: none
		want    string
	}{
		{"in order", []int{0, 1, 2, 3, 4}, 0, ""},
		{"dropped", []int{0, 2, 3, 4}, 0, "wrong: packet 2 arrives, want packet 1"},
		{"the last dropped", []int{0, 1, 2, 3}, 0, "wrong: 4 packets have arrived, want 5"},
		{"doubled", []int{0, 1, 1, 2, 3, 4}, 0, "wrong: packet 1 arrives, want packet 2"},
		{"swapped", []int{0, 2, 1, 3, 4}, 0, "wrong: packet 2 arrives, want packet 1"},
		{"a wrong byte", []int{0, 1, 2, 3, 4}, 3, "wrong: data of packet 3: 03"},
		{"lost with a session", []int{0, 1, resumed}, 0, ""},
		{"late, of an ended session", []int{0, 1, resumed, 2}, 0, "wrong: packet 2 arrives, want packet 5"},
		{"doubled, before a session", []int{0, 1, 1, resumed}, 0, "wrong: packet 1 arrives, want packet 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l ledger
			l.take(5)
			for i, n := range tt.arrive {
				if n == resumed {
					_ = l.resume() // complete returns the error too
					continue
				}
				data := numbered(nil, uint64(n))
				if i > 0 && i == tt.damaged {
					data[packetBytes-1] ^= 1
				}
				out := tlp.Packet{Kind: tlp.MWr64, Len: packetBytes / 4, Addr: bustest.Base2, First: 15, Last: 15, Data: data}
				p, err := out.Append(nil)
				require.NoError(t, err)
				l.observe(false, 0, p)
				l.observe(true, 0, p)
			}
			if err := l.complete(); tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, errWrong)
				assert.Contains(t, err.Error(), tt.want)
			}
		})
	}
}
