// The round-robin arbiter of package noc, written by hand the way it is in Go:
// a source that was offered stays, and otherwise the next one that is valid is
// looked for from the one whose turn it is. rst is the power-on reset, rst_2 the
// reset that Tick takes.
module noc_reads_hand (
	input  wire       clk,
	input  wire       rst,
	input  wire       rst_2,
	input  wire [7:0] valid,
	input  wire       taken,
	output wire [2:0] Turn_At,
	output wire       Turn_Hold
);
	reg [2:0] turn_At;
	reg       turn_Hold;
	reg [2:0] grant;
	reg       found;
	reg [2:0] at;
	integer   i;

	always @* begin
		grant = turn_At;
		found = turn_Hold;
		for (i = 0; i < 8; i = i + 1) begin
			at = turn_At + i;
			if (!found && valid[at]) begin
				grant = at;
				found = 1'b1;
			end
		end
	end

	assign Turn_At   = turn_At;
	assign Turn_Hold = turn_Hold;

	always @(posedge clk) begin
		if (rst || rst_2) begin
			turn_At   <= 3'd0;
			turn_Hold <= 1'b0;
		end else if (valid != 8'd0) begin
			turn_At   <= taken ? grant + 3'd1 : grant;
			turn_Hold <= !taken;
		end
	end
endmodule
