package nettlp_test

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/nettlp"
)

// TestWritesFirst: no completion passes a write that was sent before it, at another port
// (PCIe 3.0 §2.4.1).
func TestWritesFirst(t *testing.T) {
	const local, peer = "127.0.18.13", "127.0.18.14"
	host := newHost(t, local, peer, nettlp.Options{})
	down, up := socket(t, peer, local, 0x4000), socket(t, peer, local, 0x3000)
	require.NoError(t, host.WriteConfig(0x10, 0xe0000000))
	require.NoError(t, host.WriteConfig(0x04, 6))
	var ended sync.WaitGroup
	defer ended.Wait()
	defer down.Close()
	ended.Go(func() {
		b := make([]byte, 8192)
		for n := uint32(1); ; n++ {
			if _, err := down.Read(b); err != nil {
				return
			}
			write := append([]byte{0, 0, 0, 0, 0, 0, 0x40, 0, 0, 1, 1, 0, 0, 0xf}, binary.BigEndian.AppendUint32(nil, uint32(host.mem.Base))...)
			answer := append([]byte{0, 0, 0, 0, 0, 0, 0x4a, 0, 0, 32, 1, 0, 0, 128}, b[10], b[11], b[12], b[17]&0x7f)
			up.Write(binary.LittleEndian.AppendUint32(write, n))
			down.Write(append(answer, make([]byte, 128)...))
		}
	})
	const reads = 16
	data, mem := make([]byte, reads*128), make([]byte, 4)
	for i := range uint32(1000) {
		require.NoError(t, host.Read(0, 0, data))
		require.NoError(t, host.mem.ReadMem(host.mem.Base, mem))
		require.Equal(t, (i+1)*reads, binary.LittleEndian.Uint32(mem), "the writes before the completions have arrived")
	}
}

// TestWriteSentLast: a write that waits passes a completion that waits.
func TestWriteSentLast(t *testing.T) {
	const other = "127.0.18.16"
	p, err := nettlp.Open(nettlp.Ends{Local: netip.MustParseAddr("127.0.18.15"), Peer: netip.MustParseAddr(other)}, nettlp.Options{})
	require.NoError(t, err)
	defer p.Close()
	down, up := socket(t, other, "127.0.18.15", 0x4000), socket(t, other, "127.0.18.15", 0x3007)
	for _, packet := range []string{"44000001 0000000f 01000004 06000000", "44000001 0000010f 01000010 000000e0", "00000001 0000050f e0000000"} {
		b, _ := hex.DecodeString(strings.ReplaceAll(packet, " ", ""))
		require.NoError(t, p.Send(b))
	}
	for range 2 {
		b, err := p.Receive(0)
		require.NoError(t, err)
		require.Equal(t, byte(0x0a), b[0], "a configuration write is complete")
	}
	b := make([]byte, 64)
	_, err = down.Read(b)
	require.NoError(t, err)
	_, err = down.Write(append(append([]byte{0, 0, 0, 0, 0, 0, 0x4a, 0, 0, 1, 1, 0, 0, 4}, b[10], b[11], b[12], 0), 1, 2, 3, 4))
	require.NoError(t, err)
	_, err = up.Write([]byte{0, 0, 0, 0, 0, 0, 0x40, 0, 0, 1, 1, 0, 7, 0xf, 0, 0x10, 0, 0, 5, 6, 7, 8})
	require.NoError(t, err)
	for _, want := range []byte{0x40, 0x4a} {
		b, err := p.Receive(20 * time.Second)
		require.NoError(t, err)
		assert.Equal(t, want, b[0])
	}
}
