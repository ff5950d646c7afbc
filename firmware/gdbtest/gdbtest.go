// Package gdbtest runs gdb-multiarch in tests, and builds the ELF file of the firmware for it.
package gdbtest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// Need skips a test if GDB or the compiler is missing, as tooltest.Need does.
func Need(t testing.TB) {
	t.Helper()
	tooltest.Need(t, "riscv64-unknown-elf-gcc", "gdb-multiarch")
}

// ELF builds the ELF file of the firmware, checks that it is that of the image in this program,
// and returns its path. root is the root directory of the module.
func ELF(t testing.TB, root string) string {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("go", "run", "./firmware/build", "-o", dir, "-check")
	c.Dir = root
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	path := filepath.Join(dir, "firmware.elf")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, firmware.ELF(), fmt.Sprintf("%x", sha256.Sum256(data)))
	return path
}

// A Step is a command of GDB, and what it must print, as a regular expression.
type Step [2]string

// A Session is a GDB that runs.
type Session struct {
	t       testing.TB
	steps   []Step
	command *exec.Cmd
	printed bytes.Buffer
}

// patience is how long GDB waits for an answer, in seconds. The server answers when the program
// has started, which takes long on a busy machine.
const patience = "120"

// Begin starts GDB with arguments, which are its files and commands before the steps.
func Begin(t testing.TB, steps []Step, args ...string) *Session {
	t.Helper()
	args = append([]string{"-nx", "-batch", "-l", patience, "-ex", "set confirm off", "-ex", "set width 0"}, args...)
	for i, s := range steps {
		args = append(args, "-ex", fmt.Sprintf("echo \\n<step %d>\\n", i), "-ex", s[0])
	}
	s := &Session{t: t, steps: steps, command: exec.Command("gdb-multiarch", args...)}
	s.command.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=", "HOME="+t.TempDir())
	s.command.Stdout, s.command.Stderr = &s.printed, &s.printed
	require.NoError(t, s.command.Start())
	return s
}

// Process returns the process of GDB.
func (s *Session) Process() *os.Process { return s.command.Process }

// End waits for the end of GDB, and compares what each command printed.
func (s *Session) End() {
	s.t.Helper()
	err := s.command.Wait()
	out := s.printed.String()
	require.NoError(s.t, err, "%s", out)
	for i, step := range s.steps {
		_, got, found := strings.Cut(out, fmt.Sprintf("\n<step %d>\n", i))
		require.True(s.t, found, "gdb did not come to %q:\n%s", step[0], out)
		got, _, _ = strings.Cut(got, "\n<step ")
		require.Regexp(s.t, "(?s)"+step[1], strings.TrimSpace(got), "%s, in\n%s", step[0], out)
	}
}
