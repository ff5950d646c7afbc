package child

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A process is a running child.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	pipe    io.Closer   // of the answers
	answers chan answer // closed when the child closes its pipe
	stdout  io.Writer
	stderr  *lastLines
	frozen  bool // it sent no heartbeat
	ended   bool // it closed its pipe
}

// newProcess starts a child. What it prints goes to stderr; stdout gets the output of
// a command line.
func newProcess(cmd *exec.Cmd, stdout, stderr io.Writer) (*process, error) {
	token := rand.Text() + " "
	c := &process{cmd: cmd, answers: make(chan answer), stdout: stdout, stderr: &lastLines{w: stderr}}
	cmd.Env = append(cmd.Environ(), Variable+"="+token)
	cmd.Stderr = c.stderr
	cmd.WaitDelay = beat // a process that a driver has started may keep the output
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	var prints io.Writer = c.stderr
	if stdout != nil {
		prints = stdout
	}
	pipe, started, err := answersOf(cmd, prints)
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	started()
	if err != nil {
		pipe.Close()
		return nil, err
	}
	c.pipe = pipe
	go c.read(pipe, []byte(token), prints)
	return c, nil
}

// next returns the next answer. It reports false if the child has ended or is
// frozen.
func (c *process) next(silence time.Duration) (answer, bool) {
	timer := time.NewTimer(silence)
	defer timer.Stop()
	for {
		select {
		case a, ok := <-c.answers:
			if !ok || !a.Beat && a.Out == nil {
				c.ended = !ok
				return a, ok
			}
			if a.Out != nil {
				c.stdout.Write(a.Out) // an error is that of the answers of the App
			}
			timer.Reset(silence)
		case <-timer.C:
			c.frozen = true
			return answer{}, false
		}
	}
}

// kill ends the child and returns how it ended.
func (c *process) kill() string {
	if !c.ended {
		c.cmd.Process.Kill() // it may have ended since
	}
	go func() {
		for range c.answers { // until the pipe is closed
		}
	}()
	err := c.cmd.Wait()
	c.pipe.Close() // a process that a driver has started may keep it open
	if err != nil {
		return err.Error()
	}
	return c.cmd.ProcessState.String()
}

// read passes the answers on until the end of the pipe, and anything else to prints. An
// answer may follow other text in a line.
func (c *process) read(pipe io.Reader, token []byte, prints io.Writer) {
	defer close(c.answers)
	for in := bufio.NewReader(pipe); ; {
		text, err := in.ReadBytes('\n')
		before, body, _ := bytes.Cut(text, token)
		var a answer
		if json.Unmarshal(body, &a) == nil {
			c.answers <- a
			text = before
		}
		if len(text) > 0 {
			prints.Write(text) // a driver prints
		}
		if err != nil {
			return
		}
	}
}

// lastLines keeps the end of a text that it passes on.
type lastLines struct {
	mu   sync.Mutex // a child has two outputs
	w    io.Writer
	kept []byte
}

// Write implements io.Writer.
func (l *lastLines) Write(p []byte) (int, error) {
	const most = 64 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	if n := len(l.kept); n > 2*most {
		l.kept = bytes.Clone(l.kept[n-most:])
	}
	return l.w.Write(p)
}

// maxLines is the number of lines of the standard error in a violation.
const maxLines = 16

// lines returns the last lines. If the Go runtime ended the process, they begin
// with its message.
func (l *lastLines) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(string(l.kept))
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	for n, s := range all {
		for _, message := range []string{"panic: ", "fatal error: ", "runtime: "} {
			if strings.HasPrefix(s, message) {
				return all[n:min(len(all), n+maxLines)]
			}
		}
	}
	return all[max(0, len(all)-maxLines):]
}
