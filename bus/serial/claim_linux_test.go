package serial

import (
	"bufio"
	"fmt"
	"io"
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
)

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
