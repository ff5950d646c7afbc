package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// place makes the board a function by a write of Command, and acknowledges its completion, which
// has the number n.
func (c *counted) place(function string, n byte) {
	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true}
	c.data(0, unhex("44000001000001"+"0f"+function+"0004"+"06000000")...)
	require.Len(c.t, c.sent(), 1)
	c.control(0, n+1)
}

// short sends a read of the dword at 0x80001008 with a tag of 0x21 in form 1.
func (c *counted) short() {
	c.send(append(number(9, c.next), unhex("d4"+"21"+"80"+"10"+"08")...), c.epoch, 500)
	c.next++
}

// want returns a frame of the board with its check: the number of a data frame with its form, the
// acknowledgement of all that has arrived, and a body.
func (c *counted) want(form, n uint16, body string) []byte {
	return checked(append(append(number(form, n), number(0, c.next)...), unhex(body)...), c.epoch)
}

// TestSequencerShort: the answer to a read in form 1 has form 3, see docs/design.md "Link layers". It
// is repeated as it was. A write that the GPU offered before it is sent before it.
func TestSequencerShort(t *testing.T) {
	c := newCounted(t)
	c.place("0100", 0)
	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: 0x44332211}
	c.short()
	answer := c.want(0xf, 1, "c0"+"21"+"08"+"11223344")
	require.Equal(t, [][]byte{answer}, c.sent())
	c.run(1000)
	require.Equal(t, [][]byte{answer}, c.sent(), "the host did not acknowledge it")
	c.control(0, 2)

	c.short()
	require.Empty(t, c.sent())
	c.gpu = linkport.GPU{
		Cpl:  port.Completion{Status: port.CplSuccess, Last: true, Data: 0x55},
		Req:  port.Request{Kind: port.MemWrite, Len: 1, Addr: 0x1000},
		Beat: port.Beat{Valid: true, Last: true, Enable: 15, Data: 0x99},
	}
	c.run(500)
	f := c.sent()
	require.Len(t, f, 2)
	f[0][2+2+6] = 0 // the tag of a write has no meaning
	require.Equal(t, c.want(0xc, 2, "40000001"+"0100"+"00"+"0f"+"00001000"+"99000000")[:20], f[0][:20])
	require.Equal(t, c.want(0xf, 3, "c0"+"21"+"08"+"55000000"), f[1])
	c.control(0, 4)

	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: 0x88776655}
	c.short()
	answer = c.want(0xf, 4, "c0"+"21"+"08"+"55667788")
	require.Equal(t, [][]byte{answer}, c.sent())
	c.run(1000)
	require.Equal(t, [][]byte{answer}, c.sent(), "in the other slot")
	c.control(0, 5)

	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: 0x4433221100000099}
	c.data(0, unhex("04000001000031"+"0f"+"01000004")...)
	require.Equal(t, [][]byte{c.want(0xf, 5, "c0"+"31"+"00"+"11223344")}, c.sent(), "of the configuration")
}

// TestSequencerPlace: a board at another place than 01:00.0 sends whole headers.
func TestSequencerPlace(t *testing.T) {
	c := newCounted(t)
	c.place("0208", 0)
	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: 0x44332211}
	c.short()
	require.Equal(t, [][]byte{c.want(0xc, 1, "4a000001"+"0208"+"0004"+"0000"+"21"+"08"+"11223344")}, c.sent())
	c.control(0, 2)
	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: 0x44332211}
	c.data(0, unhex("04000001000031"+"0f"+"02080000")...)
	require.Equal(t, [][]byte{c.want(0xc, 2, "4a000001"+"0208"+"0004"+"0000"+"31"+"00"+"11223344")}, c.sent())
}
