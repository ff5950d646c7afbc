package serial

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// soon is the longest acceptable wait for an error, on a busy machine.
const soon = 900 * time.Millisecond

func listen(t *testing.T, path string) *Pty {
	p, err := ListenPty(path)
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// each runs a test with both libraries.
func each(t *testing.T, test func(t *testing.T, opt Options)) {
	for _, driver := range []string{BugSt, Tarm} {
		t.Run(driver, func(t *testing.T) { test(t, Options{Driver: driver}) })
	}
}

// fill reads until p is full.
func fill(r io.Reader, p []byte) error {
	end := time.Now().Add(5 * time.Second)
	for n := 0; n < len(p); {
		m, err := r.Read(p[n:])
		if n += m; err != nil {
			return err
		}
		if time.Now().After(end) {
			return os.ErrDeadlineExceeded
		}
	}
	return nil
}

// Every byte passes unchanged, in both directions at once.
func TestBytes(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		sent := make([]byte, 64<<10)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range sent {
			sent[i] = byte(rng.Uint32())
		}
		done := make(chan error, 3)
		var got [2][]byte
		for i, end := range []io.ReadWriter{host, board} {
			got[i] = make([]byte, len(sent))
			go func() { done <- fill(end, got[i]) }()
		}
		go func() {
			_, err := board.Write(sent)
			done <- err
		}()
		n, err := host.Write(sent)
		require.NoError(t, err)
		assert.Equal(t, len(sent), n)
		for range 3 {
			require.NoError(t, <-done)
		}
		assert.True(t, bytes.Equal(sent, got[0]), "to the host")
		assert.True(t, bytes.Equal(sent, got[1]), "to the board")
	})
}

func TestReadTimesOut(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		start := time.Now()
		n, err := host.Read(make([]byte, 10))
		assert.Zero(t, n)
		assert.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(start), readTime*9/10)
		assert.Less(t, time.Since(start), soon)
		n, err = host.Read(nil)
		assert.Zero(t, n)
		assert.NoError(t, err)
	})
}

// Unplugging the adapter makes Read and Write fail in well under a second, and
// not with a time-out.
func TestUnplug(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		failed := make(chan error)
		go func() {
			for {
				if _, err := host.Read(make([]byte, 10)); err != nil {
					failed <- err
					return
				}
			}
		}()
		time.Sleep(150 * time.Millisecond)
		start := time.Now()
		require.NoError(t, board.Close())
		assert.ErrorIs(t, <-failed, ErrUnplugged)
		assert.Less(t, time.Since(start), soon)
		_, err = host.Read(make([]byte, 10))
		assert.ErrorIs(t, err, ErrUnplugged, "also for a later Read")
		_, err = host.Write([]byte{1})
		assert.ErrorIs(t, err, ErrUnplugged)
		assert.ErrorIs(t, host.SetBaud(9600), ErrUnplugged)
		assert.NoError(t, host.Close())
	})
}

func TestCloseEndsReadAndWrite(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		failed := make(chan error)
		go func() {
			for {
				if _, err := host.Read(make([]byte, 10)); err != nil {
					failed <- err
					return
				}
			}
		}()
		go func() {
			_, err := host.Write(make([]byte, 1<<20)) // not read by the other side
			failed <- err
		}()
		time.Sleep(50 * time.Millisecond)
		start := time.Now()
		require.NoError(t, host.Close())
		for range 2 {
			assert.ErrorIs(t, <-failed, os.ErrClosed)
		}
		assert.Less(t, time.Since(start), soon)
		assert.NoError(t, host.Close())
		assert.ErrorIs(t, host.SetBaud(9600), os.ErrClosed)
	})
}

func TestWriteDeadline(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		require.NoError(t, host.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		start := time.Now()
		n, err := host.Write(make([]byte, 1<<20))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Less(t, time.Since(start), soon)
		assert.Positive(t, n)
		require.NoError(t, host.SetWriteDeadline(time.Time{}))
		require.NoError(t, fill(board, make([]byte, n)))
		_, err = host.Write([]byte("x"))
		assert.NoError(t, err)
	})
}

