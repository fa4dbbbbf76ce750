// A master whose reset is synchronous, so that nothing of it has a value before the first edge of clk. It reads VERSIONR
// over and over, in SPI mode 0 at a quarter of clk.
module synchronous_master (
    input  logic clk,
    input  logic rst_n,
    output logic scsn,
    output logic sclk,
    output logic mosi,
    input  logic miso,
    input  logic intn
);
  localparam logic [31:0] FRAME = 32'h00_39_00_00;
  localparam logic [7:0] FRAME_CLOCKS = 8'd132;  // SCSn falls, 32 bits of four clocks, hold
  localparam logic [7:0] ALL_CLOCKS = 8'd160;

  logic [7:0] at;
  logic [4:0] bit_left;
  assign bit_left = 5'd31 - at[6:2];

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      scsn <= 1'b1;
      sclk <= 1'b0;
      mosi <= 1'b0;
      at   <= 8'd0;
    end else begin
      at   <= at == ALL_CLOCKS ? 8'd0 : at + 8'd1;
      scsn <= at >= FRAME_CLOCKS;
      sclk <= at < 8'd128 && at[1];
      mosi <= at < 8'd128 && FRAME[bit_left];
    end
  end

  logic unused;
  assign unused = miso ^ intn;
endmodule
