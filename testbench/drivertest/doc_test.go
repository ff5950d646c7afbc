package drivertest

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// page returns docs/drivers.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "drivers.md"))
	require.NoError(t, err)
	return string(text)
}

// needed returns the entries of the tables of docs/drivers.md, with the first word of
// when they are needed. Those of the miniport begin with DxgkDdi.
func needed(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	_, text, ok := strings.Cut(page(t), "\n## Mandatory entries\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*`) \\| (\\w+).* \\|$").FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			if name = strings.Trim(name, "`"); !strings.HasPrefix(name, "pfn") {
				name = "DxgkDdi" + name
			}
			require.NotContains(t, all, name)
			all[name] = row[2]
		}
	}
	return all
}

// without returns drivers without an entry of a table: of the miniport, or of one of the
// user-mode driver's tables.
func without(d testbench.Drivers, name string) testbench.Drivers {
	clear := func(table any) {
		v := reflect.ValueOf(table).Elem()
		name := strings.TrimPrefix(strings.TrimPrefix(name, "DxgkDdi"), "pfn")
		if f := v.FieldByName(name); f.IsValid() {
			f.SetZero()
		}
	}
	if strings.HasPrefix(name, "DxgkDdi") {
		entry := d.KernelMode
		d.KernelMode = func() kmddi.DriverInitializationData {
			table := entry()
			clear(&table)
			return table
		}
		return d
	}
	open := d.UserMode
	d.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			hr := create(t, h, arg)
			clear(arg.DeviceFuncs)
			clear(arg.DXGIFuncs)
			return hr
		}
		clear(arg.Funcs)
		return hr
	}
	return d
}

// start opens a system and a device of the drivers, without the verifier, which would
// report a missing entry first.
func start(t *testing.T, d testbench.Drivers) error {
	t.Helper()
	sys, err := testbench.Open("emu?config=small", d, testbench.Options{NoVerify: true})
	if err != nil {
		return err
	}
	defer sys.Close()
	dev, _, err := sys.CreateDevice()
	if err == nil {
		dev.Close()
	}
	return err
}

// docs/drivers.md says of every entry whether it is needed, and a driver without it
// starts or does not.
func TestMandatoryEntries(t *testing.T) {
	table := needed(t)
	host := testbench.HostDrivers()
	n := 0
	check := func(prefix string, typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Type.Kind() != reflect.Func {
				continue
			}
			name := prefix + f.Name
			want, ok := table[name]
			if !assert.True(t, ok, "%s is in no table", name) {
				continue
			}
			delete(table, name)
			n++
			plain, lists := start(t, without(foreign, name)), start(t, without(host, name))
			says := "left " + name + " nil"
			if prefix == "DxgkDdi" {
				says = "the miniport has no " + name
			}
			switch want {
			case "always":
				assert.ErrorContains(t, plain, says)
				assert.ErrorContains(t, lists, says)
			case "with":
				assert.NoError(t, plain, name)
				assert.ErrorContains(t, lists, says)
			case "optional":
				assert.NoError(t, plain, name)
			default:
				t.Errorf("%s is needed %q, want always, with or optional", name, want)
			}
		}
	}
	check("DxgkDdi", reflect.TypeFor[kmddi.DriverInitializationData]())
	for _, typ := range []reflect.Type{reflect.TypeFor[umddi.AdapterFuncs](), reflect.TypeFor[umddi.DXGIBaseFuncs](), reflect.TypeFor[umddi.DeviceFuncs]()} {
		check("pfn", typ)
	}
	assert.Empty(t, table, "entries that no table of the interfaces has")
	assert.Greater(t, n, 80)
}

// A start that fails with a status of docs/drivers.md ends with the exit code there.
func TestStatusOfAStart(t *testing.T) {
	statuses := map[string]ddi.Status{
		"StatusNoSuchDevice": ddi.StatusNoSuchDevice, "StatusRevisionMismatch": ddi.StatusRevisionMismatch, "StatusIOTimeout": ddi.StatusIOTimeout,
	}
	rows := regexp.MustCompile("(?m)^\\|.*\\| `(\\w+)` \\|.*; exit code (\\d) \\|$").FindAllStringSubmatch(page(t), -1)
	assert.Len(t, rows, len(statuses))
	for _, row := range rows {
		status, ok := statuses[row[1]]
		require.True(t, ok, row[1])
		d := foreign
		d.KernelMode = func() kmddi.DriverInitializationData {
			table := foreign.KernelMode()
			table.StartDevice = func(*ddi.Thread, kmddi.HAdapter, kmddi.StartInfo, *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
				return kmddi.StartDeviceOut{}, status
			}
			return table
		}
		assert.Equal(t, row[2], fmt.Sprint(exit.Code(start(t, d))), row[1])
	}
}

// The calls of a run are in the order of docs/drivers.md.
func TestOrderOfCalls(t *testing.T) {
	_, text, ok := strings.Cut(page(t), "```text\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "```")
	path := filepath.Join(t.TempDir(), "d.jsonl")
	code, _, stderr := mine(foreign, "run", "compose", "--size", "16x16", "--contexts", "1", "--ddi", path)
	require.Zero(t, code, stderr)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	events, err := verifier.ReadTrace(f)
	require.NoError(t, err)
	first := map[string]int{}
	for i, e := range events {
		if _, seen := first[e.Name]; !seen {
			first[e.Name] = i + 1
		}
	}
	last, before := 0, "the start"
	for line := range strings.Lines(text) {
		name := strings.Fields(line)[0]
		if assert.NotZero(t, first[name], "%s is never called", name) {
			assert.Greater(t, first[name], last, fmt.Sprintf("%s is first called before %s", name, before))
			last, before = first[name], name
		}
	}
}
