package linkstat_test

import (
	"testing"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/linkstat"
	"github.com/hilgpu/hilgpu/bus/bustest"
)

func TestX(t *testing.T) {
	for _, n := range []string{"emu", "line", "pins:ulx3s", "pins:colorlight-i5", "pins:ice40-hx8k"} {
		l, _, err := boards.Open(n, bustest.NewHost(8192))
		if err != nil {
			t.Fatal(err)
		}
		s, err := linkstat.Read(l)
		t.Logf("%s %+v %v", n, s, err)
		if s != nil {
			t.Log(s.UART, s.MAC)
		}
	}
}
