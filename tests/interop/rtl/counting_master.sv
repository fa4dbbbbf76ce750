// A master with a synchronous reset that only counts clocks, and asserts that there are fewer than Limit.
`include "limit.svh"

module counting_master (
    input  logic clk,
    input  logic rst_n,
    output logic scsn,
    output logic sclk,
    output logic mosi,
    input  logic miso,
    input  logic intn
);
  logic [7:0] clocks;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      scsn   <= 1'b1;
      sclk   <= 1'b0;
      mosi   <= 1'b0;
      clocks <= '0;
    end else begin
      clocks <= clocks + 1;  // wider than its target, of which Verilator warns
    end
  end

  few_clocks : assert property (@(posedge clk) disable iff (!rst_n) clocks < Limit);

  logic unused;
  assign unused = miso ^ intn;
endmodule
