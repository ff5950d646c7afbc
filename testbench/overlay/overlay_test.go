package overlay

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The go command runs the changed program, and the checkout keeps its own.
func TestWrite(t *testing.T) {
	module, dir := t.TempDir(), t.TempDir()
	const program = "package main\n\nfunc main() { println(text) }\n"
	text := filepath.Join(module, "text.go")
	for name, src := range map[string]string{
		filepath.Join(module, "go.mod"): "module example.com/m\n\ngo 1.26\n", filepath.Join(module, "main.go"): program, text: "package main\n\nconst text = \"old\"\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(src), 0o644))
	}
	file, err := Write(dir, map[string][]byte{text: []byte("package main\n\nconst text = \"new\"\n")})
	require.NoError(t, err)
	for _, tt := range []struct {
		args []string
		want string
	}{{[]string{"run", "."}, "old\n"}, {[]string{"run", "-overlay", file, "."}, "new\n"}} {
		cmd := exec.Command("go", tt.args...)
		cmd.Dir = module
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Equal(t, tt.want, string(out))
	}
}

// A folder that does not exist is an error.
func TestWriteFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, sources := range []map[string][]byte{nil, {"a.go": nil}} {
		_, err := Write(missing, sources)
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
}
