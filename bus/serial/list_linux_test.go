package serial

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A tree is the part of a machine's /sys, /dev and /proc that list reads.
type tree struct {
	t   *testing.T
	dir string
}

func (m tree) roots() roots {
	return roots{filepath.Join(m.dir, "sys"), filepath.Join(m.dir, "dev"), filepath.Join(m.dir, "proc")}
}

func (m tree) file(name, content string) {
	path := filepath.Join(m.dir, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(content), 0o644))
}

func (m tree) link(name, target string) {
	path := filepath.Join(m.dir, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.Symlink(target, path))
}

// tty adds a terminal with the device path below sys/devices.
func (m tree) tty(name, device string) {
	m.file("dev/"+name, "")
	at := "sys/devices/" + device
	require.NoError(m.t, os.MkdirAll(filepath.Join(m.dir, at), 0o755))
	m.link("sys/class/tty/"+name+"/device", filepath.Join(m.dir, at))
}

// usb adds a USB device.
func (m tree) usb(at, vendor, product, serial, maker, name string) {
	for file, content := range map[string]string{
		"idVendor": vendor, "idProduct": product, "serial": serial, "manufacturer": maker, "product": name,
	} {
		if content != "" {
			m.file("sys/devices/"+at+"/"+file, content+"\n")
		}
	}
}

func newTree(t *testing.T) tree {
	m := tree{t, t.TempDir()}
	require.NoError(t, os.MkdirAll(filepath.Join(m.dir, "sys/class/tty"), 0o755))
	return m
}

// bench is a tree with two adapters of one maker, one of them with two ports, a
// CDC device, a UART on the board, and terminals that are not serial ports. The
// paths are those of a real machine: usb-serial adds its own device below the
// interface, cdc-acm does not.
func bench(t *testing.T) tree {
	m := newTree(t)
	two := "pci0000:00/0000:00:14.0/usb1/1-2"
	m.usb(two, "0403", "6010", "FT4ZS6I3", "Digilent", "Digilent USB Device")
	for _, i := range []string{"0", "1"} {
		m.file("sys/devices/"+two+"/1-2:1."+i+"/bInterfaceNumber", "0"+i+"\n")
		m.tty("ttyUSB"+i, two+"/1-2:1."+i+"/ttyUSB"+i)
		m.link("dev/serial/by-id/usb-Digilent_FT4ZS6I3-if0"+i+"-port0", "../../ttyUSB"+i)
	}
	one := "pci0000:00/0000:00:14.0/usb1/1-3"
	m.usb(one, "0403", "6014", "FT9XXXXX", "FTDI", "Single RS232-HS")
	m.file("sys/devices/"+one+"/1-3:1.0/bInterfaceNumber", "00\n")
	m.tty("ttyUSB2", one+"/1-3:1.0/ttyUSB2")
	acm := "pci0000:00/0000:00:14.0/usb1/1-4"
	m.usb(acm, "2e8a", "000a", "", "", "")
	m.file("sys/devices/"+acm+"/1-4:1.10/bInterfaceNumber", "0a\n")
	m.tty("ttyACM0", acm+"/1-4:1.10")
	m.tty("ttyS0", "pnp0/00:04")
	m.file("sys/class/tty/ttyS0/type", "4\n")
	m.tty("ttyS1", "platform/serial8250")
	m.file("sys/class/tty/ttyS1/type", "0\n")
	m.file("sys/class/tty/tty0/dev", "4:0\n")
	m.file("proc/812/comm", "screen\n")
	m.link("proc/812/fd/5", filepath.Join(m.dir, "dev/ttyUSB1"))
	m.link("proc/812/fd/6", filepath.Join(m.dir, "dev/ttyUSB1"))
	m.link("proc/812/fd/7", filepath.Join(m.dir, "dev/ttyS1"))
	m.link("proc/97/fd/3", filepath.Join(m.dir, "dev/ttyUSB1"))
	return m
}

