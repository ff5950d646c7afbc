package child

import (
	"io"
	"os"
	"os/exec"
)

// ownPipe reports whether answers have a pipe of their own.
const ownPipe = false

// answersOf returns the reader of the answers of a child that has not started: its
// standard output, since a process of Windows inherits no other file. started is
// called after the start.
func answersOf(cmd *exec.Cmd, _ io.Writer) (answers io.ReadCloser, started func(), err error) {
	out, err := cmd.StdoutPipe()
	return out, func() {}, err
}

// ownAnswers returns the writer for the answers of this child.
func ownAnswers() *os.File { return os.Stdout }
