// The arbiter of VRAM writes of package noc, written by hand like the Go. A source
// that was granted keeps the grant until its header is taken. Then it owns the
// beats until the last one, and the turn goes to the source after it. rst is the
// power-on reset. Nothing is dropped.
module noc_writes_hand (
	input  wire       clk,
	input  wire       rst,
	input  wire [7:0] valid,
	input  wire [7:0] granted,
	input  wire       taken,
	input  wire       last,
	output wire [2:0] Turn_At,
	output wire       Turn_Hold,
	output wire       Owner_Valid,
	output wire       Owner_Drop,
	output wire [1:0] Owner_Source,
	output wire       Owed
);
	reg [2:0] turn_At;
	reg       turn_Hold;
	reg       owner_Valid;
	reg [1:0] owner_Source;

	assign Turn_At      = turn_At;
	assign Turn_Hold    = turn_Hold;
	assign Owner_Valid  = owner_Valid;
	assign Owner_Drop   = 1'b0;
	assign Owner_Source = owner_Source;
	assign Owed         = turn_Hold || owner_Valid;

	always @(posedge clk) begin
		if (rst) begin
			turn_At      <= 3'd0;
			turn_Hold    <= 1'b0;
			owner_Valid  <= 1'b0;
			owner_Source <= 2'd0;
		end else begin
			if (valid != 8'd0) begin
				turn_At   <= taken ? granted[2:0] + 3'd1 : granted[2:0];
				turn_Hold <= !taken;
			end
			if (taken) begin
				owner_Valid  <= 1'b1;
				owner_Source <= granted[1:0];
			end else if (last)
				owner_Valid <= 1'b0;
		end
	end
endmodule
