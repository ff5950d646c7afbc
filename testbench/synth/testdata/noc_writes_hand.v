// The arbiter of VRAM's writes of package noc, written by hand the way it is in Go:
// a source that was offered stays, and otherwise the turn is behind the one whose
// header was taken; two owners of beats wait in the order of their headers. rst is
// the power-on reset. Nothing is dropped.
module noc_writes_hand (
	input  wire       clk,
	input  wire       rst,
	input  wire [7:0] valid,
	input  wire [7:0] granted,
	input  wire       taken,
	input  wire       last,
	output wire [2:0] Turn_At,
	output wire       Turn_Hold,
	output wire       Full,
	output wire       Owner_Valid,
	output wire       Owner_Drop,
	output wire [2:0] Owner_Source,
	output wire       Owed
);
	localparam TARGET = 3'd3;

	reg [2:0] turn_At;
	reg       turn_Hold;
	reg       owners_cur_Valid;
	reg [2:0] owners_cur_Source;
	reg       owners_then_Valid;
	reg [2:0] owners_then_Source;

	wire owners_cur_Drop  = 1'b0;
	wire owners_then_Drop = 1'b0;

	assign Turn_At      = turn_At;
	assign Turn_Hold    = turn_Hold;
	assign Full         = owners_then_Valid;
	assign Owner_Valid  = owners_cur_Valid;
	assign Owner_Drop   = owners_cur_Drop;
	assign Owner_Source = owners_cur_Source;
	assign Owed = turn_Hold && turn_At != TARGET ||
		owners_cur_Valid && owners_cur_Source != TARGET ||
		owners_then_Valid && owners_then_Source != TARGET;

	// free is whether no owner is left behind the last beat: a header is at the head.
	wire free = last ? !owners_then_Valid : !owners_cur_Valid;

	always @(posedge clk) begin
		if (rst) begin
			turn_At            <= 3'd0;
			turn_Hold          <= 1'b0;
			owners_cur_Valid   <= 1'b0;
			owners_cur_Source  <= 3'd0;
			owners_then_Valid  <= 1'b0;
			owners_then_Source <= 3'd0;
		end else begin
			if (valid != 8'd0) begin
				turn_At   <= taken ? granted[2:0] + 3'd1 : granted[2:0];
				turn_Hold <= !taken;
			end
			owners_cur_Valid <= !free || taken;
			if (taken && free)
				owners_cur_Source <= granted[2:0];
			else if (last)
				owners_cur_Source <= owners_then_Source;
			if (taken && !free) begin
				owners_then_Valid  <= 1'b1;
				owners_then_Source <= granted[2:0];
			end else if (last)
				owners_then_Valid <= 1'b0;
		end
	end
endmodule
