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

// A ledger numbers the packets of bulk writes and checks at the other end that each
// arrives exactly once, in order and with its data. Packets may be missing only before a
// resumed session.
type ledger struct {
	mu      sync.Mutex
	given   uint64 // packets that have been made
	next    uint64 // number of the packet that must arrive next
	arrived uint64
	missing uint64 // lost with a session
	gaps    bool   // packets may be missing now
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

// expect makes the packets before a number ones that arrive from now on.
func (l *ledger) expect(end uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given = end
}

// last returns the number after that of the last packet that has been made.
func (l *ledger) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given
}

// observe checks a packet that the board has received. It is an Observer of a board.
func (l *ledger) observe(up bool, _ time.Duration, packet []byte) {
	var in tlp.Packet
	if up || in.Decode(packet) != nil || in.Kind != tlp.MWr64 || in.Addr < bustest.Base2 {
		return
	}
	l.arrive(in.Data)
}

// arrive checks the data of a packet.
func (l *ledger) arrive(got []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if len(got) != packetBytes {
		l.err = fmt.Errorf("%w: packet of %d bytes after %d packets, want %d", errWrong, len(got), l.next, packetBytes)
		return
	}
	n := binary.LittleEndian.Uint64(got)
	if l.gaps && n > l.next && n < l.given {
		l.missing += n - l.next
		l.next = n
	}
	switch {
	case n != l.next || n >= l.given:
		l.err = fmt.Errorf("%w: packet %d arrives, want packet %d of %d", errWrong, n, l.next, l.given)
	case !bytes.Equal(got, numbered(nil, n)):
		l.err = fmt.Errorf("%w: data of packet %d: %x", errWrong, n, got)
	default:
		l.next++
		l.arrived++
	}
}

// interrupt allows packets to be missing until resume: a device writes on while no
// session carries its packets.
func (l *ledger) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaps = true
}

// resume allows the packets of an ended session to be missing. None is on the path.
func (l *ledger) resume() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missing += l.given - l.next
	l.next, l.gaps = l.given, false
	return l.err
}

func (l *ledger) fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// complete returns an error unless the last packet has arrived.
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
	return fmt.Sprintf("%d packets made, %d arrived once, in order and unchanged, %d lost with a session", l.given, l.arrived, l.missing)
}

// TestLedger: a ledger notices each thing that can happen to a packet, in each direction.
func TestLedger(t *testing.T) {
	const interrupted, resumed = -1, -2
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
		{"the last doubled", []int{0, 1, 2, 3, 4, 4}, 0, "wrong: packet 4 arrives, want packet 5"},
		{"swapped", []int{0, 2, 1, 3, 4}, 0, "wrong: packet 2 arrives, want packet 1"},
		{"a wrong byte", []int{0, 1, 2, 3, 4}, 3, "wrong: data of packet 3: 03"},
		{"never made", []int{0, 1, 2, 3, 4, 5}, 0, "wrong: packet 5 arrives, want packet 5 of 5"},
		{"lost with a session", []int{0, 1, resumed}, 0, ""},
		{"late, of an ended session", []int{0, 1, resumed, 2}, 0, "wrong: packet 2 arrives, want packet 5"},
		{"doubled, before a session", []int{0, 1, 1, resumed}, 0, "wrong: packet 1 arrives, want packet 2"},
		{"lost between sessions", []int{0, interrupted, 2, 4, resumed}, 0, ""},
		{"doubled after a cut", []int{0, 1, interrupted, 1, 2, resumed}, 0, "wrong: packet 1 arrives, want packet 2"},
		{"swapped after a cut", []int{0, interrupted, 3, 2, resumed}, 0, "wrong: packet 2 arrives, want packet 4"},
		{"late, of a session before", []int{0, interrupted, 3, resumed, 4}, 0, "wrong: packet 4 arrives, want packet 5"},
	} {
		for _, up := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s up %v", tt.name, up), func(t *testing.T) {
				var l ledger
				host := &numberedHost{bustest.NewHost(packetBytes), &l}
				l.take(5)
				for i, n := range tt.arrive {
					switch n {
					case interrupted:
						l.interrupt()
						continue
					case resumed:
						_ = l.resume() // complete returns the error too
						continue
					}
					data := numbered(nil, uint64(n))
					if i > 0 && i == tt.damaged {
						data[packetBytes-1] ^= 1
					}
					if up {
						require.NoError(t, host.WriteMem(host.Base, data))
						require.NoError(t, host.WriteMem(bustest.MessageBase, data[:4]), "a message is no packet")
						continue
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
}
