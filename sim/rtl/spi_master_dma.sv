// An SPI master as microcontrollers have them: a clock divider, FIFOs of eight bytes, a byte-wise and a burst mode for the
// CPU, DMA from and to a memory port, and an interrupt at the end of a DMA transfer. SPI mode 0, for the W5500.
//
// The registers, 32 bits each, take one clock per access:
//
//   0 CONTROL  bit 0: SCSn is low
//   1 DIVIDER  half a period of SCLK in clocks, from 1
//   2 DATA     write: a byte to send; read: the oldest byte that came, which is then gone
//   3 STATUS   bit 0: a byte has come; 1: there is room for a byte; 2: DMA is at work; 3: DMA is done, cleared by a write;
//              4: SCLK runs, and SCSn must wait
//   4 SOURCE   memory address of the bytes to send; bit 31: send zeros instead
//   5 TARGET   memory address for the bytes that come; bit 31: drop them instead
//   6 COUNT    write: starts DMA of so many bytes; of 0: ends it
//
// Byte-wise, the CPU writes DATA, waits for bit 0 and reads DATA; in a burst it writes ahead as long as there is room, so
// that the bytes follow one another without a gap. DMA fetches a byte in two clocks of the memory port, so that from a
// divider of 1 on its bytes have no gaps either.
module spi_master_dma (
    input  logic clk,
    input  logic rst_n,

    input  logic        write,
    input  logic        read,
    input  logic [ 2:0] address,
    input  logic [31:0] write_data,
    output logic [31:0] read_data,
    output logic        irq,

    // One access each clock; what is read is there in the next one.
    output logic        mem_read,
    output logic        mem_write,
    output logic [15:0] mem_address,
    output logic [ 7:0] mem_write_data,
    input  logic [ 7:0] mem_read_data,

    output logic scsn,
    output logic sclk,
    output logic mosi,
    input  logic miso
);
  localparam logic [2:0] CONTROL = 3'd0, DIVIDER = 3'd1, DATA = 3'd2, STATUS = 3'd3, SOURCE = 3'd4, TARGET = 3'd5,
      COUNT = 3'd6;
  localparam int unsigned DEPTH = 8;

  // --- FIFOs

  logic [7:0] tx[DEPTH], rx[DEPTH];
  logic [2:0] tx_head, tx_tail, rx_head, rx_tail;
  logic [3:0] tx_count, rx_count;
  logic tx_push, tx_pop, rx_push, rx_pop;
  logic [7:0] tx_in, rx_in;

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) begin
      {tx_head, tx_tail, rx_head, rx_tail} <= '0;
      tx_count <= 4'd0;
      rx_count <= 4'd0;
    end else begin
      if (tx_push) tx_tail <= tx_tail + 3'd1;
      if (tx_pop) tx_head <= tx_head + 3'd1;
      if (rx_push) rx_tail <= rx_tail + 3'd1;
      if (rx_pop) rx_head <= rx_head + 3'd1;
      tx_count <= tx_count + {3'd0, tx_push} - {3'd0, tx_pop};
      rx_count <= rx_count + {3'd0, rx_push} - {3'd0, rx_pop};
    end
  end
  always_ff @(posedge clk) begin
    if (tx_push) tx[tx_tail] <= tx_in;
    if (rx_push) rx[rx_tail] <= rx_in;
  end

  // --- the wires

  logic [15:0] divider, clocks;
  logic [7:0] out;
  logic [6:0] in;
  logic [3:0] bits_left;  // 0: no byte is under way
  logic half_over, last_edge;
  assign half_over = clocks == 16'd1;
  assign last_edge = bits_left == 4'd1 && sclk && half_over;
  assign mosi      = out[7];
  // The next byte begins at the last edge of the one before.
  assign tx_pop    = tx_count != 4'd0 && (bits_left == 4'd0 || last_edge);

  logic [7:0] came;
  logic byte_over;
  assign rx_push = byte_over;
  assign rx_in   = came;

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) begin
      sclk <= 1'b0;
      bits_left <= 4'd0;
      clocks <= 16'd1;
      byte_over <= 1'b0;
      out <= 8'd0;
    end else begin
      byte_over <= 1'b0;
      if (bits_left != 4'd0) clocks <= half_over ? divider : clocks - 16'd1;
      if (bits_left != 4'd0 && half_over) begin
        sclk <= !sclk;
        if (!sclk) begin
          in <= {in[5:0], miso};
          if (bits_left == 4'd1) begin
            came <= {in, miso};
            byte_over <= 1'b1;
          end
        end else begin
          out <= {out[6:0], 1'b0};
          bits_left <= bits_left - 4'd1;
        end
      end
      if (tx_pop) begin
        out <= tx[tx_head];
        bits_left <= 4'd8;
        clocks <= divider;
      end
    end
  end

  // --- DMA

  logic send_zeros, drop;
  logic [15:0] source, target, to_fetch, to_store;
  logic fetching;  // a byte comes from memory with this clock
  logic working, done;
  logic start;
  assign start = write && address == COUNT;
  assign irq   = done;

  // Of the memory port, storing goes first. As many bytes are under way as the FIFO of those that come can hold.
  logic store, fetch;
  assign store = working && rx_count != 4'd0;
  assign fetch = working && to_fetch != 16'd0 && !fetching && tx_count < 4'd2 && (send_zeros || drop || !store);
  assign mem_write = store && !drop;
  assign mem_read = fetch && !send_zeros;
  assign mem_address = mem_write ? target : source;
  assign mem_write_data = rx[rx_head];

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) begin
      working <= 1'b0;
      done <= 1'b0;
      fetching <= 1'b0;
      to_fetch <= 16'd0;
      to_store <= 16'd0;
    end else begin
      fetching <= fetch;
      if (fetch) begin
        source <= source + 16'd1;
        to_fetch <= to_fetch - 16'd1;
      end
      if (store) begin
        target <= target + 16'd1;
        to_store <= to_store - 16'd1;
        if (to_store == 16'd1) begin
          working <= 1'b0;
          done <= 1'b1;
        end
      end
      if (write && address == STATUS) done <= 1'b0;
      if (write && address == SOURCE) {send_zeros, source} <= {write_data[31], write_data[15:0]};
      if (write && address == TARGET) {drop, target} <= {write_data[31], write_data[15:0]};
      if (start) begin
        working  <= write_data[15:0] != 16'd0;
        to_fetch <= write_data[15:0];
        to_store <= write_data[15:0];
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, write_data[30:16]};

  // --- the CPU's side

  assign tx_push = fetching || (write && address == DATA);
  assign tx_in   = !fetching ? write_data[7:0] : send_zeros ? 8'd0 : mem_read_data;
  assign rx_pop  = store || (read && address == DATA && rx_count != 4'd0);

  always_ff @(posedge clk or negedge rst_n) begin
    if (!rst_n) begin
      scsn <= 1'b1;
      divider <= 16'd1;
    end else if (write) begin
      if (address == CONTROL) scsn <= !write_data[0];
      if (address == DIVIDER) divider <= write_data[15:0];
    end
  end

  always_comb begin
    unique case (address)
      DATA: read_data = {24'd0, rx[rx_head]};
      STATUS: read_data = {27'd0, bits_left != 4'd0 || tx_count != 4'd0, done, working, tx_count + rx_count < 4'd6, rx_count != 4'd0};
      COUNT: read_data = {16'd0, to_store};
      default: read_data = {31'd0, !scsn};
    endcase
  end
endmodule
