// A W5500 without a CPU: waits for the chip, gives it addresses, waits for the link, opens a UDP socket and sends one
// datagram of eight bytes each millisecond: a 32-bit number that counts up from 0, and "W55!". SCLK is half of clk, in SPI
// mode 0. An example of an SPI master that wizloop_add_rtl_master() puts in front of the chip model.
//
// What it does is a list of steps, each one SPI frame: a write, or a read that is repeated until it shows what the step
// waits for. A step is a line in each of the two functions below.
module udp_beacon #(
    parameter int unsigned CLOCK_HZ = 50_000_000
) (
    input  logic clk,
    input  logic rst_n,
    output logic scsn,
    output logic sclk,
    output logic mosi,
    input  logic miso,
    input  logic intn
);
  localparam int unsigned TICK = CLOCK_HZ / 1000;  // clocks in a millisecond

  localparam logic [7:0] COMMON = 8'h00, S0 = 8'h08, S0_TX = 8'h10, WRITE = 8'h04;

  typedef enum logic [3:0] {
    FIND_CHIP, ADDRESSES, FIND_LINK, MODE, PORT, OPEN, OPENED, PEER,
    WAIT_TICK, POINTER, PAYLOAD, ADVANCE, SEND, SENT, CLEAR
  } step_t;

  step_t step;
  logic [15:0] tx_wr;  // Sn_TX_WR
  logic [31:0] number;

  // The frame of a step: offset, control byte, bytes of data.
  typedef struct packed {
    logic [15:0] offset;
    logic [7:0]  control;
    logic [4:0]  count;
  } frame_t;

  function automatic frame_t frame_of(input step_t of, input logic [15:0] pointer);
    unique case (of)
      FIND_CHIP: return '{16'h0039, COMMON, 5'd1};  // VERSIONR
      ADDRESSES: return '{16'h0001, COMMON | WRITE, 5'd18};  // GAR, SUBR, SHAR, SIPR
      FIND_LINK: return '{16'h002E, COMMON, 5'd1};  // PHYCFGR
      MODE: return '{16'h0000, S0 | WRITE, 5'd1};  // Sn_MR
      PORT: return '{16'h0004, S0 | WRITE, 5'd2};  // Sn_PORT
      OPEN, SEND: return '{16'h0001, S0 | WRITE, 5'd1};  // Sn_CR
      OPENED: return '{16'h0003, S0, 5'd1};  // Sn_SR
      PEER: return '{16'h000C, S0 | WRITE, 5'd6};  // Sn_DIPR, Sn_DPORT
      POINTER: return '{16'h0024, S0, 5'd2};  // Sn_TX_WR
      PAYLOAD: return '{pointer, S0_TX | WRITE, 5'd8};
      ADVANCE: return '{16'h0024, S0 | WRITE, 5'd2};
      SENT: return '{16'h0002, S0, 5'd1};  // Sn_IR
      CLEAR: return '{16'h0002, S0 | WRITE, 5'd1};
      default: return '{16'h0000, COMMON, 5'd0};
    endcase
  endfunction

  // The data that it writes, the first byte on the left.
  function automatic logic [143:0] data_of(input step_t of, input logic [15:0] pointer, input logic [31:0] count);
    unique case (of)
      // 192.168.1.1, 255.255.255.0, 02:00:00:00:00:20, 192.168.1.20
      ADDRESSES: return {8'd192, 8'd168, 8'd1, 8'd1, 8'd255, 8'd255, 8'd255, 8'd0, 48'h02_00_00_00_00_20,
                         8'd192, 8'd168, 8'd1, 8'd20};
      MODE: return {8'h02, 136'd0};  // UDP
      PORT: return {16'd5000, 128'd0};
      OPEN: return {8'h01, 136'd0};
      PEER: return {8'd192, 8'd168, 8'd1, 8'd10, 16'd5000, 96'd0};
      PAYLOAD: return {count, "W55!", 80'd0};
      ADVANCE: return {pointer + 16'd8, 128'd0};
      SEND: return {8'h20, 136'd0};
      CLEAR: return {8'h18, 136'd0};  // SENDOK, TIMEOUT
      default: return 144'd0;
    endcase
  endfunction

  // --- the frame

  typedef enum logic [2:0] { GAP, SELECT, SHIFT, HOLD, DECIDE } state_t;
  state_t state;

  frame_t frame;
  assign frame = frame_of(step, tx_wr);

  logic [167:0] out;  // header and data still to be sent
  logic [15:0]  in;  // the last two bytes that came
  logic [7:0]   bits_left;
  logic [3:0]   gap;
  assign mosi = out[167];

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) begin
      state <= GAP;
      scsn <= 1'b1;
      sclk <= 1'b0;
      gap <= 4'd0;
    end else begin
      unique case (state)
        GAP: begin
          gap <= gap + 4'd1;
          if (gap == 4'd3 && step != WAIT_TICK) begin
            scsn <= 1'b0;
            out <= {frame.offset, frame.control, data_of(step, tx_wr, number)};
            bits_left <= (8'd3 + {3'd0, frame.count}) << 3;
            state <= SELECT;
          end else if (gap == 4'd3) begin
            gap <= 4'd3;
          end
        end
        SELECT: state <= SHIFT;
        SHIFT:
        if (!sclk) begin
          sclk <= 1'b1;
          in <= {in[14:0], miso};
          bits_left <= bits_left - 8'd1;
        end else begin
          sclk <= 1'b0;
          out <= {out[166:0], 1'b0};
          if (bits_left == 8'd0) state <= HOLD;
        end
        HOLD: begin
          scsn <= 1'b1;
          state <= DECIDE;
        end
        DECIDE: begin
          gap <= 4'd0;
          state <= GAP;
        end
        default: state <= GAP;
      endcase
    end
  end

  // --- what comes next

  logic [31:0] clocks;  // since the last tick
  logic        due;  // a datagram is
  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) begin
      clocks <= 32'd0;
      due <= 1'b0;
    end else begin
      clocks <= clocks == TICK - 1 ? 32'd0 : clocks + 32'd1;
      if (clocks == TICK - 1) due <= 1'b1;
      else if (step == WAIT_TICK) due <= 1'b0;
    end
  end

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) begin
      step <= FIND_CHIP;
      number <= 32'd0;
      tx_wr <= 16'd0;
    end else if (step == WAIT_TICK) begin
      if (due) step <= POINTER;
    end else if (state == DECIDE) begin
      unique case (step)
        FIND_CHIP: if (in[7:0] == 8'h04) step <= ADDRESSES;
        ADDRESSES: step <= FIND_LINK;
        FIND_LINK: if (in[0]) step <= MODE;
        MODE: step <= PORT;
        PORT: step <= OPEN;
        OPEN: step <= OPENED;
        OPENED: if (in[7:0] == 8'h22) step <= PEER;
        PEER: step <= WAIT_TICK;
        POINTER: begin
          tx_wr <= in;
          step <= PAYLOAD;
        end
        PAYLOAD: step <= ADVANCE;
        ADVANCE: step <= SEND;
        SEND: step <= SENT;
        SENT:
        if ((in[7:0] & 8'h18) != 8'h00) begin
          if (in[4]) number <= number + 32'd1;
          step <= CLEAR;
        end
        default: step <= WAIT_TICK;
      endcase
    end
  end

  // It polls; the pin is here because every master has it.
  logic unused;
  assign unused = &{1'b0, intn};
endmodule
