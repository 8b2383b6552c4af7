#include "drawing/palette.hpp"

#include <algorithm>
#include <array>

namespace tangram::drawing {

namespace {

/// Two shades each, far from each other and from the greys and reds of cards that take no pods.
constexpr std::array<std::array<Colour, 2>, 8> kShades{{
    {39, 32},    // blue
    {214, 172},  // orange
    {78, 35},    // green
    {177, 134},  // violet
    {227, 185},  // yellow
    {51, 37},    // cyan
    {211, 168},  // pink
    {180, 137},  // sand
}};

}  // namespace

std::size_t Palette::index(std::string_view ns) const {
  const auto found = std::find(namespaces_.begin(), namespaces_.end(), ns);
  return static_cast<std::size_t>(found - namespaces_.begin());
}

Colour Palette::colour(std::string_view ns, std::size_t shade) const {
  return kShades[index(ns) % kShades.size()][shade % 2];
}

char Palette::letter(std::string_view ns, std::size_t shade) const {
  constexpr std::size_t kLetters = 26;
  return static_cast<char>((shade % 2 == 0 ? 'A' : 'a') + static_cast<char>(index(ns) % kLetters));
}

}  // namespace tangram::drawing
