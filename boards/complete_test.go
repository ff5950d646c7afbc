package boards

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func texts(all []Candidate) []string {
	out := []string{}
	for _, c := range all {
		out = append(out, c.Text)
	}
	return out
}

func TestComplete(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a?.json"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "b"), 0o700))
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", []string{"emu", "verilated", "serial:", "tcp:", "udp:", "eth:", "nettlp:", "line", "pins:", "snap:", "capture:", "inspect:"}},
		{"s", []string{"serial:", "snap:"}},
		{"emu", []string{"emu", "emu?"}},
		{"x", []string{}},
		{"emu:", []string{}},
		{"vapour?", []string{}},
		{"emu?n", []string{"emu?nodes="}},
		{"emu?nodes=", []string{"emu?nodes=1", "emu?nodes=2"}},
		{"emu?nodes=1", []string{"emu?nodes=1", "emu?nodes=1&"}},
		{"emu?nodes=1&co", []string{"emu?nodes=1&config=", "emu?nodes=1&coalescing=", "emu?nodes=1&counters=", "emu?nodes=1&contexts=", "emu?nodes=1&count="}},
		{"emu?count=1&co", []string{"emu?count=1&config=", "emu?count=1&coalescing=", "emu?count=1&counters=", "emu?count=1&contexts="}},
		{"emu?config=f", []string{"emu?config=full"}},
		{"emu?fault=stuck-", []string{"emu?fault=stuck-address:A", "emu?fault=stuck-enable:", "emu?fault=stuck-data:D", "emu?fault=stuck-register:D", "emu?fault=stuck-mcu:W"}},
		{"verilated?fault=", []string{"verilated?fault=lost-interrupt", "verilated?fault=lost-doorbell", "verilated?fault=dead", "verilated?fault=dead-request", "verilated?fault=lost-answer", "verilated?fault=late-answer", "verilated?fault=ignore-preempt", "verilated?fault=ignore-reset"}},
		{"emu?fault=dead-lane:3,lost-d", []string{"emu?fault=dead-lane:3,lost-doorbell"}},
		{"line?faults=loss=0.1,d", []string{"line?faults=loss=0.1,dup="}},
		{"serial:/dev/x?dr", []string{"serial:/dev/x?driver="}},
		{"serial:/dev/x?driver=t", []string{"serial:/dev/x?driver=tarm"}},
		{"tcp:h:1?s", []string{"tcp:h:1?silence="}},
		{"emu?vram=3", []string{}},
		{"snap:" + dir + "/a", []string{"snap:" + dir + "/a?.json"}},
		{"capture:" + dir + "/", []string{"capture:" + dir + "/a?.json", "capture:" + dir + "/b/"}},
	} {
		assert.Equal(t, tt.want, texts(Complete(tt.text)), "%q", tt.text)
	}
	for _, c := range Complete("serial:") { // the ports of this machine
		assert.Regexp(t, "^serial:.", c.Text)
	}
	for _, c := range Complete("eth:") { // the interfaces of this machine
		assert.Regexp(t, "^eth:.+/$", c.Text)
	}
	assert.Equal(t, []string{"full", "default", "small"}, texts(CompleteConfig("")))
	assert.Equal(t, []string{"small?vramports=1", "small?vramports=2"}, texts(CompleteConfig("small?vramports=")))
	assert.Empty(t, CompleteConfig("small?conf"))
	assert.Empty(t, CompleteConfig("small?lat"))
	assert.Equal(t, []string{"emu"}, texts(CompleteServed("")))
	assert.Empty(t, CompleteServed("emu?lat"))
	assert.Equal(t, []string{"emu?nodes="}, texts(CompleteServed("emu?nod")))
}
