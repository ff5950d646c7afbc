package channel

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
)

// TestGive: packets arrive as given, although the caller writes to all memory that it gets
// in exchange. Some wait for the window, and the others fly.
func TestGive(t *testing.T) {
	datagrams := Config{}
	datagrams.SetDatagram(576)
	for name, config := range map[string]Config{"stream": {}, "datagrams": datagrams} {
		t.Run(name, func(t *testing.T) {
			x, y := newLine()
			h, b := pairOn(t, x, y, config, config)
			const n = 500
			took, got := expect(t)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for *got < n {
					p, err := b.Receive(time.Second)
					if err != nil || p == nil {
						t.Errorf("after %d packets: %v", *got, err)
						return
					}
					took(p)
				}
			}()
			buf := []byte(nil)
			for i := 0; i < n; {
				buf = append(buf[:0], write(i)...)
				given := buf
				var err error
				if buf, err = h.Give(buf); err == nil {
					require.False(t, len(buf) > 0 && &buf[0] == &given[0])
					for k := range buf[:cap(buf)] {
						buf[:cap(buf)][k] = 0xee
					}
					i++
					continue
				}
				require.ErrorIs(t, err, datalink.ErrFull)
				require.True(t, bytes.Equal(write(i), buf), "it is the caller's again")
				_, err = h.Receive(time.Millisecond)
				require.NoError(t, err)
			}
			h.Flush()
			<-done
		})
	}
}

// TestGiveFails: the caller keeps a packet that cannot be sent.
func TestGiveFails(t *testing.T) {
	h, b := pair(t, Config{}, Config{})
	p := make([]byte, 1000)
	got, err := h.Give(p)
	assert.ErrorIs(t, err, datalink.ErrSize)
	assert.Same(t, &p[0], &got[0])
	require.NoError(t, h.Close())
	got, err = h.Give(p)
	assert.Error(t, err)
	assert.Same(t, &p[0], &got[0])
	require.NoError(t, b.Close())
}
