// The pin protocol of a W5500's SPI as assertions: the AC limits of datasheet 5.5.4 that a host has to keep. Listens to the
// pins and drives nothing. A limit that was not kept sets its bit in `broken` for good, in the order of the table:
//
//   0  TCS     SCSn high between two frames       30 ns
//   1  TCSS    SCSn low before the first edge      5 ns
//   2  TCSH    SCSn low after the last edge        5 ns
//   3  TWH     SCLK high                           6 ns
//   4  TWL     SCLK low                            6 ns
//   5  TDS     MOSI steady before the rising edge  3 ns
//   6  TDH     MOSI steady after the rising edge   3 ns
//
// Time is in picoseconds. Nothing is broken before there has been an edge to count from.
`timescale 1ps / 1ps
module spi_pin_checks (
    input logic scsn,
    input logic sclk,
    input logic mosi,
    output logic [6:0] broken
);
  localparam longint TCS = 30_000, TCSS = 5_000, TCSH = 5_000, TWH = 6_000, TWL = 6_000, TDS = 3_000, TDH = 3_000;
  localparam longint NEVER = -1_000_000;

  longint scsn_fell = NEVER, scsn_rose = NEVER, sclk_fell = NEVER, sclk_rose = NEVER, mosi_moved = NEVER;
  always_ff @(negedge scsn) scsn_fell <= longint'($time);
  always_ff @(posedge scsn) scsn_rose <= longint'($time);
  always_ff @(negedge sclk) sclk_fell <= longint'($time);
  always_ff @(posedge sclk) sclk_rose <= longint'($time);
  always @(mosi) mosi_moved <= longint'($time);

  // Which edges of SCLK this frame has had.
  int rises, falls, rises_before, falls_before;
  always_ff @(posedge sclk) rises <= rises + 1;
  always_ff @(negedge sclk) falls <= falls + 1;
  always_ff @(negedge scsn) {rises_before, falls_before} <= {rises, falls};
  logic rose, fell;
  assign rose = rises != rises_before;
  assign fell = falls != falls_before;

  logic tcs_broken, tcss_broken_by_rise, tcss_broken_by_fall, tcsh_broken, twh_broken, twl_broken, tds_broken, tdh_broken;
  assign broken = {
    tdh_broken, tds_broken, twl_broken, twh_broken, tcsh_broken, tcss_broken_by_rise || tcss_broken_by_fall, tcs_broken
  };

  tcs : assert property (@(negedge scsn) longint'($time) - scsn_rose >= TCS) else tcs_broken <= 1'b1;
  tcss_by_rise : assert property (@(posedge sclk) scsn || rose || fell || longint'($time) - scsn_fell >= TCSS)
    else tcss_broken_by_rise <= 1'b1;
  tcss_by_fall : assert property (@(negedge sclk) scsn || rose || fell || longint'($time) - scsn_fell >= TCSS)
    else tcss_broken_by_fall <= 1'b1;
  tcsh : assert property (@(posedge scsn)
    !(rose && longint'($time) - sclk_rose < TCSH) && !(fell && longint'($time) - sclk_fell < TCSH))
    else tcsh_broken <= 1'b1;
  twh : assert property (@(negedge sclk) scsn || !rose || longint'($time) - sclk_rose >= TWH) else twh_broken <= 1'b1;
  twl : assert property (@(posedge sclk) scsn || !fell || longint'($time) - sclk_fell >= TWL) else twl_broken <= 1'b1;
  tds : assert property (@(posedge sclk) scsn || longint'($time) - mosi_moved >= TDS) else tds_broken <= 1'b1;
  tdh : assert property (@(edge mosi) scsn || !rose || longint'($time) - sclk_rose >= TDH) else tdh_broken <= 1'b1;
endmodule
