package testbench

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The log of a run has what a firmware writes while it runs.
func TestFirmwareLinesOfARun(t *testing.T) {
	all, _ := logOf(t, "emu?config=full", Queues{Use: true})
	var texts []string
	for _, e := range all {
		if e.Kind == eventlog.Firmware {
			texts = append(texts, e.Text())
		}
	}
	assert.Equal(t, []string{fmt.Sprintf("boot: build %08x, memory of 32768 bytes", binary.BigEndian.Uint32(firmware.LogTable()))}, texts)
}
