package ip

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func params() Params {
	return Params{MAC: [6]byte{2, 0x11, 0x22, 0x33, 0x44, 0x55}, IP: [4]byte{10, 0, 0, 2}, Port: 30000, EtherType: 0x88b5}
}

// TestParams refuses addresses that a station cannot have.
func TestParams(t *testing.T) {
	assert.Equal(t, uint64(0x021122334455), params().Addr())
	for _, tt := range []struct {
		name   string
		change func(p *Params)
		bad    bool
	}{
		{"as they are", func(p *Params) {}, false},
		{"the MAC address of a group", func(p *Params) { p.MAC[0] = 3 }, true},
		{"no MAC address", func(p *Params) { p.MAC = [6]byte{} }, true},
		{"no IP address", func(p *Params) { p.IP = [4]byte{} }, true},
		{"the last IP address of hosts", func(p *Params) { p.IP[0] = 223 }, false},
		{"the IP address of a group", func(p *Params) { p.IP[0] = 224 }, true},
		{"port 0", func(p *Params) { p.Port = 0 }, true},
		{"a length", func(p *Params) { p.EtherType = 0x5ff }, true},
		{"the first EtherType", func(p *Params) { p.EtherType = 0x600 }, false},
		{"that of IP", func(p *Params) { p.EtherType = 0x800 }, true},
		{"that of ARP", func(p *Params) { p.EtherType = 0x806 }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := params()
			tt.change(&p)
			for _, f := range []func(){func() { NewParser(p) }, func() { NewBuilder(p) }} {
				if tt.bad {
					assert.Panics(t, f)
				} else {
					assert.NotPanics(t, f)
				}
			}
		})
	}
}

// TestWords decodes what is encoded, and no list is longer than its place in the table.
func TestWords(t *testing.T) {
	p := params()
	for _, list := range [][]field{rawFields(), arpFields(p), echoFields(p), udpFields(p)} {
		require.LessOrEqual(t, len(list), steps)
		for _, f := range list {
			require.Zero(t, f.encode()>>fieldBits)
			require.Equal(t, f, fieldOf(uint32(f.encode())))
		}
	}
	for _, list := range [][]part{rawParts(p), arpParts(p), echoParts(p), udpParts(p)} {
		require.LessOrEqual(t, len(list), steps)
		for _, v := range list {
			require.Zero(t, v.encode()>>partBits)
			require.Equal(t, v, partOf(uint32(v.encode())))
		}
	}
}
