// What is verilated: the SPI front, and around it what watches its pins. For tests of whoever compares it, `upsets` makes
// it wrong: it drives MISO for ever, swaps the strobes of registers and buffers, gives each byte the next one's address.
`timescale 1ps / 1ps
module spi_front_bench (
    input  logic        rst_n,
    input  logic        scsn,
    input  logic        sclk,
    input  logic        mosi,
    output logic        miso,
    output logic        miso_oe,
    input  logic        header_miso_counts,
    input  logic [ 1:0] write_data_miso,
    input  logic [ 1:0] fdm_under_select,
    input  logic        address_sticks,
    input  logic [ 2:0] upsets,
    output logic        byte_strobe,
    output logic        header_strobe,
    output logic        reg_strobe,
    output logic        buf_strobe,
    output logic [ 2:0] phase,
    output logic [ 2:0] taken_phase,
    output logic [ 7:0] byte_mosi,
    output logic [15:0] taken_address,
    output logic [ 4:0] block,
    output logic        rwb,
    output logic [15:0] address,
    input  logic [ 7:0] fetched,
    output logic [ 7:0] shown,
`ifdef WIZLOOP_RTL_COVERAGE
    output logic [767:0] vdm_met,
    output logic [383:0] fdm_met,
    output logic [  9:0] broken_met,
`endif
    output logic [ 6:0] broken
);
  logic front_drives, front_strobes_reg, front_strobes_buf;
  logic [15:0] front_takes_at;
  spi_front front (
      .miso_oe(front_drives),
      .reg_strobe(front_strobes_reg),
      .buf_strobe(front_strobes_buf),
      .taken_address(front_takes_at),
      .*
  );
  assign miso_oe = front_drives | upsets[0];
  assign reg_strobe = upsets[1] ? front_strobes_buf : front_strobes_reg;
  assign buf_strobe = upsets[1] ? front_strobes_reg : front_strobes_buf;
  assign taken_address = front_takes_at + 16'(upsets[2]);
  spi_pin_checks checks (.*);
`ifdef WIZLOOP_RTL_COVERAGE
  spi_frame_coverage frames (
      .byte_om(byte_mosi[1:0]),
      .*
  );
`endif
endmodule
