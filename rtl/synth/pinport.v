// Connects the host port of the GPU to an 8-bit valid/ready pin port, for packages
// with fewer pins than the host port has bits.
//
// A frame has 12 bytes each way: a type, then 11 bytes.
//
//   type  in                      out                     bytes 1, 2, 3; 4..11
//   1     target request          initiator request       kind, tag, length; address
//   2     target beat             initiator beat          last, enable, 0; data
//   3     initiator completion    target completion       tag, status, last; data
//
// Multi-byte values have their low byte first. A frame in waits until the GPU
// takes it; a frame of another type is dropped. Frames out have the
// priority completion, request, beat.
module pinport (
	input  wire        clk,
	input  wire        rst,
	// pins
	input  wire        in_valid,
	input  wire [7:0]  in_data,
	output wire        in_ready,
	output wire        out_valid,
	output wire [7:0]  out_data,
	input  wire        out_ready,
	// into the GPU
	output wire [7:0]  req_kind,
	output wire [7:0]  req_tag,
	output wire [7:0]  req_len,
	output wire [63:0] req_addr,
	input  wire        req_taken,
	output wire        beat_valid,
	output wire        beat_last,
	output wire [7:0]  beat_enable,
	output wire [63:0] beat_data,
	input  wire        beat_taken,
	output wire [7:0]  cpl_tag,
	output wire [7:0]  cpl_status,
	output wire        cpl_last,
	output wire [63:0] cpl_data,
	// out of the GPU
	input  wire [7:0]  answer_tag,
	input  wire [7:0]  answer_status,
	input  wire        answer_last,
	input  wire [63:0] answer_data,
	output wire        answer_taken,
	input  wire [7:0]  ask_kind,
	input  wire [7:0]  ask_tag,
	input  wire [7:0]  ask_len,
	input  wire [63:0] ask_addr,
	output wire        ask_taken,
	input  wire        write_valid,
	input  wire        write_last,
	input  wire [7:0]  write_enable,
	input  wire [63:0] write_data,
	output wire        write_taken
);
	localparam [3:0] BYTES = 4'd12;

	reg [95:0] frame;
	reg [3:0]  held; // bytes of frame so far; at 12 it is offered
	reg [95:0] back;
	reg [3:0]  left; // bytes of back still to be sent

	wire       full = held == BYTES;
	wire [7:0] what = frame[7:0];
	wire       is_req = full && what == 8'd1;
	wire       is_beat = full && what == 8'd2;
	wire       is_cpl = full && what == 8'd3;
	wire       taken = full && !(is_req && !req_taken) && !(is_beat && !beat_taken);

	assign in_ready = !full;
	assign req_kind = is_req ? frame[15:8] : 8'd0;
	assign req_tag = frame[23:16];
	assign req_len = frame[31:24];
	assign req_addr = frame[95:32];
	assign beat_valid = is_beat;
	assign beat_last = frame[8];
	assign beat_enable = frame[23:16];
	assign beat_data = frame[95:32];
	assign cpl_tag = frame[15:8];
	assign cpl_status = is_cpl ? frame[23:16] : 8'd0;
	assign cpl_last = frame[24];
	assign cpl_data = frame[95:32];

	wire empty = left == 4'd0;
	wire answers = answer_status != 8'd0;
	wire asks = ask_kind != 8'd0;

	assign answer_taken = empty;
	assign ask_taken = empty && !answers;
	assign write_taken = empty && !answers && !asks;
	assign out_valid = !empty;
	assign out_data = back[7:0];

	always @(posedge clk) begin
		if (in_valid && in_ready) frame <= {in_data, frame[95:8]};
		if (rst || taken) held <= 4'd0;
		else if (in_valid && in_ready) held <= held + 4'd1;
	end

	always @(posedge clk) begin
		if (empty && answers) back <= {answer_data, 7'd0, answer_last, answer_status, answer_tag, 8'd3};
		else if (empty && asks) back <= {ask_addr, ask_len, ask_tag, ask_kind, 8'd1};
		else if (empty) back <= {write_data, 8'd0, write_enable, 7'd0, write_last, 8'd2};
		else if (out_ready) back <= {8'd0, back[95:8]};
		if (rst) left <= 4'd0;
		else if (empty && (answers || asks || write_valid)) left <= BYTES;
		else if (!empty && out_ready) left <= left - 4'd1;
	end
endmodule
