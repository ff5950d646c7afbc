// Pgo writes the profile with which go build optimizes cmd/hilgpu, or checks it.
//
//	go run ./cmd/pgo [-root DIR] [-seconds N]
//	go run ./cmd/pgo [-root DIR] -check
//
// The profile is that of the workloads busy, mixed and compose, with the same weight
// for each. It has only calls between functions of this module, by name and line within
// the function: no file names and nothing of the machine.
//
// With -check it writes nothing. It prints the share of the profile whose calls are still
// in the source, and exits 1 if that is below 70 %: then the compiler ignores too much of
// the profile, and it must be written again. It exits 2 on bad usage, and 1 if a workload
// fails or a file cannot be read or written.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// profileFile is where go build finds the profile of cmd/hilgpu.
const profileFile = "cmd/hilgpu/default.pgo"

// leastShare is the least share of the profile whose calls must be in the source.
const leastShare = 0.7

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its environment as arguments. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("pgo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "root directory of the module")
	check := flags.Bool("check", false, "write nothing; fail if the profile is too old")
	seconds := flags.Int("seconds", 15, "length of each workload")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 0 || *seconds < 1 {
		fmt.Fprintln(stderr, "pgo: want only flags, and at least 1 second")
		return 2
	}
	do := func() error { return write(*root, time.Duration(*seconds)*time.Second, stdout) }
	if *check {
		do = func() error { return checkAge(*root, stdout) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// write measures the workloads and writes the profile.
func write(root string, d time.Duration, stdout io.Writer) error {
	calls, err := measure(d)
	if err != nil {
		return err
	}
	text, err := encode(calls)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, profileFile), text, 0o644); err != nil {
		return fmt.Errorf("pgo: %w", err)
	}
	fmt.Fprintf(stdout, "%s: %d calls, %d bytes\n", profileFile, len(calls), len(text))
	return nil
}

// checkAge fails if the calls of the profile are no longer in the source.
func checkAge(root string, stdout io.Writer) error {
	calls, err := read(filepath.Join(root, profileFile))
	if err != nil {
		return err
	}
	src := &source{root: root, packages: map[string]functions{}}
	share, missing, err := src.share(calls)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %.1f %% of the profile is in the source, want %.0f %%\n", profileFile, 100*share, 100*leastShare)
	if share < leastShare {
		return fmt.Errorf("pgo: the profile is too old: run make pgo. The largest call that the source does not have: %v", missing)
	}
	return nil
}
