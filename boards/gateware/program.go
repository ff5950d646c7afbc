package gateware

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/synth"
)

// Errors of Program.
var (
	ErrFile    = errors.New("gateware: no bitstream")
	ErrProgram = errors.New("gateware: the board was not programmed")
)

// File returns the path of the bitstream in the directory of a build.
func (b *Board) File(dir string) string { return filepath.Join(dir, b.Name+b.Part.Suffix()) }

// preambles are the bytes with which the configuration in a bitstream begins, by the suffix of
// its file: of an iCE40 (Lattice FPGA-TN-02001) and of an ECP5 (FPGA-TN-02039).
var preambles = map[string]string{".bin": "\x7e\xaa\x99\x7e", ".bit": "\xff\xff\xbd\xb3"}

// headerBytes is the most bytes before the preamble.
const headerBytes = 4096

// check fails if a file is no bitstream for the board's family of FPGAs.
func (b *Board) check(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w: %s: build it with: hilgpu board build %s -o %s", ErrFile, file, b.Name, filepath.Dir(file))
	}
	if !strings.Contains(string(data[:min(len(data), headerBytes)]), preambles[b.Part.Suffix()]) {
		return fmt.Errorf("%w: %s: not one of an %s", ErrFile, file, b.Part.Name)
	}
	return nil
}

// Program writes a bitstream to the board with openFPGALoader, or with iceprog where that is
// possible and openFPGALoader is missing. Their output goes to log. It fails with ErrFile,
// synth.ErrTool or ErrProgram.
func (b *Board) Program(file string, log io.Writer) error {
	if err := b.check(file); err != nil {
		return err
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
