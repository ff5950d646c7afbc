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
	text, err := json.Marshal(all[2])
	require.NoError(t, err)
	assert.Contains(t, string(text), `{"selector":"tcp:127.0.0.1:1","identity":null,"state":"`)

	all, err = Boards([]string{"pins:ice40-hx8k"}, boards.Options{})
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, WriteBoards(&b, all))
	assert.Regexp(t, `\npins:ice40-hx8k +1234:4847 v[0-9.]+, map [0-9a-f]{8}, build [0-9a-f]{8} \(ice40-hx8k\), 1 nodes, 4 KiB VRAM  ready\n$`, b.String())
	assert.Equal(t, "build 00000001 (of another source), ", build("00000001"))

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
