// Testsum runs go test and prints the output of go test without -v, package by
// package as they end. It then prints one line with the number of skipped tests
// and the reasons, so that no skip goes unnoticed.
//
//	testsum [arguments of go test]
//	testsum -long [flags of go test]
//	testsum -skipped FILE [arguments of go test]
//	testsum -again FILE [flags of go test]
//
// With -long it runs only the tests of the module that call tooltest.Long, which HILGPU_FAST=1 skips.
// With -skipped it writes which tests were skipped because this system cannot run them, and with -again
// it runs only these.
//
// It exits as go test does, or with 1 if a test was skipped and CI=true is set
// in the environment. A case that is not applicable to a driver, because the driver or its
// board lacks a capability, is counted and does not fail.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
)

func main() {
	// go test also gets the interrupt; wait for its output.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// arguments returns the arguments of go test, and the file for the skipped tests or "".
func arguments(args []string) (all []string, skipped string, err error) {
	var tests []string
	switch {
	case len(args) > 0 && args[0] == "-long":
		tests, err = longTests(".")
		args = args[1:]
	case len(args) > 1 && args[0] == "-skipped":
		skipped, args = args[1], args[2:]
	case len(args) > 1 && args[0] == "-again":
		tests, err = skippedTests(args[1])
		args = args[2:]
	}
	return slices.Concat(args, tests), skipped, err
}

// run runs go test and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	args, skipped, err := arguments(args)
	if err != nil {
		fmt.Fprintf(stderr, "testsum: %v\n", err)
		return 1
	}
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintf(stderr, "testsum: %v\n", err)
		return 1
	}
	s := newSum(stdout)
	read := s.read(pipe)
	if skipped != "" {
		read = errors.Join(read, s.writeSkipped(skipped))
	}
	err = cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		read = errors.Join(read, err)
	}
	if read != nil {
		fmt.Fprintf(stderr, "testsum: %v\n", read)
		code = max(code, 1)
	}
	if s.failed {
		fmt.Fprintln(stdout, "FAIL")
	}
	if line := s.skipLine(); line != "" {
		fmt.Fprintln(stdout, line)
		if s.missing && os.Getenv("CI") == "true" {
			fmt.Fprintln(stderr, "testsum: with CI=true no test may be skipped")
			code = max(code, 1)
		}
	}
	return code
}
