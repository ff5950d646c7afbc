package main

import (
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/serial"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// candidates returns the completions of a command line. The last argument is
// the word to complete.
func candidates(t *testing.T, args ...string) (all []string, directive string) {
	t.Helper()
	code, stdout, stderr := hilgpu(append([]string{"__complete"}, args...)...)
	require.Zero(t, code, stderr)
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		name, _, _ := strings.Cut(line, "\t")
		all = append(all, name)
	}
	return all, lines[len(lines)-1]
}

func TestCompletion(t *testing.T) {
	tooltest.Long(t)
	const (
		files   = ":0"
		nothing = ":4"
		dirs    = ":16"
		ending  = ":8"
		words   = ":36" // in this order, no files
		parts   = ":38" // no space afterwards
	)
	for _, tt := range []struct {
		line      string // a trailing space means an empty word
		want      string
		directive string
	}{
		{"r", "reg report rules run", nothing},
		{"run ", "compose copy fill lists storm stress", nothing},
		{"help ", "bench board bringup completion drivertest exit-codes firmware lockstep log reg report rules run selectors synth test verilog version why", nothing},
		{"help run co", "compose copy", nothing},
		{"run compose --board ", "emu verilated serial: tcp: udp: eth: nettlp: line pins: snap: capture: inspect:", parts},
		{"run compose --board=emu?node", "emu?nodes=", parts},
		{"run storm --board emu?nodes=1&wat", "emu?nodes=1&watchdog=", parts},
		{"test --board emu?config=", "emu?config=full emu?config=default emu?config=small", parts},
		{"bringup --board emu?fault=lost-", "emu?fault=lost-interrupt emu?fault=lost-doorbell emu?fault=lost-answer", parts},
		{"reg --board tcp:h:1?s", "tcp:h:1?silence=", parts},
		{"board probe l", "line", parts},
		{"board probe --options d", "driver=", parts},
		{"board serve ", "emu", parts},
		{"board build ", "ice40-hx8k ulx3s ulx3s-mcu ulx3s-25f ulx3s-12f colorlight-i5", words},
		{"board flash -o ", "", dirs},
		{"board serve --listen ", "eth: nettlp: pty: tcp: udp:", parts},
		{"board serve --pace ", "free clock", words},
		{"board serve --link-faults loss=0.1,d", "loss=0.1,dup=", parts},
		{"reg read cp0.ring_s", "cp0.ring_size", parts},
		{"reg read id.magic cp0.ct", "cp0.ctl", parts},
		{"reg list cp0.ctl.r", "cp0.ctl.run cp0.ctl.reset", parts},
		{"reg write cp0.fault_info.cause=l", "cp0.fault_info.cause=length", words},
		{"reg write cp0.fault_info.cause l", "length", words},
		{"reg write id.scratch0=", "", words},
		{"reg write id.scratch0=1 id.mag", "id.magic", parts},
		{"reg diff v", "verilated", ":2"},
		{"reg diff a b ", "", nothing},
		{"reg export sv", "sv svd svd-safe", words},
		{"reg export svd ", "", nothing},
		{"firmware log --level ", "errors events messages", words},
		{"firmware log --format ", "text jsonl csv", words},
		{"firmware log --table ", "", files},
		{"firmware load --image ", "", files},
		{"reg export c --against ", "json", ending},
		{"report ", "", files},
		{"report a ", "", nothing},
		{"report a -o ", "html", ending},
		{"report a --timeline ", "json", ending},
		{"test --baseline ", "", files},
		{"reg snap ", "", nothing},
		{"reg snap -o ", "", files},
		{"rules explain list-c", "list-context", words},
		{"rules explain list-context ", "", nothing},
		{"run compose --waive list-c", "list-context", words},
		{"run compose a", "png jpg jpeg", ending},
		{"run compose --wave ", "vcd", ending},
		{"run compose --capture ", "pcapng", ending},
		{"run compose --wave-on ", "fault cycle", words},
		{"run compose --size ", "", nothing},
		{"run copy --dir vram-", "vram-host vram-vram", words},
		{"run fill --dir ", "host vram", words},
		{"run copy ", "", nothing},
		{"bringup --only me", "mem mem.data mem.addr mem.enables mem.patterns", parts},
		{"bringup --only mem.data,me", "mem.data,mem mem.data,mem.addr mem.data,mem.enables mem.data,mem.patterns", parts},
		{"bringup --poke ", "safe idle destructive", words},
		{"bringup --bytes ", "all", words},
		{"bringup --report ", "", dirs},
		{"test --filter order-f", "order-flush order-full", words},
		{"test --artifacts ", "", dirs},
		{"test --junit ", "xml", ending},
		{"lockstep --sim ", "verilator icarus netlist", words},
		{"lockstep --config small?vramp", "small?vramports=", parts},
		{"lockstep --source ", "", dirs},
		{"lockstep mutants --config s", "small", parts},
		{"lockstep prove --config s", "small", parts},
		{"synth --target ", "ice40 ecp5", words},
		{"verilog -o ", "", dirs},
		{"verilog --config d", "default", parts},
	} {
		got, directive := candidates(t, strings.Split(tt.line, " ")...)
		assert.Equal(t, strings.Fields(tt.want), append([]string{}, got...), tt.line)
		assert.Equal(t, tt.directive, directive, tt.line)
	}
	ports, err := serial.List()
	require.NoError(t, err)
	got, _ := candidates(t, "run", "compose", "--board", "serial:")
	assert.Len(t, got, len(ports))
	for _, p := range ports {
		assert.Contains(t, got, "serial:"+p.String())
	}
}

