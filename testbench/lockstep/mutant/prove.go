package mutant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/testbench/lockstep"
)

// proofTime is how long a proof may take before it counts as none.
const proofTime = 90 * time.Second

// A proof is a way to show that two modules, gold and gate, are equivalent,
// their instances taken out and the pins of those made ports.
type proof struct {
	name, expose, sat string
}

// proofs returns the ways, the fast one first: from equal registers, whatever
// they hold, a clock leads to equal ones; or, after a reset, it does so behind
// some clocks in which they were equal.
func proofs() []proof {
	return []proof{
		{"equal in every state", "expose -evert -evert-dff gold gate", ""},
		{"equal by induction from reset", "expose -evert gold gate; expose -dff gold gate", " -tempinduct -seq 1 -set-at 1 in_rst 1 -maxsteps 6"},
	}
}

// Prove asks yosys whether the module with m equals the one without. It returns
// the name of the proof, or "" if there is none: then m may still be equivalent.
// A module with parameters is not tried. It fails with lockstep.ErrTool.
func Prove(d *verilog.Design, m Mutant) (string, error) {
	if _, err := exec.LookPath("yosys"); err != nil {
		return "", fmt.Errorf("%w: yosys (Debian package yosys)", lockstep.ErrTool)
	}
	dir, err := os.MkdirTemp("", "hilgpu-mutant-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	ok, err := proofFiles(d, m, dir)
	if !ok || err != nil {
		return "", err
	}
	for _, p := range proofs() {
		proven, err := p.run(dir)
		if err != nil {
			return "", err
		}
		if proven {
			return p.name, nil
		}
	}
	return "", nil
}

// proofFiles writes gold.v, gate.v and, for the instances, others.v. It reports
// whether the module is one that can be proven.
func proofFiles(d *verilog.Design, m Mutant, dir string) (bool, error) {
	head := regexp.MustCompile(`module ` + m.Module + `\b`)
	var others bytes.Buffer
	files := map[string][]byte{}
	for _, f := range d.Files {
		if f.Name != m.File {
			if strings.HasSuffix(f.Name, ".v") {
				others.Write(f.Text)
			}
			continue
		}
		if bytes.Contains(f.Text, []byte("parameter ")) || bytes.Count(f.Text, []byte("endmodule")) != 1 {
			return false, nil
		}
		files["gold.v"] = head.ReplaceAll(f.Text, []byte("module gold"))
		files["gate.v"] = head.ReplaceAll([]byte(m.only(string(f.Text))), []byte("module gate"))
	}
	files["others.v"] = others.Bytes()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return false, err
		}
	}
	return true, nil
}

// run reports whether the proof of the files in dir succeeds. What both modules
// share is merged first, so that only the cone of the mutant is left to prove.
func (p proof) run(dir string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), proofTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "yosys", "-q", "-p", strings.Join([]string{
		"read_verilog -lib others.v", "read_verilog gold.v gate.v", "proc -norom", "opt_expr", p.expose,
		"miter -equiv -flatten -make_assert gold gate miter", "hierarchy -top miter",
		"opt_expr", "opt_clean", "opt_merge", "opt_clean",
		"sat -verify -prove-asserts -set-def-inputs" + p.sat + " miter",
	}, "; "))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil || errors.As(err, &exit) && bytes.Contains(out, []byte("proof did fail")):
		return false, nil
	}
	return false, fmt.Errorf("mutant: yosys: %w\n%s", err, bytes.TrimSpace(out))
}
