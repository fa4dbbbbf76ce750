// Memory of this process over a run: resident bytes and what the pools have made, looked at in equal steps.
//
//   MemoryWatch memory;
//   memory.look(hours, frames_made);
//   memory.growth_kib()                  // from the end of the first quarter to the end
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <vector>

namespace wizloop::soak {

class MemoryWatch {
 public:
  void look(double hours, std::size_t frames_made) { looks_.push_back({hours, resident_kib(), frames_made}); }

  static std::int64_t resident_kib() {
    std::int64_t total = 0;
    std::int64_t resident = 0;
    std::ifstream{"/proc/self/statm"} >> total >> resident;
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
  }

  // Buffers that are made when they are first needed belong to the first quarter.
  std::int64_t growth_kib() const { return looks_.empty() ? 0 : looks_.back().kib - settled().kib; }
  std::size_t frames_grown() const { return looks_.empty() ? 0 : looks_.back().frames - settled().frames; }

  // Of the straight line through all looks after the first quarter.
  double slope_kib_per_hour() const {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (std::size_t i = looks_.size() / 4; i < looks_.size(); ++i) {
      const double hours = looks_[i].hours;
      const auto kib = static_cast<double>(looks_[i].kib);
      n += 1, x += hours, y += kib, xx += hours * hours, xy += hours * kib;
    }
    const double spread = n * xx - x * x;
    return spread > 0 ? (n * xy - x * y) / spread : 0;
  }

 private:
  struct Look {
    double hours;
    std::int64_t kib;
    std::size_t frames;
  };
  const Look& settled() const { return looks_[looks_.size() / 4]; }

  std::vector<Look> looks_;
};

}  // namespace wizloop::soak