func TestSetBaud(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		opt.Baud = 9600
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		speed := func() uint32 {
			s, err := unix.IoctlGetTermios(host.fd, unix.TCGETS2)
			require.NoError(t, err)
			return s.Ospeed
		}
		assert.Equal(t, uint32(9600), speed())
		require.NoError(t, host.SetBaud(3_000_000))
		assert.Equal(t, uint32(3_000_000), speed())
		_, err = host.Write([]byte("after"))
		require.NoError(t, err)
		got := make([]byte, 5)
		require.NoError(t, fill(board, got))
		assert.Equal(t, "after", string(got))
		_, err = board.Write([]byte("ok"))
		require.NoError(t, err)
		require.NoError(t, fill(host, got[:2]))

		assert.ErrorIs(t, host.SetBaud(12), ErrRate)
		err = host.SetBaud(1_234_567)
		if opt.Driver == Tarm {
			assert.ErrorIs(t, err, ErrRate, "tarm supports only the standard rates")
			assert.Equal(t, uint32(3_000_000), speed())
		} else {
			assert.NoError(t, err)
			assert.Equal(t, uint32(1_234_567), speed())
		}
	})
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct {
		name, path string
		opt        Options
		want       error
		text       string
	}{
		{"missing", filepath.Join(dir, "none"), Options{}, ErrMissing, filepath.Join(dir, "none") + ": plug the board in"},
		{"a file", file, Options{}, ErrNotPort, file},
		{"no terminal", "/dev/null", Options{}, ErrNotPort, "/dev/null"},
		{"no driver", file, Options{Driver: "x"}, ErrOption, `"x", want bugst or tarm`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(tt.path, tt.opt)
			require.ErrorIs(t, err, tt.want)
			assert.ErrorContains(t, err, tt.text)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
	each(t, func(t *testing.T, opt Options) {
		opt.Baud = 7
		_, err := Open(listen(t, "").Path(), opt)
		assert.ErrorIs(t, err, ErrRate)
	})
	assert.ErrorIs(t, claimError("/dev/ttyS9", unix.EIO), ErrMissing)
	assert.ErrorIs(t, claimError("/dev/ttyS9", unix.EBUSY), errMarked)
	assert.ErrorIs(t, claimError("/dev/ttyS9", unix.EACCES), ErrForbidden)
	assert.ErrorContains(t, forbidden(filepath.Join(dir, "none")), "none: add your user to group dialout")
	for _, err := range []error{unix.EACCES, unix.EBUSY} {
		err = openError(file, 9600, err)
		assert.True(t, errors.Is(err, ErrForbidden) || errors.Is(err, ErrBusy), err)
	}
}

// A port is never opened twice, by any process or library, and the error names
// the holder.
func TestBusy(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, filepath.Join(t.TempDir(), "board"))
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		_, err = Open(board.Path(), Options{Driver: Tarm})
		require.ErrorIs(t, err, ErrBusy)
		assert.ErrorContains(t, err, "pid "+strconv.Itoa(os.Getpid())+" (")
		require.NoError(t, host.Close())
		host, err = Open(board.Path(), opt)
		require.NoError(t, err, "it was given back")
		require.NoError(t, host.Close())

		slave, err := os.OpenFile(board.Path(), os.O_RDWR|unix.O_NOCTTY, 0)
		require.NoError(t, err)
		other := exec.Command("sleep", "60")
		other.Stdin = slave
		require.NoError(t, other.Start())
		defer other.Wait()
		defer other.Process.Kill()
		require.NoError(t, slave.Close())
		_, err = Open(board.Path(), opt)
		require.ErrorIs(t, err, ErrBusy)
		assert.ErrorContains(t, err, "held by pid "+strconv.Itoa(other.Process.Pid)+" (sleep)")
	})
}

// opener runs in a process started by TestMain. When told, it opens a port and
// prints the result; or it repeatedly opens and closes the port.
func opener(path string) {
	opt := Options{Driver: os.Getenv("OPENER_DRIVER")}
	fmt.Println("ready")
	io.ReadFull(os.Stdin, make([]byte, 1))
	for os.Getenv("OPENER_LOOKS") != "" {
		if p, err := Open(path, opt); err == nil {
			time.Sleep(10 * time.Millisecond)
			p.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := Open(path, opt); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("open")
	io.Copy(io.Discard, os.Stdin)
}

func TestMain(m *testing.M) {
	if path := os.Getenv("OPENER_PORT"); path != "" {
		opener(path)
		return
	}
	os.Exit(m.Run())
}

// An other is an opener in another process.
type other struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// another starts an opener, which waits to be told.
func another(t *testing.T, path, driver, looks string) *other {
	t.Helper()
	o := &other{Cmd: exec.Command(os.Args[0])}
	o.Env = append(os.Environ(), "OPENER_PORT="+path, "OPENER_DRIVER="+driver, "OPENER_LOOKS="+looks)
	var err error
	o.in, err = o.StdinPipe()
	require.NoError(t, err)
	out, err := o.StdoutPipe()
	require.NoError(t, err)
	o.out = bufio.NewReader(out)
	require.NoError(t, o.Start())
	t.Cleanup(o.end)
	require.Equal(t, "ready", o.says())
	return o
}

func (o *other) tell() { io.WriteString(o.in, "!") }

func (o *other) says() string {
	line, _ := o.out.ReadString('\n')
	return strings.TrimSpace(line)
}

func (o *other) end() {
	o.Process.Kill()
	o.Wait()
}

// Of two processes that open a port at once, one succeeds, and the error of the
// other names it.
func TestOneOfTwo(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, filepath.Join(t.TempDir(), "board"))
		for range 3 {
			a, b := another(t, board.Path(), opt.Driver, ""), another(t, board.Path(), opt.Driver, "")
			a.tell()
			b.tell()
			won, lost := a.says(), b.says()
			winner := a
			if lost == "open" {
				won, lost, winner = lost, won, b
			}
			assert.Equal(t, "open", won)
			assert.Contains(t, lost, fmt.Sprintf("is held by pid %d (", winner.Process.Pid))
			assert.Equal(t, 1, strings.Count(lost, "pid "), lost)
			a.end()
			b.end()
		}
	})
}

