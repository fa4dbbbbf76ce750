#include "http_service.hpp"

#include "page.hpp"

namespace agent {
namespace {

// A client that says nothing must not keep the socket.
constexpr uint64_t patience_us = 10000000;
constexpr uint32_t longest_header = 8192;
constexpr uint16_t header_room = 160;

// Where in the request it is: in the first line, or so many bytes into the empty line that ends the header.
enum Step : uint8_t { first_line, in_line, line_began };

bool begins_with(const uint8_t* bytes, uint16_t count, Text text) {
  uint16_t i = 0;
  while (text[i] != 0 && i < count && bytes[i] == static_cast<uint8_t>(text[i])) ++i;
  return text[i] == 0;
}

void write_line(Page& page, bool html, Text name, uint64_t value) {
  if (html) page.text(AGENT_TEXT("<tr><td>"));
  page.text(name);
  page.text(html ? AGENT_TEXT("<td>") : AGENT_TEXT(" "));
  page.number(value);
  page.character('\n');
}

void write_stats(Page& page, bool html, Server& server) {
  const Device& device = server.device;
  if (html) {
    page.text(AGENT_TEXT("<!DOCTYPE html>\n<html><head><title>"));
    page.characters(device.identity.board);
    page.text(AGENT_TEXT("</title></head>\n<body><h1>"));
    page.characters(device.identity.board);
    page.text(AGENT_TEXT("</h1>\n<p>W5500 at "));
    page.ip(device.network.ip);
    page.text(AGENT_TEXT(", firmware "));
    page.characters(device.identity.firmware);
    page.text(AGENT_TEXT("</p>\n<table>\n"));
  }
  write_line(page, html, AGENT_TEXT("uptime_us"), server.now_us());
  write_line(page, html, AGENT_TEXT("requests"), device.counters.requests);
  write_line(page, html, AGENT_TEXT("errors"), device.counters.errors);
  write_line(page, html, AGENT_TEXT("overruns"), device.counters.overruns);
  write_line(page, html, AGENT_TEXT("spi_frames"), device.bus.counters.frames);
  write_line(page, html, AGENT_TEXT("spi_bytes"), device.bus.counters.bytes);
  write_line(page, html, AGENT_TEXT("spi_errors"), device.bus.counters.errors);
  write_line(page, html, AGENT_TEXT("connections"), server.opened());
  write_line(page, html, AGENT_TEXT("bytes_in"), server.in());
  write_line(page, html, AGENT_TEXT("bytes_out"), server.out());
  if (html) page.text(AGENT_TEXT("</table></body></html>\n"));
}

}  // namespace

void HttpService::on_open(Server&, Connection& connection) { connection.step = first_line; }

Turn HttpService::serve(Server& server, Connection& connection) {
  bool finished = false;
  uint8_t piece[64];
  const uint16_t taken = server.read(connection, piece, sizeof piece, &finished);
  for (uint16_t i = 0; i < taken; ++i) {
    const uint8_t byte = piece[i];
    if (connection.step == first_line && byte != '\n' && connection.filled < sizeof connection.head) {
      connection.head[connection.filled++] = byte;
    }
    if (byte == '\r') continue;
    if (byte != '\n') {
      if (connection.step != first_line) connection.step = in_line;
    } else if (connection.step == line_began) {
      return answer(server, connection);
    } else {
      connection.step = line_began;
    }
  }
  if (connection.in > longest_header) return answer(server, connection);
  if (server.now_us() - connection.moved_us >= patience_us) return Turn::finished;
  return finished ? Turn::finished : taken > 0 ? Turn::moved : Turn::idle;
}

Turn HttpService::answer(Server& server, Connection& connection) {
  const uint8_t* line = connection.head;
  uint16_t left = connection.filled;
  const bool head = begins_with(line, left, AGENT_TEXT("HEAD "));
  const bool get = begins_with(line, left, AGENT_TEXT("GET "));
  line += head ? 5 : 4;
  left = left > (head ? 5 : 4) ? static_cast<uint16_t>(left - (head ? 5 : 4)) : uint16_t{0};
  const bool page_wanted =
      begins_with(line, left, AGENT_TEXT("/ ")) || begins_with(line, left, AGENT_TEXT("/index.html "));
  const bool stats_wanted = begins_with(line, left, AGENT_TEXT("/stats "));

  Text status = AGENT_TEXT("200 OK");
  if (connection.in > longest_header) {
    status = AGENT_TEXT("431 Request Header Fields Too Large");
  } else if (!head && !get) {
    status = AGENT_TEXT("501 Not Implemented");
  } else if (left == 0 || line[0] != '/') {
    status = AGENT_TEXT("400 Bad Request");
  } else if (!page_wanted && !stats_wanted) {
    status = AGENT_TEXT("404 Not Found");
  }
  const bool good = status[0] == '2';

  uint8_t* const data = server.device.buffers.data;
  Page body(data + header_room, static_cast<uint16_t>(server.device.buffers.data_bytes - header_room));
  if (good) {
    write_stats(body, page_wanted, server);
  } else {
    body.text(status);
    body.character('\n');
  }
  Page header(data, header_room);
  header.text(AGENT_TEXT("HTTP/1.1 "));
  header.text(status);
  header.text(AGENT_TEXT("\r\nContent-Type: "));
  header.text(good && page_wanted ? AGENT_TEXT("text/html") : AGENT_TEXT("text/plain"));
  header.text(AGENT_TEXT("\r\nContent-Length: "));
  header.number(body.length());
  header.text(AGENT_TEXT("\r\nConnection: close\r\n\r\n"));
  uint16_t count = header.length();
  if (!head) {
    for (uint16_t i = 0; i < body.length(); ++i) data[count + i] = data[header_room + i];
    count = static_cast<uint16_t>(count + body.length());
  }
  (void)server.send(connection, data, count);  // what became of it is the client's to see
  return Turn::finished;
}

}  // namespace agent
