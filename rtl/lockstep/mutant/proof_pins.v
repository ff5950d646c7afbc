(* blackbox *) module held (input d, output q);
endmodule
(* blackbox *) module free (output q);
endmodule
(* blackbox *) module reads (input [39:0] addr, output [63:0] data);
endmodule
(* blackbox *) module writes (input [39:0] addr, input [63:0] data, input [63:0] enable);
endmodule
