// Package ethertest runs a test in network namespaces of its own: one of a host and one
// of a board, connected by a pair of virtual Ethernet interfaces. Nothing that the test
// sends leaves them.
package ethertest

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// The interfaces and their addresses.
const (
	HostInterface  = "host0"
	BoardInterface = "board0"
	HostMAC        = "02:00:00:00:00:01"
	BoardMAC       = "02:00:00:00:00:02"
	HostIP         = "10.0.0.1"
	BoardIP        = "10.0.0.2"
)

// variable marks the process that Run starts.
const variable = "HILGPU_TEST_IN_NAMESPACE"

// A Net is both namespaces. The process is in that of the host.
type Net struct {
	board netns.NsHandle
	host  *netlink.Handle
	there *netlink.Handle // in the namespace of the board
}

// Run runs f in a process of its own, in the namespace of the host, with the given MTU.
// It is the whole of a test that is not part of another. Where the system allows no
// namespaces, the test is skipped, or fails if the environment has CI. The process ends
// before the time of this one is over, and what it logs is logged here. f and its subtests
// skip nothing: a skip there fails the test, since the test runner does not see it.
func Run(t *testing.T, f func(t *testing.T, n *Net)) {
	t.Helper()
	end, _ := t.Deadline()
	text := run(t, func(n *Net) { f(t, n) }, "-test.run=^"+t.Name()+"$", "-test.timeout="+timeout(end, time.Now()).String(), "-test.v")
	if text = logged(text); text != "" {
		t.Log("in the namespace:\n" + text)
	}
}

// timeout returns the time that a process has which must end some time before a deadline;
// 0, for any time, if there is none.
func timeout(end, now time.Time) time.Duration {
	if end.IsZero() {
		return 0
	}
	left := end.Sub(now)
	return max(left/2, left-10*time.Second, time.Millisecond)
}

// logged returns the output of a test without the lines that package testing adds, which
// would count as those of a test of this process.
func logged(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		start := strings.TrimSpace(line)
		if start == "" || start == "PASS" || strings.HasPrefix(start, "=== ") || strings.HasPrefix(start, "--- ") {
			continue
		}
		kept = append(kept, strings.TrimRight(line, "\n"))
	}
	return strings.Join(kept, "\n")
}

// RunBenchmark is Run for a benchmark. Its output is that of the process. f calls b.Loop
// or b.Run.
func RunBenchmark(b *testing.B, f func(b *testing.B, n *Net)) {
	b.Helper()
	fmt.Print(run(b, func(n *Net) { f(b, n) }, "-test.run=^$", "-test.bench=^"+b.Name()+"$", "-test.benchtime=1x", "-test.timeout=30m"))
}

// run runs f if this process is in the namespace, or else makes a process with args in one,
// and with the flags of this process that are not those of package testing. It returns the
// output of that.
func run(t testing.TB, f func(n *Net), args ...string) string {
	t.Helper()
	if os.Getenv(variable) == t.Name() {
		n := open(t)
		defer n.close()
		f(n)
		return ""
	}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), variable+"="+t.Name())
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	text, err := c.CombinedOutput()
	if c.ProcessState == nil { // not started
		missing(t, err.Error())
	}
	judge(t, string(text), err)
	return string(text)
}

// A reporter is the part of testing.TB that ends a test.
type reporter interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// missing ends a test that got no namespace.
func missing(t reporter, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("no network namespace: %s", why)
		return
	}
	t.Skipf("this system allows no network namespace: %s", why)
}

// notAllowed is how the process in the namespace begins the reason that the system gives.
const notAllowed = "not allowed in a network namespace: "

// judge ends the test if the process in the namespace has failed, with the given output,
// or has skipped a test.
func judge(t reporter, text string, err error) {
	t.Helper()
	if err != nil {
		if _, why, found := strings.Cut(text, notAllowed); found {
			why, _, _ = strings.Cut(why, "\n")
			missing(t, why)
			return
		}
		t.Fatalf("in a network namespace: %v\n%s", err, text)
		return
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "--- SKIP") {
			t.Fatalf("a test is skipped in a network namespace:\n%s", text)
			return
		}
	}
}

// allowed ends the test in the namespace if the system has refused a call.
func allowed(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, fs.ErrPermission) {
		t.Fatalf("%s%v", notAllowed, err)
	}
	require.NoError(t, err)
}

// open makes the namespace of the board and the interfaces.
func open(t testing.TB) *Net {
	t.Helper()
	n := &Net{}
	var err error
	onThread(func() {
		n.board, err = netns.New() // the thread ends with its goroutine
	})
	allowed(t, err)
	n.host, err = netlink.NewHandle()
	require.NoError(t, err)
	n.there, err = netlink.NewHandleAt(n.board)
	require.NoError(t, err)
	n.pair(t, veth(HostInterface, HostMAC, BoardInterface, BoardMAC))
	n.address(t)
	n.ready(t)
	return n
}

