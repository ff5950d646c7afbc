package link

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/rtl/eth"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// The addresses of the station. The kernel of the board's namespace has another one, and
// answers nothing for this one.
const (
	stationIP   = "10.0.0.3"
	stationPort = 30000
)

var stationParams = ip.Params{MAC: [6]byte{2, 0, 0, 0, 0, 0x33}, IP: [4]byte{10, 0, 0, 3}, Port: stationPort, EtherType: 0x88b5}

// A bridge connects a station to a network interface. Its link returns each datagram.
type bridge struct {
	m    *eth.Module
	conn *packet.Conn
	data []byte // of the datagram in work
	back []byte // to be sent
	line []byte // the frame that is being sent, from the preamble on
}

// run serves frames until the socket is closed.
func (b *bridge) run() {
	buf := make([]byte, 2048)
	for {
		n, _, err := b.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		b.receive(buf[:n])
	}
}

// receive gives the station a frame, with what an interface adds, and clocks it until it has
// answered.
func (b *bridge) receive(f []byte) {
	f = append([]byte(nil), f...)
	for len(f) < mac.MinFrame-4 {
		f = append(f, 0)
	}
	f = binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
	for _, v := range append([]byte{0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5}, f...) {
		b.clock(mac.Byte{Valid: true, Data: v})
	}
	b.clock(mac.Byte{Valid: true, End: true})
	for quiet := 0; quiet < 100; quiet++ {
		if b.clock(mac.Byte{}) {
			quiet = 0
		}
	}
}

// clock is one clock. It reports whether anything happened.
func (b *bridge) clock(rx mac.Byte) bool {
	l := eth.Link{Ready: true, Valid: len(b.back) > 0, Last: len(b.back) == 1}
	if l.Valid {
		l.Data = b.back[0]
	}
	valid, symbol := b.m.Symbol()
	d, takes := b.m.Datagram(), b.m.Ready()
	b.m.Tick(rx, true, l, 0)
	if l.Valid && takes {
		b.back = b.back[1:]
	}
	if d.Valid {
		if b.data = append(b.data, d.Data); d.Last {
			b.back, b.data = append(b.back, b.data...), nil
		}
	}
	if valid && symbol.Enable {
		b.line = append(b.line, symbol.Data)
	}
	if valid && symbol.Last {
		b.conn.WriteTo(b.line[8:len(b.line)-4], &packet.Addr{HardwareAddr: net.HardwareAddr(b.line[8:14])})
		b.line = nil
	}
	return valid || d.Valid || l.Valid
}

// station starts a station at the interface of the board.
func station(t *testing.T, n *ethertest.Net) {
	t.Helper()
	var conn *packet.Conn
	var err error
	n.Board(t, func() {
		var i *net.Interface
		if i, err = net.InterfaceByName(ethertest.BoardInterface); err == nil {
			conn, err = packet.Listen(i, packet.Raw, unix.ETH_P_ALL, nil)
		}
	})
	require.NoError(t, err)
	b := bridge{m: eth.New(stationParams), conn: conn}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.run()
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
}

// TestSystemPing: the ping of the system finds the station, which the kernel has found by ARP, and a
// UDP socket exchanges datagrams with it.
func TestSystemPing(t *testing.T) {
	tooltest.Need(t, "ping")
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		station(t, n)
		for _, size := range []int{0, 1, 56, 1471, 1472} {
			text, err := exec.Command("ping", "-n", "-c", "3", "-i", "0.01", "-W", "20", "-M", "do", "-s", strconv.Itoa(size), stationIP).CombinedOutput()
			require.NoError(t, err, "%s", text)
			assert.Contains(t, string(text), "3 packets transmitted, 3 received, 0% packet loss", "%d bytes", size)
			assert.Contains(t, string(text), strconv.Itoa(size+8)+" bytes from "+stationIP)
			assert.NotContains(t, string(text), "wrong")
			t.Logf("%s", bytes.TrimSpace(text))
		}
		text, err := exec.Command("ping", "-n", "-c", "1", "-W", "1", "10.0.0.4").CombinedOutput()
		assert.Error(t, err, "another address: %s", text)
		exchange(t)
	})
}

// exchange sends datagrams of several sizes to the station, which returns them. The kernel
// leaves the checksum of UDP to an interface, and this one has none: so it is left out.
func exchange(t *testing.T) {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if again := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1) }); again != nil {
			return again
		}
		return err
	}}
	conn, err := d.DialContext(context.Background(), "udp4", net.JoinHostPort(stationIP, strconv.Itoa(stationPort)))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	for _, size := range []int{1, 18, 19, 500, 1472} {
		data := bytes.Repeat([]byte{byte(size), 0xa5, 0, 0xff}, size/4+1)[:size]
		_, err := conn.Write(data)
		require.NoError(t, err)
		got := make([]byte, 2000)
		k, err := conn.Read(got)
		require.NoError(t, err, "%d bytes", size)
		require.Equal(t, data, got[:k])
	}
}
