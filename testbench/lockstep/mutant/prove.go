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
const proofTime = 60 * time.Second

// A proof is a way to show that two modules, gold and gate, are equivalent,
// their instances taken out and their pins made ports.
type proof struct {
	name, script string
}

// proofs returns the ways, fast ones first. They hold from any state in which
// the registers are equal, as after reset; the second one assumes equal
// registers for some clocks before as well.
func proofs() []proof {
	equiv := "equiv_make gold gate equiv; hierarchy -top equiv; opt_clean; equiv_simple -undef; "
	return []proof{
		{"equal in every state", equiv + "equiv_status -assert"},
		{"equal after five equal clocks", equiv + "equiv_induct -undef -seq 5; equiv_status -assert"},
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
		proven, err := yosys(dir, p.script)
		if proven || err != nil {
			return p.name, err
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

// yosys reports whether a proof succeeds.
func yosys(dir, script string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), proofTime)
	defer cancel()
	read := "read_verilog -lib others.v; read_verilog gold.v gate.v; proc; flatten; opt_expr; expose -evert gold gate; "
	cmd := exec.CommandContext(ctx, "yosys", "-q", "-p", read+script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil || errors.As(err, &exit) && bytes.Contains(out, []byte("unproven $equiv")):
		return false, nil
	}
	return false, fmt.Errorf("mutant: yosys: %w\n%s", err, bytes.TrimSpace(out))
}
