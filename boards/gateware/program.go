package gateware

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hilgpu/hilgpu/rtl/synth"
)

// Errors of Program.
var (
	ErrFile    = errors.New("gateware: no bitstream")
	ErrProgram = errors.New("gateware: the board was not programmed")
)

// File returns the path of the bitstream in the directory of a build.
func (b *Board) File(dir string) string { return filepath.Join(dir, b.Name+b.Part.Suffix()) }

// Program writes a bitstream to the board with openFPGALoader, or with iceprog where that is
// possible and openFPGALoader is missing. Their output goes to log. It fails with ErrFile,
// synth.ErrTool or ErrProgram.
func (b *Board) Program(file string, log io.Writer) error {
	if s, err := os.Stat(file); err != nil || !s.Mode().IsRegular() {
		return fmt.Errorf("%w: %s: build it with: hilgpu board build %s", ErrFile, file, b.Name)
	}
	args := []string{"openFPGALoader", "-b", b.Programs, file}
	if _, err := exec.LookPath(args[0]); err != nil {
		missing := fmt.Errorf("%w: openFPGALoader (Debian package openfpgaloader)", synth.ErrTool)
		if !b.Iceprog {
			return missing
		}
		if synth.Tools("iceprog") != nil {
			return fmt.Errorf("%w, or iceprog (Debian package fpga-icestorm)", missing)
		}
		args = []string{"iceprog", file}
	}
	c := exec.Command(args[0], args[1:]...)
	c.Stdout, c.Stderr = log, log
	if err := c.Run(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrProgram, args[0], err)
	}
	return nil
}
