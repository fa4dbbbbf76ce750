// A server for programs on a computer: tcp-server.
#include "http_service.hpp"
#include "iperf3_service.hpp"
#include "iperf_service.hpp"
#include "stream_services.hpp"
#include "tcp_end.hpp"
#include "verbs.hpp"

namespace agent {

using w5500::Error;

namespace {

enum Mode : uint8_t { sink, source, echo, http, iperf, iperf3, no_mode };

struct Limits {
  uint64_t us;
  uint32_t connections;
};

void serve(Device& device, Watch& watch, Answer& answer, Service& service, uint16_t port_number, uint8_t sockets,
           const Limits& limits) {
  Server server(device, watch, service, port_number, sockets);
  watch.start(&server.bytes());
  Error error = device.share_memory(sockets, Device::largest_share_kib(sockets));
  if (error == Error::none) error = server.run(limits.us, limits.connections);
  watch.stop();
  server.close_all();
  watch.conclude(error);
  answer.number(AGENT_TEXT("conns"), server.opened());
  answer.number(AGENT_TEXT("ended"), server.ended());
  answer.number(AGENT_TEXT("bytes_in"), server.in());
  answer.number(AGENT_TEXT("bytes_out"), server.out());
  answer.number(AGENT_TEXT("bad"), server.bad());
  answer.number(AGENT_TEXT("us"), server.active_us());
  answer.number(AGENT_TEXT("kbit_s"), kbit_per_second(server.bytes(), server.active_us()));
}

}  // namespace

void tcp_server(Device& device, Request& request, Answer& answer) {
  const uint8_t mode = request.choice(AGENT_TEXT("mode"), AGENT_TEXT("sink source echo http iperf iperf3"), no_mode);
  if (mode == no_mode) request.set_fault(ValueFault::missing, AGENT_TEXT("mode"));
  const uint16_t usual_port = mode == http ? 80 : mode == iperf ? 5001 : mode == iperf3 ? 5201 : 0;
  const uint16_t port_number = usual_port == 0 ? request.number16(AGENT_TEXT("port"), 1, 65535)
                                               : request.number16(AGENT_TEXT("port"), 1, 65535, usual_port);
  const uint64_t bytes = request.number64(AGENT_TEXT("bytes"), 0);
  const bool several = mode == http || mode == iperf || mode == iperf3;
  const uint8_t sockets =
      static_cast<uint8_t>(request.number16(AGENT_TEXT("socks"), 1, Server::max_connections, several ? 4 : 2));
  const Limits limits = {uint64_t{1000000} * request.number(AGENT_TEXT("s"), 0, 0xFFFFFFFFu, 0),
                         request.number(AGENT_TEXT("conns"), 0, 0xFFFFFFFFu, 0)};
  Watch watch(device, answer, request, 3600000);
  if (!request.values_good()) return answer.bad_value(request);

  switch (mode) {
    case sink: {
      SinkService service;
      return serve(device, watch, answer, service, port_number, sockets, limits);
    }
    case source: {
      SourceService service(bytes);
      return serve(device, watch, answer, service, port_number, sockets, limits);
    }
    case echo: {
      EchoService service;
      return serve(device, watch, answer, service, port_number, sockets, limits);
    }
    case http: {
      HttpService service;
      return serve(device, watch, answer, service, port_number, sockets, limits);
    }
    case iperf: {
      IperfService service;
      return serve(device, watch, answer, service, port_number, sockets, limits);
    }
    default: {
      Iperf3Service service;
      return serve(device, watch, answer, service, port_number, sockets, limits);
    }
  }
}

}  // namespace agent
