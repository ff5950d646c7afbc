// Testsum runs go test and prints what go test prints without -v, each package
// when it ends. After that it prints one line with the number of tests that were
// skipped and why, so that no skip is quiet.
//
//	testsum [arguments of go test]
//
// It exits as go test does, and with 1 if a test was skipped and the environment
// has CI=true.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
)

func main() {
	// An interrupt goes to go test as well, whose last words are wanted.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run runs go test and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
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
		if os.Getenv("CI") == "true" {
			fmt.Fprintln(stderr, "testsum: with CI=true every test runs")
			code = max(code, 1)
		}
	}
	return code
}
