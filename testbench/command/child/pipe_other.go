//go:build !windows

package child

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// ownPipe reports whether answers have a pipe of their own.
const ownPipe = true

// answersFile is the file descriptor of a child for its answers.
const answersFile = 3

// answersOf returns the reader of the answers of a child that has not started: a pipe
// of their own, so that nothing that a driver prints is among them. started is
// called after the start.
func answersOf(cmd *exec.Cmd, stdout io.Writer) (answers io.ReadCloser, started func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.ExtraFiles = []*os.File{w}
	cmd.Stdout = stdout
	return r, func() { w.Close() }, nil
}

// ownAnswers returns the writer for the answers of this child. Processes that a driver
// starts do not inherit it.
func ownAnswers() *os.File {
	syscall.CloseOnExec(answersFile)
	return os.NewFile(answersFile, "answers")
}
