package verilog

import (
	"os"
	"testing"

	"github.com/hilgpu/hilgpu/rtl/link/seq"
)

func TestZZ(t *testing.T) {
	p, err := seq.Program(seq.Options{Replay: 6})
	if err != nil {
		t.Fatal(err)
	}
	m := seq.New(p.Words, 25_000)
	d, err := translate("../..", &m, "Fetch", "Release", "Send", "Target", "Takes", "Complete", "LEDs")
	if err != nil {
		t.Fatal(err)
	}
	os.MkdirAll("/tmp/m/seq", 0o777)
	for _, f := range d.Files {
		os.WriteFile("/tmp/m/seq/"+f.Name, f.Text, 0o666)
	}
}
