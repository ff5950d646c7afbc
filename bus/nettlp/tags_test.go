package nettlp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

const second = time.Second

// readOf returns a read of n bytes.
func readOf(addr uint64, n int) *tlp.Packet {
	p := &tlp.Packet{Kind: tlp.MRd32, Len: n / 4, First: 0xf, Addr: addr, Tag: 99}
	if n > 4 {
		p.Last = 0xf
	}
	return p
}

// A tag without an answer rests for the quarantine, one with an answer for the shorter
// time. Then it is used again, the one that has rested longest first.
func TestTagsRest(t *testing.T) {
	q := tags{slots: make([]slot, 2), stride: 16, timeout: second, rest: 10 * time.Millisecond, quarantine: 5 * second}
	take := func(at time.Duration) int {
		tag, ok := q.take(readOf(0x1000, 4), 7, at)
		if !ok {
			return -1
		}
		return int(tag)
	}
	answer := tlp.Packet{Kind: tlp.CplD, Len: 1, Requester: 7, Tag: 16, ByteCount: 4, Data: make([]byte, 4)}
	assert.Equal(t, []int{0, 16, -1}, []int{take(0), take(0), take(0)})
	request, _, why := q.match(&answer, second/2)
	require.NotNil(t, request, why)
	assert.Equal(t, uint16(99), request.Tag)
	assert.Equal(t, -1, take(second/2+9*time.Millisecond))
	assert.Equal(t, 16, take(second/2+10*time.Millisecond))

	lost := 0
	q.expire(second-1, func(*tlp.Packet) { lost++ })
	assert.Zero(t, lost)
	q.expire(second, func(r *tlp.Packet) {
		lost++
		assert.Equal(t, uint64(0x1000), r.Addr)
	})
	assert.Equal(t, 1, lost)
	late := answer
	late.Tag = 0
	request, refusal, _ := q.match(&late, second)
	assert.Nil(t, request, "a late completion")
	assert.Equal(t, Unexpected, refusal)
	q.expire(2*second, func(*tlp.Packet) { lost++ })
	assert.Equal(t, 2, lost)
	assert.Equal(t, -1, take(6*second-1))
	assert.Equal(t, 0, take(6*second))
	assert.Equal(t, -1, take(6*second))
	assert.Equal(t, 16, take(7*second))
}

// Each field of a completion that does not match is refused, and the request keeps
// waiting for the one that does.
func TestTagsMatch(t *testing.T) {
	first := tlp.Packet{Kind: tlp.CplD, Len: 16, Requester: 7, Tag: 3, ByteCount: 128, Data: make([]byte, 64)}
	second := first
	second.ByteCount, second.Lower = 64, 0x40
	for name, tt := range map[string]struct {
		change func(p *tlp.Packet)
		want   Refusal
	}{
		"tag":           {func(p *tlp.Packet) { p.Tag = 4 }, Unexpected},
		"tag too large": {func(p *tlp.Packet) { p.Tag = 8 }, Unexpected},
		"requester":     {func(p *tlp.Packet) { p.Requester = 8 }, Mismatch},
		"byte count":    {func(p *tlp.Packet) { p.ByteCount = 124 }, Mismatch},
		"lower address": {func(p *tlp.Packet) { p.Lower = 0x40 }, Mismatch},
		"the second":    {func(p *tlp.Packet) { *p = second }, Mismatch},
		"length":        {func(p *tlp.Packet) { p.Len, p.Data = 15, p.Data[:60] }, Mismatch},
		"no data":       {func(p *tlp.Packet) { *p = tlp.Packet{Kind: tlp.Cpl, Requester: 7, Tag: 3, ByteCount: 128} }, Mismatch},
	} {
		t.Run(name, func(t *testing.T) {
			q := tags{slots: make([]slot, 8), stride: 1, timeout: time.Second}
			for range 4 { // tags 0 to 3
				q.take(readOf(0x2000, 128), 7, 0)
			}
			bad := first
			tt.change(&bad)
			got, why, _ := q.match(&bad, 0)
			assert.Nil(t, got)
			assert.Equal(t, tt.want, why)
			for _, good := range []tlp.Packet{first, second} {
				got, _, text := q.match(&good, 0)
				assert.NotNil(t, got, text)
			}
			got, why, _ = q.match(&second, 0)
			assert.Nil(t, got, "a repeated completion")
			assert.Equal(t, Unexpected, why)
		})
	}
}