// TestBashCompletion makes bash complete lines with the script. The test binary
// is also the program that the script calls.
func TestBashCompletion(t *testing.T) {
	tooltest.Long(t)
	const child = "HILGPU_TEST_BASH"
	if os.Getenv(child) != "" {
		os.Exit(run(flag.Args(), os.Stdout, os.Stderr))
	}
	tooltest.Need(t, "bash")
	_, script, _ := hilgpu("completion", "bash")
	const drive = `
hilgpu() { "$PROGRAM" -test.run='^TestBashCompletion$' -- "$@"; }
compopt() { options+=" $2"; }
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_TYPE=$TYPE COLUMNS=40
_hilgpu
printf '%s\n' "$options" "${COMPREPLY[@]}"
`
	for _, tt := range []struct {
		line    string
		options string
		want    []string
	}{
		{"hilgpu run co", "", []string{"compose", "copy"}},
		{"hilgpu run compose --board ver", " nospace nosort", []string{"verilated"}},
		{"hilgpu run compose --board tcp:h:1?s", " nospace nosort", []string{"1?silence="}},
		{"hilgpu run compose --board emu?no", " nospace nosort", []string{"emu?nodes="}},
		{"hilgpu run compose --board emu?nodes=", " nospace nosort", []string{"1", "2"}},
		{"hilgpu run compose --board=emu?no", " nospace nosort", []string{"emu?nodes="}},
		{"hilgpu run compose --board emu?nodes=1", " nospace nosort", []string{"1", `1\&`}},
		{`hilgpu run compose --board emu?nodes=1\&vramp`, " nospace nosort", []string{`1\&vramports=`}},
		{"hilgpu run compose --board 'emu?nodes=1&vramp", " nospace nosort", []string{"emu?nodes=1&vramports="}},
		{`hilgpu run compose --board "emu?nodes=1&vramp`, " nospace nosort", []string{"emu?nodes=1&vramports="}},
		{"hilgpu reg read cp0.'ring_s", " nospace nosort", []string{"ring_size"}},
		{"hilgpu bringup --only mem,irq.m", " nospace nosort", []string{"mem,irq.message"}},
		{"hilgpu reg write cp0.fault_info.cause=le", " nosort", []string{"length"}},
		{"hilgpu run compose testdata/n", " filenames", []string{}},
		{"hilgpu reg snap -o main.", " filenames", []string{"main.go"}},
		{"hilgpu reg diff main.", " nospace filenames", []string{"main.go"}},
		{"hilgpu bringup --report=test", " filenames", []string{"testdata"}},
		{"hilgpu nothing x", " filenames", []string{}},
	} {
		t.Run(tt.line, func(t *testing.T) {
			cmd := exec.Command("bash", "--norc", "--noprofile", "-c", script+drive)
			cmd.Env = append(os.Environ(), child+"=1", "PROGRAM="+os.Args[0], "LINE="+tt.line, "TYPE=9")
			out, err := cmd.Output()
			require.NoError(t, err)
			lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			assert.Equal(t, tt.options, lines[0])
			assert.Equal(t, tt.want, slices.DeleteFunc(lines[1:], func(s string) bool { return s == "" }))
		})
	}
	cmd := exec.Command("bash", "--norc", "--noprofile", "-c", script+drive)
	cmd.Env = append(os.Environ(), child+"=1", "PROGRAM="+os.Args[0], "LINE=hilgpu run co", "TYPE=63")
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, "\ncompose  (Compose images into a frame,\ncopy     (Copy with the GPU, through i\n", string(out))
}