func TestList(t *testing.T) {
	m := bench(t)
	got, err := list(m.roots())
	require.NoError(t, err)
	dev := filepath.Join(m.dir, "dev")
	assert.Equal(t, []PortInfo{
		{Path: dev + "/ttyACM0", Vendor: "2e8a", Product: "000a", Interface: 10},
		{Path: dev + "/ttyS0", Interface: -1},
		{
			Path: dev + "/ttyUSB0", Serial: "FT4ZS6I3", Vendor: "0403", Product: "6010", Manufacturer: "Digilent",
			Name: "Digilent USB Device", Interface: 0, Alias: dev + "/serial/by-id/usb-Digilent_FT4ZS6I3-if00-port0",
		},
		{
			Path: dev + "/ttyUSB1", Serial: "FT4ZS6I3", Vendor: "0403", Product: "6010", Manufacturer: "Digilent",
			Name: "Digilent USB Device", Interface: 1, Alias: dev + "/serial/by-id/usb-Digilent_FT4ZS6I3-if01-port0",
			Holders: []Holder{{97, "?"}, {812, "screen"}},
		},
		{Path: dev + "/ttyUSB2", Serial: "FT9XXXXX", Vendor: "0403", Product: "6014", Manufacturer: "FTDI", Name: "Single RS232-HS"},
	}, got)
	assert.Equal(t, "FT4ZS6I3/if01", got[3].String())
	assert.Equal(t, dev+"/ttyS0", got[1].String())
	assert.Equal(t, "pid 812 (screen)", got[3].Holders[1].String())
}

func TestListOfNothing(t *testing.T) {
	got, err := list(newTree(t).roots())
	require.NoError(t, err)
	assert.Empty(t, got)
	_, err = list(roots{t.TempDir(), "", ""})
	assert.Error(t, err)
}

func TestFind(t *testing.T) {
	m := bench(t)
	dev := filepath.Join(m.dir, "dev")
	for _, tt := range []struct {
		name, want string
		err        error
		text       string
	}{
		{"/dev/anything", "/dev/anything", nil, ""},
		{"./link", "./link", nil, ""},
		{"FT9XXXXX", dev + "/ttyUSB2", nil, ""},
		{"FT9XXXXX/if00", dev + "/ttyUSB2", nil, ""},
		{"FT4ZS6I3/if01", dev + "/ttyUSB1", nil, ""},
		{"FT4ZS6I3/if1", dev + "/ttyUSB1", nil, ""},
		{"ttyACM0", dev + "/ttyACM0", nil, ""},
		{"FT4ZS6I3", "", ErrAmbiguous, "FT4ZS6I3/if00 (" + dev + "/ttyUSB0), FT4ZS6I3/if01 (" + dev + "/ttyUSB1)"},
		{"FT4ZS6I3/if02", "", ErrMissing, dev + "/ttyACM0, " + dev + "/ttyS0, FT4ZS6I3/if00"},
		{"ttyS1", "", ErrMissing, "ttyS1: found"},
		{"FT4ZS6I3/if99999999999999999999", "", ErrOption, "interface"},
	} {
		got, err := find(tt.name, func() ([]PortInfo, error) { return list(m.roots()) })
		assert.Equal(t, tt.want, got, tt.name)
		require.ErrorIs(t, err, tt.err, tt.name)
		if tt.err != nil {
			assert.ErrorContains(t, err, tt.text)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	_, err := find("x", func() ([]PortInfo, error) { return list(newTree(t).roots()) })
	assert.ErrorContains(t, err, "x: found none")
}

// List and Find work on the machine that runs the test.
func TestListHere(t *testing.T) {
	ports, err := List()
	if _, serr := os.Stat("/sys/class/tty"); serr != nil {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	for _, p := range ports {
		assert.FileExists(t, p.Path)
	}
	_, err = Find("no such adapter")
	assert.ErrorIs(t, err, ErrMissing)
}