// veth describes a pair of interfaces.
func veth(name, address, peer, peerAddress string) *netlink.Veth {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr = name, mac(address)
	return &netlink.Veth{LinkAttrs: attrs, PeerName: peer, PeerHardwareAddr: mac(peerAddress)}
}

// pair makes a pair of interfaces. That of the board moves to its namespace.
func (n *Net) pair(t testing.TB, v *netlink.Veth) {
	t.Helper()
	allowed(t, n.host.LinkAdd(v))
	if board, err := n.host.LinkByName(BoardInterface); err == nil {
		require.NoError(t, n.host.LinkSetNsFd(board, int(n.board)))
	}
}

// Interfaces of Between, and their addresses.
const (
	nearInterface = "near0"
	farInterface  = "far0"
	nearMAC       = "02:00:00:00:01:01"
	farMAC        = "02:00:00:00:01:02"
)

// Between takes the pair of interfaces apart. The host's is then connected to near, the
// board's to far, both in the namespace of the host, and nothing passes between these two.
func (n *Net) Between(t testing.TB) (near, far string) {
	t.Helper()
	host, err := n.host.LinkByName(HostInterface)
	require.NoError(t, err)
	require.NoError(t, n.host.LinkDel(host))
	n.pair(t, veth(HostInterface, HostMAC, nearInterface, nearMAC))
	n.pair(t, veth(farInterface, farMAC, BoardInterface, BoardMAC))
	n.address(t)
	for _, name := range []string{nearInterface, farInterface} {
		link, err := n.host.LinkByName(name)
		require.NoError(t, err)
		require.NoError(t, n.host.LinkSetUp(link))
	}
	n.ready(t)
	return nearInterface, farInterface
}

// address gives both ends their IP addresses and switches all interfaces on.
func (n *Net) address(t testing.TB) {
	t.Helper()
	for _, e := range []struct {
		at       *netlink.Handle
		name, ip string
	}{{n.host, HostInterface, HostIP}, {n.there, BoardInterface, BoardIP}} {
		link, err := e.at.LinkByName(e.name)
		require.NoError(t, err)
		require.NoError(t, e.at.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(e.ip), Mask: net.CIDRMask(24, 32)}}))
		require.NoError(t, e.at.LinkSetUp(link))
		lo, err := e.at.LinkByName("lo")
		require.NoError(t, err)
		require.NoError(t, e.at.LinkSetUp(lo))
	}
}

func mac(text string) net.HardwareAddr {
	m, _ := net.ParseMAC(text) // of a constant
	return m
}

func (n *Net) close() {
	n.host.Close()
	n.there.Close()
	n.board.Close()
}

// SetMTU sets the MTU of both interfaces, in bytes.
func (n *Net) SetMTU(t testing.TB, mtu int) {
	t.Helper()
	n.each(t, func(at *netlink.Handle, link netlink.Link) { require.NoError(t, at.LinkSetMTU(link, mtu)) })
}

// SetUp switches both interfaces on, or off.
func (n *Net) SetUp(t testing.TB, up bool) {
	t.Helper()
	n.each(t, func(at *netlink.Handle, link netlink.Link) {
		if up {
			require.NoError(t, at.LinkSetUp(link))
		} else {
			require.NoError(t, at.LinkSetDown(link))
		}
	})
	if up {
		n.ready(t)
	}
}

// ready waits until both interfaces carry frames. The kernel drops those that are sent
// after an interface is switched on and before it is operational, see operstates.rst.
func (n *Net) ready(t testing.TB) {
	t.Helper()
	for range 20_000 {
		operational := true
		n.each(t, func(_ *netlink.Handle, link netlink.Link) {
			operational = operational && link.Attrs().OperState == netlink.OperUp
		})
		if operational {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the interfaces carry no frames")
}

// SetPromiscuous makes both interfaces receive frames for every address.
func (n *Net) SetPromiscuous(t *testing.T) {
	t.Helper()
	n.each(t, func(at *netlink.Handle, link netlink.Link) { require.NoError(t, at.SetPromiscOn(link)) })
}

// Remove removes both interfaces.
func (n *Net) Remove(t *testing.T) {
	t.Helper()
	link, err := n.host.LinkByName(HostInterface)
	require.NoError(t, err)
	require.NoError(t, n.host.LinkDel(link)) // its peer goes with it
}

func (n *Net) each(t testing.TB, f func(at *netlink.Handle, link netlink.Link)) {
	t.Helper()
	for name, at := range map[string]*netlink.Handle{HostInterface: n.host, BoardInterface: n.there} {
		link, err := at.LinkByName(name)
		require.NoError(t, err)
		f(at, link)
	}
}

// Board runs f on a thread in the namespace of the board. Sockets that f opens and
// processes that it starts belong to that namespace.
func (n *Net) Board(t testing.TB, f func()) {
	t.Helper()
	var err error
	onThread(func() {
		if err = netns.Set(n.board); err == nil {
			f()
		}
	})
	require.NoError(t, err)
}

// onThread runs f on a thread that ends with it, because it may be in another
// namespace then.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without Unlock: the thread ends
		f()
	}()
	<-done
}
