package synth

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

//go:embed pinport.v
var pinportText []byte

// pinport is the source of the pin port on its own.
func pinport() Source {
	return Source{Files: []verilog.File{{Name: "pinport.v", Text: pinportText}}, Top: "pinport", Blocks: []string{"pinport"}}
}

// wires returns the pairs of pin-port ports and GPU ports, the latter by Go path.
func wires() []struct{ pin, path string } {
	return []struct{ pin, path string }{
		{"req_kind", "req.Kind"}, {"req_tag", "req.Tag"}, {"req_len", "req.Len"}, {"req_addr", "req.Addr"},
		{"req_taken", "Target.reqReady"},
		{"beat_valid", "beat.Valid"}, {"beat_last", "beat.Last"}, {"beat_enable", "beat.Enable"},
		{"beat_data", "beat.Data"}, {"beat_taken", "Target.dataReady"},
		{"cpl_tag", "cpl.Tag"}, {"cpl_status", "cpl.Status"}, {"cpl_last", "cpl.Last"}, {"cpl_data", "cpl.Data"},
		{"answer_tag", "Target.cpl.Tag"}, {"answer_status", "Target.cpl.Status"},
		{"answer_last", "Target.cpl.Last"}, {"answer_data", "Target.cpl.Data"}, {"answer_taken", "cplReady"},
		{"ask_kind", "Initiator.req.Kind"}, {"ask_tag", "Initiator.req.Tag"}, {"ask_len", "Initiator.req.Len"},
		{"ask_addr", "Initiator.req.Addr"}, {"ask_taken", "reqReady"},
		{"write_valid", "Initiator.beat.Valid"}, {"write_last", "Initiator.beat.Last"},
		{"write_enable", "Initiator.beat.Enable"}, {"write_data", "Initiator.beat.Data"}, {"write_taken", "dataReady"},
	}
}

// onPins returns the GPU connected to the pin port, as module board. It fails
// with ErrPlace if the ports of the GPU are not those of wires.
func onPins(d *verilog.Design) (Source, error) {
	ports := map[string]verilog.Port{}
	for _, p := range d.Manifest.Ports {
		if p.Go != "" {
			ports[p.Go] = p
		}
	}
	var nets, pins, gpu strings.Builder
	for _, w := range wires() {
		p, ok := ports[w.path]
		if !ok {
			return Source{}, fmt.Errorf("%w: the GPU has no port %s", ErrPlace, w.path)
		}
		delete(ports, w.path)
		fmt.Fprintf(&nets, "\twire [%d:0] %s;\n", p.Width-1, w.pin)
		fmt.Fprintf(&pins, ",\n\t\t.%s(%s)", w.pin, w.pin)
		fmt.Fprintf(&gpu, ",\n\t\t.%s(%s)", p.Name, w.pin)
	}
	for path := range ports {
		return Source{}, fmt.Errorf("%w: the pin port does not have all ports of the GPU, such as %s", ErrPlace, path)
	}
	text := fmt.Sprintf(`module board (
	input  wire       clk,
	input  wire       rst,
	input  wire       in_valid,
	input  wire [7:0] in_data,
	output wire       in_ready,
	output wire       out_valid,
	output wire [7:0] out_data,
	input  wire       out_ready
);
%s
	pinport pins (
		.clk(clk),
		.rst(rst),
		.in_valid(in_valid),
		.in_data(in_data),
		.in_ready(in_ready),
		.out_valid(out_valid),
		.out_data(out_data),
		.out_ready(out_ready)%s
	);

	%s gpu (
		.clk(clk),
		.rst(rst)%s
	);
endmodule
`, nets.String(), pins.String(), d.Manifest.Top, gpu.String())
	files := append([]verilog.File{}, d.Files...)
	files = append(files, pinport().Files...)
	files = append(files, verilog.File{Name: "board.v", Text: []byte(text)})
	return Source{Files: files, Top: "board"}, nil
}
