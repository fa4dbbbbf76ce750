// Which frames the SPI front has met: functional coverage of kinds x blocks x lengths x modes. Listens to the pins and to
// the strobes of the front. A cover property counts each kind; of the cross each point has a bit, for Verilator counts all
// instances of a cover property as one. ci/rtl_coverage.py names the bits.
//
//   vdm     variable length: mode 0 or 3, read or write, each BSB, 1, 2, 3-4, 5-16, 17-256 or more bytes of data
//   fdm     fixed length: mode, read or write, each BSB, 1, 2 or 4 bytes
//   broken  mode, and where SCSn rose: before the header, behind one byte of it or two, behind it, within a byte
`timescale 1ps / 1ps
module spi_frame_coverage (
    input logic       scsn,
    input logic       sclk,
    input logic       header_strobe,
    input logic       reg_strobe,
    input logic       buf_strobe,
    input logic [2:0] phase,
    input logic [1:0] byte_om,       // of byte_mosi
    input logic [4:0] block,
    input logic       rwb,
    output logic [767:0] vdm_met,     // [((mode * 2 + write) * 32 + BSB) * 6 + length]
    output logic [383:0] fdm_met,     // [((mode * 2 + write) * 32 + BSB) * 3 + length]
    output logic [  9:0] broken_met   // [mode * 5 + where]
);
  localparam logic [2:0] DATA = 3'd3;

  logic mode_3;  // SCLK idles high
  int edges, edges_before, data, data_before;
  always_ff @(posedge sclk) edges <= edges + 1;
  logic data_strobe;
  assign data_strobe = reg_strobe ^ buf_strobe;
  always_ff @(edge data_strobe) data <= data + 1;
  always_ff @(negedge scsn) begin
    mode_3       <= sclk;
    edges_before <= edges;
    data_before  <= data;
  end
  int bytes, bits;
  assign bytes = data - data_before;
  assign bits  = edges - edges_before;

  // Of the frame's length mode, once its header is in.
  logic [1:0] om;
  always_ff @(edge header_strobe) om <= byte_om;

  logic [2:0] length;
  always_comb begin
    if (bytes <= 2) length = bytes[2:0] - 3'd1;
    else if (bytes <= 4) length = 3'd2;
    else if (bytes <= 16) length = 3'd3;
    else if (bytes <= 256) length = 3'd4;
    else length = 3'd5;
  end

  logic is_vdm, is_fdm, is_empty, is_cut, is_torn;
  assign is_vdm   = phase == DATA && om == 2'd0 && bytes != 0;
  assign is_fdm   = om != 2'd0;
  assign is_empty = phase == DATA && bytes == 0;
  assign is_cut   = phase < DATA && bits < 24;
  assign is_torn  = bits % 8 != 0;

  vdm : cover property (@(posedge scsn) is_vdm);
  fdm : cover property (@(edge data_strobe) is_fdm);
  broken_within_header : cover property (@(posedge scsn) is_cut);
  broken_behind_header : cover property (@(posedge scsn) is_empty);
  broken_within_byte : cover property (@(posedge scsn) is_torn);

  logic [6:0] where;  // mode, direction, block
  assign where = {mode_3, rwb, block};
  always_ff @(posedge scsn) if (is_vdm) vdm_met[10'(where) * 10'd6 + 10'(length)] <= 1'b1;
  always_ff @(edge data_strobe) if (is_fdm) fdm_met[9'(where) * 9'd3 + 9'(om) - 9'd1] <= 1'b1;

  logic [3:0] first;
  assign first = mode_3 ? 4'd5 : 4'd0;
  always_ff @(posedge scsn) begin
    if (is_cut) broken_met[first + 4'(phase)] <= 1'b1;
    if (is_empty) broken_met[first + 4'd3] <= 1'b1;
    if (is_torn) broken_met[first + 4'd4] <= 1'b1;
  end
endmodule
