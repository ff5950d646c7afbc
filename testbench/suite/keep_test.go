package suite

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
)

// folderTB is a TB with a folder for artifacts.
type folderTB struct {
	recording
	dir string
}

func (k *folderTB) ArtifactDir() string { return k.dir }

// With a log of the command a case keeps the last events of its own systems: the log has all, and the causes of both agree.
func TestCopiedEvents(t *testing.T) {
	var whole bytes.Buffer
	log, err := eventlog.NewWriter(&whole, eventlog.Header{})
	require.NoError(t, err)
	log.Add(eventlog.New(eventlog.Text).WithText("of an earlier board"))
	log.Add(eventlog.New(eventlog.Text).WithText("of an earlier board"))
	k := &T{begin: func(eventlog.Header) (events.Sink, error) { return log, nil }}
	sink, err := k.record(eventlog.Header{})
	require.NoError(t, err)
	first := sink.Add(eventlog.New(eventlog.Call, 1).WithText("Flush"))
	end := eventlog.New(eventlog.CallEnd)
	end.Cause = first
	assert.EqualValues(t, 4, sink.Add(end))
	require.NoError(t, sink.Flush())
	for name, tt := range map[string]struct {
		log          []byte
		number, from uint64
	}{"the log": {whole.Bytes(), 4, 3}, "the case": {k.log("a failure"), 2, 1}} {
		l, err := eventlog.NewReader(bytes.NewReader(tt.log))
		require.NoError(t, err, name)
		var e eventlog.Event
		for e.Kind != eventlog.CallEnd {
			require.NoError(t, l.Next(&e), name)
		}
		assert.Equal(t, tt.number, e.ID, name)
		assert.Equal(t, tt.from, e.Cause, name)
	}
}

// A failed test leaves the last clocks of the GPU, a passed one leaves nothing.
func TestFailureLeavesAWave(t *testing.T) {
	for _, fails := range []bool{true, false} {
		k := &folderTB{dir: t.TempDir()}
		c := Case{Name: "empty", run: func(t *T) {
			sys := t.Open(testbench.Options{})
			require.NoError(t, sys.WaitForIdle())
			if fails {
				t.Errorf("deliberate failure")
			}
		}}
		Instance{Case: c, Selector: "emu?vram=64KiB"}.Run(k, testbench.HostDrivers())
		k.clean()
		text, err := os.ReadFile(filepath.Join(k.dir, "wave.vcd"))
		_, lerr := os.Stat(filepath.Join(k.dir, "events.log"))
		assert.Equal(t, fails, lerr == nil, "the last events")
		if !fails {
			assert.ErrorIs(t, err, os.ErrNotExist)
			assert.Empty(t, k.messages)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []string{"deliberate failure"}, k.messages)
		d, err := vcdtest.Parse(strings.NewReader(string(text)))
		require.NoError(t, err)
		assert.Greater(t, len(d.Times), 100)
		assert.Contains(t, d.Vars, "gpu.cp1.decode_state")
	}
}
