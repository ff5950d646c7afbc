package fwtest

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

// logTable returns the formats of the default image.
func logTable(t *testing.T) log.Table {
	t.Helper()
	table, err := log.ParseTable(firmware.LogTable())
	require.NoError(t, err)
	return table
}

// texts takes the lines of the log.
func texts(t *testing.T, m machine) (all []string, lost uint32) {
	t.Helper()
	lines, lost, err := log.Read(m.At(area), logTable(t))
	require.NoError(t, err)
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return all, lost
}

// The formats are those of the image, and no image carries them. Each one has at most three arguments,
// each %u or %x.
func TestFormats(t *testing.T) {
	image, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	table := logTable(t)
	assert.Equal(t, image.Build, table.Build)
	require.NotEmpty(t, table.Formats())
	for _, f := range table.Formats() {
		assert.Regexp(t, `^([^%]*%(u|0?[1-8]?x)){0,3}[^%]*$`, f)
		assert.NotContains(t, string(image.Program), f)
	}
}

// The boot and each error write a line. With LOG the host selects more lines, or none. Lines that the
// ring has no room for are counted, and their numbers are missing.
func TestLog(t *testing.T) {
	image, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	boot := fmt.Sprintf("boot: build %08x, memory of 32768 bytes", binary.BigEndian.Uint32(image.Build[:]))
	for _, kind := range machines {
		m := kind.make(memory, Faults{})
		c := serving(t, m, 3)
		_, err := c.Hello(9)
		require.NoError(t, err)
		_, _, err = c.Call(fwabi.OpPing, nil)
		require.NoError(t, err)
		_, _, err = c.Call(99, nil)
		require.Error(t, err)
		got, lost := texts(t, m)
		assert.Equal(t, []string{boot, "request 2: op 99, status 1"}, got, kind.name)
		assert.Zero(t, lost)
		_, _, err = c.Call(fwabi.OpLog, []byte{3, 0, 0, 0})
		require.NoError(t, err)
		_, _, err = c.Call(fwabi.OpLog, []byte{4, 0, 0, 0})
		assert.EqualError(t, err, "message: request refused: LOG: ARGUMENT")
		_, _, err = c.Call(fwabi.OpPing, nil)
		require.NoError(t, err)
		_, _, err = c.Call(fwabi.OpLog, []byte{0, 0, 0, 0})
		require.NoError(t, err)
		_, _, err = c.Call(99, nil)
		require.Error(t, err)
		got, _ = texts(t, m)
		assert.Equal(t, []string{"request 3: op 4, status 0", "request 4: op 4, status 6", "request 5: op 2, status 0"}, got[:3], kind.name)
		_, _, err = c.Call(fwabi.OpLog, []byte{1, 0, 0, 0})
		require.NoError(t, err)
		for range fwabi.LogEntries + 5 {
			_, _, err = c.Call(99, nil)
			require.Error(t, err)
		}
		got, lost = texts(t, m)
		assert.Len(t, got, fwabi.LogEntries, kind.name)
		assert.EqualValues(t, 5, lost, kind.name)
		assert.True(t, asleep(t, m))
	}
}