// A process that opens a port now and then does not keep others from it.
func TestShortOpens(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		another(t, board.Path(), opt.Driver, "1").tell()
		for range 20 {
			host, err := Open(board.Path(), opt)
			require.NoError(t, err)
			time.Sleep(5 * time.Millisecond)
			require.NoError(t, host.Close())
		}
	})
}

// The advice depends on who has permission.
func TestForbidden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "port")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o600))
	err := forbidden(path)
	assert.ErrorIs(t, err, ErrForbidden)
	assert.ErrorContains(t, err, "(mode 0600): run this as ")
	assert.NotContains(t, err.Error(), "add your user")
	require.NoError(t, os.Chmod(path, 0o660))
	if os.Chown(path, -1, 54321) == nil {
		assert.ErrorContains(t, forbidden(path), "add your user to group 54321 and log in again")
	}
}

// The owner of the lock is named, and this process only if there is no other
// holder.
func TestBusyNames(t *testing.T) {
	proc, path := t.TempDir(), filepath.Join(t.TempDir(), "port")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	hold := func(pid int, name string) {
		dir := filepath.Join(proc, strconv.Itoa(pid))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "fd"), 0o700))
		require.NoError(t, os.Symlink(path, filepath.Join(dir, "fd", "3")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "comm"), []byte(name+"\n"), 0o600))
	}
	lock := func(pid int) {
		var st unix.Stat_t
		require.NoError(t, unix.Stat(path, &st))
		text := fmt.Sprintf("1: POSIX  ADVISORY  WRITE 7 00:01:5 0 EOF\n2: FLOCK  ADVISORY  WRITE %d %02x:%02x:%d 0 EOF\n",
			pid, unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
		require.NoError(t, os.WriteFile(filepath.Join(proc, "locks"), []byte(text), 0o600))
	}
	says := func(who string) {
		t.Helper()
		assert.ErrorContains(t, busy(proc, path), "is held by "+who+": end it")
	}
	self := os.Getpid()
	says("a process of another user")
	hold(self, "self")
	says("a process of another user")
	lock(self)
	says(fmt.Sprintf("pid %d (self)", self))
	hold(1, "one")
	hold(2, "two")
	says("pid 1 (one), pid 2 (two)")
	lock(2)
	says("pid 2 (two)")
	lock(3)
	says("pid 3 (?)")
}

// Input left by the previous host is not read by the next one.
func TestStaleInput(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		_, err = board.Write([]byte("stale"))
		require.NoError(t, err)
		require.NoError(t, host.Close())
		host, err = Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		_, err = board.Write([]byte("fresh"))
		require.NoError(t, err)
		got := make([]byte, 5)
		require.NoError(t, fill(host, got))
		assert.Equal(t, "fresh", string(got))
	})
}

// A pseudo-terminal outlives its hosts and does not spin between them. Bytes
// written without a host are lost.
func TestPtyWaits(t *testing.T) {
	board := listen(t, "")
	host, err := Open(board.Path(), Options{})
	require.NoError(t, err)
	require.NoError(t, host.Close())
	for range 3 {
		start := time.Now()
		n, err := board.Read(make([]byte, 10))
		require.NoError(t, err)
		require.Zero(t, n)
		assert.GreaterOrEqual(t, time.Since(start), idle)
	}
	n, err := board.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	assert.Equal(t, 1<<20, n)
	host, err = Open(board.Path(), Options{})
	require.NoError(t, err)
	defer host.Close()
	_, err = host.Write([]byte("again"))
	require.NoError(t, err)
	got := make([]byte, 5)
	require.NoError(t, fill(board, got))
	assert.Equal(t, "again", string(got))
}

