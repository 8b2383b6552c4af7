#include "node/vendor/nvidia/card_edits.hpp"

#include "node/vendor/nvidia/cdi.hpp"
#include "node/vendor/nvidia/driver/edits.hpp"
#include "node/vendor/nvidia/mig.hpp"

namespace tangram::node::nvidia {

Result<CardPlace> CardEdits::place_of(const std::string& card) const {
  if (!is_mig(card)) return CardPlace{card};
  auto place = mig_->find(card);
  if (!place) {
    return fail(Errc::kUnavailable, "the driver lists no MIG instance " + card +
                                        "; if the MIG layout was changed, delete the pod");
  }
  return std::move(*place);
}

Result<CdiEdits> CardEdits::from_driver(const Result<InstalledDriver>& driver,
                                        const std::vector<std::string>& cards) const {
  const auto make = [&]() -> Result<CdiEdits> {
    if (!driver) return driver.error();
    std::vector<CardPlace> places;
    for (const std::string& card : cards) {
      auto place = place_of(card);
      if (!place) return place.error();
      places.push_back(std::move(*place));
    }
    return edits_from_driver(*driver, host_, places);
  };
  auto edits = make();
  if (edits || edits.error().code != Errc::kNotFound) return edits;
  return fail(Errc::kNotFound,
              "no CDI spec of NVIDIA's names the card, and " + edits.error().message);
}

Result<CdiEdits> CardEdits::of(const std::vector<std::string>& cards) const {
  auto named = cdi_edits(cdi_dirs_, cards);
  if (!named || !named->lists.empty()) return named;
  return from_driver(driver(), cards);
}

Result<std::map<std::string, CdiEdits>> CardEdits::of_each(
    const std::vector<std::string>& cards) const {
  auto each = cdi_edits_of_each(cdi_dirs_, cards);
  if (!each) return each;
  const auto installed = driver();
  for (auto& [card, edits] : *each) {
    if (!edits.lists.empty()) continue;
    if (auto made = from_driver(installed, {card}); made) edits = std::move(*made);
  }
  return each;
}

std::string CardEdits::nvml_path() const {
  const auto installed = driver();
  if (!installed) return {};
  const auto library = installed->libraries.find("libnvidia-ml.so.1");
  return library == installed->libraries.end() ? "" : host_.open_path(library->second);
}

}  // namespace tangram::node::nvidia
