#include "sim/wire/link_mode.hpp"

#include <fmt/format.h>

namespace wizloop::wire {
namespace {

constexpr std::uint8_t half_of(bool fast) { return fast ? LinkAbilities::fast_half : LinkAbilities::ten_half; }

// The best of a set: by speed, then by duplex (802.3 annex 28B.3).
std::optional<LinkMode> best_of(int modes) {
  if ((modes & LinkAbilities::fast_full) != 0) return LinkMode{true, true};
  if ((modes & LinkAbilities::fast_half) != 0) return LinkMode{true, false};
  if ((modes & LinkAbilities::ten_full) != 0) return LinkMode{false, true};
  if ((modes & LinkAbilities::ten_half) != 0) return LinkMode{false, false};
  return std::nullopt;
}

// What an end that negotiates makes of a signal at a forced partner's speed.
std::optional<LinkMode> detect(const LinkAbilities& negotiating, const LinkMode& forced) {
  if ((negotiating.modes & half_of(forced.fast)) == 0) return std::nullopt;
  return LinkMode{forced.fast, false};
}

}  // namespace

std::optional<LinkModes> negotiate(const LinkAbilities& own, const LinkAbilities& partner) {
  const auto own_best = best_of(own.modes);
  const auto partner_best = best_of(partner.modes);
  if (!own_best || !partner_best) return std::nullopt;
  if (own.negotiates && partner.negotiates) {
    const auto common = best_of(own.modes & partner.modes);
    if (!common) return std::nullopt;
    return LinkModes{*common, *common};
  }
  if (!own.negotiates && !partner.negotiates) {
    if (own_best->fast != partner_best->fast) return std::nullopt;
    return LinkModes{*own_best, *partner_best};
  }
  const auto detected = own.negotiates ? detect(own, *partner_best) : detect(partner, *own_best);
  if (!detected) return std::nullopt;
  return own.negotiates ? LinkModes{*detected, *partner_best} : LinkModes{*own_best, *detected};
}

Result<LinkAbilities> link_abilities_of(std::string_view text) {
  if (text == "1000-only") return LinkAbilities{true, 0};
  for (const bool fast : {false, true}) {
    for (const bool full : {false, true}) {
      const std::string mode = fmt::format("{}-{}", fast ? 100 : 10, full ? "full" : "half");
      const auto half = half_of(fast);
      const auto exact = static_cast<std::uint8_t>(full ? half << 1 : half);
      if (text == mode + "-forced") return LinkAbilities{false, exact};
      if (text != mode + "-negotiating") continue;
      std::uint8_t offered = LinkAbilities::ten_half;
      if (full) offered |= LinkAbilities::ten_full;
      if (fast) offered |= LinkAbilities::fast_half;
      if (fast && full) offered |= LinkAbilities::fast_full;
      return LinkAbilities{true, offered};
    }
  }
  return Error{
      fmt::format("\"{}\", expected 10 or 100, -half or -full, -forced or -negotiating, such as "
                  "100-half-forced; or 1000-only",
                  text)};
}

}  // namespace wizloop::wire
