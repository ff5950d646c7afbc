package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/serial"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

func TestBoards(t *testing.T) {
	hashed := bits.TrailingZeros32(regmap.Hash() &^ idreg.MagicValue) // a line that the identity does not need
	stuck := fmt.Sprintf("emu?fault=stuck-register:D%d=0", hashed)
	all, err := Boards([]string{"emu?nodes=1&vram=8KiB", stuck, "tcp:127.0.0.1:1"}, boards.Options{})
	require.NoError(t, err)
	require.Len(t, all, 3)
	assert.Equal(t, "ready", all[0].State)
	assert.NoError(t, all[0].Err)
	assert.EqualValues(t, 1, all[0].Identity.Nodes)
	assert.ErrorIs(t, all[1].Err, regs.ErrMapHash)
	assert.Regexp(t, `^map mismatch: `, all[1].State)
	assert.Error(t, all[2].Err)
	assert.Nil(t, all[2].Identity)

	var b bytes.Buffer
	require.NoError(t, WriteBoards(&b, all[:1]))
	assert.Regexp(t, `^SELECTOR +IDENTITY +STATE\nemu\?nodes=1&vram=8KiB  1234:4847 v[0-9.]+, map [0-9a-f]{8}, 1 nodes, 8 KiB VRAM  ready\n$`, b.String())
	assert.Nil(t, all[0].Link)
	text, err := json.Marshal(all[2])
	require.NoError(t, err)
	assert.Contains(t, string(text), `{"selector":"tcp:127.0.0.1:1","identity":null,"state":"`)

	all, err = Boards([]string{"pins:ice40-hx8k"}, boards.Options{})
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, WriteBoards(&b, all))
	assert.Regexp(t, `\npins:ice40-hx8k +1234:4847 v[0-9.]+, map [0-9a-f]{8}, build [0-9a-f]{8} \(ice40-hx8k\), 1 nodes, 4 KiB VRAM  ready\n`+
		`pins:ice40-hx8k\n  link up, cause of the last end NONE, 2000000 bit/s, clock 20250000 Hz\n`+
		`  sessions 1, received [0-9]+, refused 0, repeated 0, naks 0, packets 0\n  framing 0, glitches 0, breaks 0\n$`, b.String())
	assert.Equal(t, "build 00000001 (of another source), ", build("00000001", nil))

	all, err = Boards([]string{"pins:colorlight-i5?mac=02:00:00:00:00:09&ip=192.168.7.8"}, boards.Options{})
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, WriteBoards(&b, all))
	assert.Regexp(t, `, build [0-9a-f]{8} \(colorlight-i5\), 1 nodes, 32 KiB VRAM  ready\n(.*\n)+  MAC 02:00:00:00:00:09, IP 192.168.7.8, port 4000\n`, b.String())
	text, err = json.Marshal(all[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), `"mac":"02:00:00:00:00:09","ip":"192.168.7.8","udp_port":4000`)

	all, err = Boards([]string{"pins:ulx3s-25f", "pins:colorlight-i5"}, boards.Options{})
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, WriteBoards(&b, all))
	assert.Regexp(t, `\npins:ulx3s-25f
  link up, cause of the last end NONE, 3007519 bit/s, clock 25000000 Hz
  sessions 1, received [0-9]+, refused 0, repeated 0, naks 0, packets 0
  framing 0, glitches 0, breaks 0
pins:colorlight-i5
  link up, cause of the last end NONE, clock 25000000 Hz
  sessions 1, received [0-9]+, refused 0, repeated 0, naks 0, packets 0
  MAC 02:68:69:6c:00:05, IP 10.0.0.5, port 4000
  runts 0, oversized 0, bad 0, filtered 0, good [0-9]+, no_room 0, ignored 0, invalid 0
$`, b.String())
	text, err = json.Marshal(all[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), `"link":{"up":true,"cause":"NONE","clock_hz":25000000,"period":133,"baud":3007519,"counters":{"sessions":1,`)

	_, err = Boards([]string{"vapour"}, boards.Options{})
	assert.ErrorIs(t, err, boards.ErrSelector)
}

func TestPorts(t *testing.T) {
	p := newPort(serial.PortInfo{Path: "/dev/ttyUSB1", Serial: "A7", Vendor: "0403", Product: "6010", Manufacturer: "FTDI", Interface: 0})
	assert.Zero(t, *p.Interface)
	assert.Nil(t, newPort(serial.PortInfo{Interface: -1}).Interface)
	assert.Equal(t, "0403:6010 FTDI", p.adapter())
	assert.Equal(t, "not on USB", Port{}.adapter())
	assert.Equal(t, serial.HoldersKnown(runtime.GOOS), p.holder() == "free")
	p.Holders = []string{"screen (7)", "cat (8)"}
	assert.Equal(t, "held by screen (7), cat (8)", p.holder())

	var b bytes.Buffer
	require.NoError(t, WritePorts(&b, []Port{p}))
	assert.Regexp(t, `^SELECTOR +DEVICE +ADAPTER +STATE\nserial:\S+  /dev/ttyUSB1  0403:6010 FTDI  held by screen \(7\), cat \(8\)\n$`, b.String())
	b.Reset()
	require.NoError(t, WritePorts(&b, nil))
	assert.Equal(t, "no serial port\n", b.String())
}