func TestPtyClose(t *testing.T) {
	board := listen(t, "")
	for _, opened := range []bool{false, true} {
		if opened {
			board = listen(t, "")
			host, err := Open(board.Path(), Options{})
			require.NoError(t, err)
			require.NoError(t, host.Close())
		}
		failed := make(chan error)
		go func() {
			for {
				if _, err := board.Read(make([]byte, 10)); err != nil {
					failed <- err
					return
				}
			}
		}()
		time.Sleep(30 * time.Millisecond)
		require.NoError(t, board.Close())
		assert.ErrorIs(t, <-failed, os.ErrClosed)
		require.NoError(t, board.Close())
		assert.NoError(t, board.SetBaud(1))
	}
}

// A host that has the port open but does not read stalls the board's Write,
// until a deadline or Close.
func TestPtyWriteEnds(t *testing.T) {
	board := listen(t, "")
	host, err := Open(board.Path(), Options{})
	require.NoError(t, err)
	defer host.Close()
	require.NoError(t, board.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	start := time.Now()
	n, err := board.Write(make([]byte, 1<<20))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Less(t, n, 1<<20)
	assert.Less(t, time.Since(start), soon)
	require.NoError(t, board.SetWriteDeadline(time.Time{}))
	failed := make(chan error)
	go func() {
		_, err := board.Write(make([]byte, 1<<20))
		failed <- err
	}()
	time.Sleep(30 * time.Millisecond)
	require.NoError(t, board.Close())
	assert.ErrorIs(t, <-failed, os.ErrClosed)
	_, err = board.Write([]byte{1})
	assert.ErrorIs(t, err, os.ErrClosed)
}

func TestPtyLink(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "board")
	p, err := ListenPty(path)
	require.NoError(t, err)
	target, err := os.Readlink(path)
	require.NoError(t, err)
	assert.Regexp(t, `^/dev/pts/[0-9]+$`, target)
	_, err = ListenPty(path)
	require.ErrorContains(t, err, "in use")
	require.NoError(t, p.Close())
	_, err = os.Lstat(path)
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.Symlink("/dev/pts/none", path))
	p, err = ListenPty(path)
	require.NoError(t, err, "a dangling link is replaced")
	require.NoError(t, linkTo(path, p.slave), "and so is our own")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("kept"), 0o600))
	require.NoError(t, p.Close())
	_, err = ListenPty(path)
	require.ErrorContains(t, err, "not a link")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(kept))
	_, err = ListenPty(filepath.Join(dir, "no", "board"))
	require.ErrorIs(t, err, os.ErrNotExist)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

// The link layer runs over a port and a pseudo-terminal, host after host, and
// detects that the board is unplugged.
func TestLink(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		terminal := listen(t, "")
		board, err := channel.Open(terminal, channel.Config{Link: datalink.Config{Role: datalink.Board}})
		require.NoError(t, err)
		defer board.Close()
		packet := append([]byte{0x40, 0, 0, 1, 0, 0, 0, 15, 0xfe, 0, 0x10}, make([]byte, 5)...)
		for i := range 3 {
			port, err := Open(terminal.Path(), opt)
			require.NoError(t, err)
			host, err := channel.Open(port, channel.Config{})
			require.NoError(t, err)
			_, err = board.Receive(time.Second)
			require.Equal(t, channel.ErrSession, err)
			require.NoError(t, host.Send(packet))
			got, err := board.Receive(time.Second)
			require.NoError(t, err)
			require.Equal(t, packet, got)
			if i < 2 {
				require.NoError(t, host.Close())
				continue
			}
			start := time.Now()
			require.NoError(t, board.Close())
			_, err = host.Receive(time.Second)
			assert.Error(t, err)
			assert.Less(t, time.Since(start), soon)
			require.NoError(t, host.Close())
		}
	})
}

// The protocol runs over a real pseudo-terminal, whose rate has no effect.
func TestBaudPty(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		done := make(chan int)
		go func() {
			b, err := AnswerBaud(board, DefaultBaud, all, nil)
			assert.NoError(t, err)
			done <- b
		}()
		h, err := RaiseBaud(host, DefaultBaud, all, nil)
		require.NoError(t, err)
		assert.Equal(t, 3_000_000, h)
		hello := append([]byte{0x50, 1}, make([]byte, 32)...)
		_, err = host.Write(new(frame.Encoder).Append(nil, hello))
		require.NoError(t, err)
		assert.Equal(t, 3_000_000, <-done)
	})
}
