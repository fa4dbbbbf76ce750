// The SPI front of a W5500, clocked by SCLK alone: SCSn, SCLK, MOSI and MISO on one side, blocks of registers and buffers
// on the other (datasheet 2.2 to 2.4). SPI modes 0 and 3: both sample on the rising edge of SCLK and change MISO on the
// falling one, so whether SCLK idles low or high is all the same to it.
//
// A frame is two address bytes, a control byte (block, direction, length mode) and data at rising addresses, in variable
// (VDM) or fixed (FDM: 1, 2 or 4 bytes) data length mode. MISO shows 01 02 03 while the header goes in. SCSn high ends a
// frame wherever it is: what lacks its last edge never was, and the next frame begins anew.
//
// A strobe is a change of level, for whoever is behind it may have another clock. At the last rising edge of a byte:
//
//   byte_strobe    any byte is in: byte_mosi, and taken_phase says what it was
//   header_strobe  it was the control byte: block, rwb and address are those of the frame
//   reg_strobe     a byte of data has passed, to or from a block that is no buffer, at taken_address
//   buf_strobe     the same of a buffer
//
// From that edge on `address` is where the byte comes from that MISO shows next: `fetched` must be there by the falling
// edge, half a period of SCLK later. A fetch has no side effect; only a strobe says that the host has clocked the byte out.
`timescale 1ps / 1ps
module spi_front (
    input  logic rst_n,    // RSTn, and whatever else holds the chip in reset
    input  logic scsn,
    input  logic sclk,
    input  logic mosi,
    output logic miso,
    output logic miso_oe,  // high impedance without it

    // What nobody knows about the chip; the names and the choices are those of chip.quirk.*.
    input logic       header_miso_counts,  // else zeros
    input logic [1:0] write_data_miso,     // 0 zeros, 1 ones, 2 echo
    input logic [1:0] fdm_under_select,    // 0 next_frame, 1 ignored, 2 capped
    input logic       address_sticks,      // at FFFF; else it wraps

    output logic        byte_strobe,
    output logic        header_strobe,
    output logic        reg_strobe,
    output logic        buf_strobe,
    output logic [ 2:0] phase,          // what the byte is that goes in now
    output logic [ 2:0] taken_phase,    // and what the last one was
    output logic [ 7:0] byte_mosi,
    output logic [15:0] taken_address,
    output logic [ 4:0] block,
    output logic        rwb,            // 1 writes
    output logic [15:0] address,
    input  logic [ 7:0] fetched,
    output logic [ 7:0] shown           // on MISO, bit by bit, while the byte of this phase goes in
);
  // The numbers are those of wizloop::chip::FramePhase.
  localparam logic [2:0] ADDRESS_HIGH = 3'd0;
  localparam logic [2:0] ADDRESS_LOW = 3'd1;
  localparam logic [2:0] CONTROL = 3'd2;
  localparam logic [2:0] DATA = 3'd3;
  localparam logic [2:0] SPENT = 3'd4;  // until SCSn rises

  localparam logic [1:0] WRITE_SHOWS_ONES = 2'd1, WRITE_SHOWS_ECHO = 2'd2;
  localparam logic [1:0] FDM_IGNORED = 2'd1, FDM_CAPPED = 2'd2;

  logic idle;
  assign idle = scsn || !rst_n;

  // Whether SCSn has risen since reset: a board that ties it low has fixed lengths.
  logic select_toggles;
  always_ff @(posedge scsn or negedge rst_n) begin
    if (!rst_n) select_toggles <= 1'b0;
    else select_toggles <= 1'b1;
  end

  // --- MOSI in

  logic [6:0] shift;
  logic [7:0] sampled;
  logic [2:0] bits_in;
  logic       last_bit;
  assign sampled  = {shift, mosi};
  assign last_bit = bits_in == 3'd7;

  logic [2:0] fixed_left;  // bytes; 0 in VDM
  logic [2:0] fixed_length;
  always_comb begin
    unique case (sampled[1:0])
      2'b00: fixed_length = 3'd0;
      2'b01: fixed_length = 3'd1;
      2'b10: fixed_length = 3'd2;
      2'b11: fixed_length = 3'd4;
    endcase
    if (select_toggles && fdm_under_select == FDM_IGNORED) fixed_length = 3'd0;
  end

  logic is_buffer;
  assign is_buffer = block[1];

  always_ff @(posedge sclk or posedge idle) begin
    if (idle) begin
      bits_in    <= 3'd0;
      phase      <= ADDRESS_HIGH;
      fixed_left <= 3'd0;
    end else begin
      bits_in <= bits_in + 3'd1;
      if (last_bit) begin
        unique case (phase)
          ADDRESS_HIGH: phase <= ADDRESS_LOW;
          ADDRESS_LOW: phase <= CONTROL;
          CONTROL: begin
            phase      <= DATA;
            fixed_left <= fixed_length;
          end
          DATA:
          if (fixed_left != 3'd0) begin
            fixed_left <= fixed_left - 3'd1;
            if (fixed_left == 3'd1) phase <= select_toggles && fdm_under_select == FDM_CAPPED ? SPENT : ADDRESS_HIGH;
          end
          default: ;
        endcase
      end
    end
  end

  // What outlives SCSn: the strobes, and what they are about. Clocks while idle do not count: there is no last bit then.
  logic [7:0] write_shows;
  always_ff @(posedge sclk) begin
    shift <= sampled[6:0];
    if (last_bit) begin
      byte_strobe <= !byte_strobe;
      byte_mosi   <= sampled;
      taken_phase <= phase;
      unique case (phase)
        ADDRESS_HIGH: address[15:8] <= sampled;
        ADDRESS_LOW: address[7:0] <= sampled;
        CONTROL: begin
          block         <= sampled[7:3];
          rwb           <= sampled[2];
          write_shows   <= {8{write_data_miso == WRITE_SHOWS_ONES}};
          header_strobe <= !header_strobe;
        end
        DATA: begin
          taken_address <= address;
          address       <= address_sticks && address == 16'hFFFF ? address : address + 16'd1;
          if (write_data_miso == WRITE_SHOWS_ECHO) write_shows <= sampled;
          if (is_buffer) buf_strobe <= !buf_strobe;
          else reg_strobe <= !reg_strobe;
        end
        default: ;
      endcase
    end
  end

  // --- MISO out

  always_comb begin
    unique case (phase)
      ADDRESS_HIGH: shown = {7'd0, header_miso_counts};
      ADDRESS_LOW: shown = {6'd0, header_miso_counts, 1'b0};
      CONTROL: shown = {6'd0, header_miso_counts, header_miso_counts};
      DATA: shown = rwb ? write_shows : fetched;
      default: shown = 8'd0;
    endcase
  end

  // Mode 0 samples the first bit before any falling edge: it is that of the header, 0.
  logic miso_bit;
  always_ff @(negedge sclk or posedge idle) begin
    if (idle) miso_bit <= 1'b0;
    else miso_bit <= shown[3'd7-bits_in];
  end
  assign miso    = miso_bit;
  assign miso_oe = !scsn;
endmodule
