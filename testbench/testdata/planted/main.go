// Command planted composes with one planted fault after another and writes a log of each run, and the dump of a GPU
// that stopped. It is built with mutated sources. The arguments are a folder and, for each fault,
// NAME,CHECKS,TDR,BOARD: the checks are none, rules or access, and TDR is Options.TdrDelay.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/testdata/planted/plant"
)

func main() {
	for _, arg := range os.Args[2:] {
		if err := run(os.Args[1], strings.SplitN(arg, ",", 4)); err != nil {
			fmt.Fprintf(os.Stderr, "planted: %s: %v\n", arg, err)
			os.Exit(1)
		}
	}
}

// run composes with a fault. That the run fails is expected.
func run(dir string, arg []string) error {
	tdr, err := strconv.ParseUint(arg[2], 10, 64)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, arg[0]+".log"))
	if err != nil {
		return err
	}
	plant.Set(arg[0])
	var log *eventlog.Writer
	o := testbench.Options{NoVerify: arg[1] == "none", Sanitize: arg[1] == "access", TdrDelay: tdr}
	o.Record = func(h eventlog.Header) (events.Sink, error) {
		log, err = eventlog.NewWriter(f, h)
		return log, err
	}
	var stopped *dxgkrnl.DeviceError
	if errors.As(composes(arg[3], o), &stopped) {
		if err := os.WriteFile(filepath.Join(dir, arg[0]+".dump"), []byte(stopped.Dump), 0o666); err != nil {
			return err
		}
	}
	if err := log.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// composes composes on a board. A bugcheck without the checks is a panic, and no error.
func composes(board string, o testbench.Options) (err error) {
	sources, err := compose.Samples()
	if err != nil {
		return err
	}
	plan, err := compose.NewPlan(compose.Options{Width: 40, Height: 30, Contexts: 2, Seed: 1, Sources: sources})
	if err != nil {
		return err
	}
	defer func() { _ = recover() }()
	s, err := testbench.Open(board, testbench.HostDrivers().WithoutNodeRecovery(), o)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = compose.Run(s, plan)
	return err
}
