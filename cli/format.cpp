#include "cli/format.hpp"

#include "drawing/terminal.hpp"

#include <boost/algorithm/string/join.hpp>

#include <cstddef>
#include <set>

namespace tangram::cli {

namespace {

constexpr std::int64_t kMebibytesPerGibibyte = 1024;

std::string of_each_card(const model::Share& share) {
  if (share.form == model::ShareForm::kFraction) return share_text(share.fraction);
  std::string text = memory_text(share.memory);
  if (share.compute) text += ", " + share_text(*share.compute);
  return text;
}

}  // namespace

std::string memory_text(Mebibytes memory) {
  const std::int64_t mib = memory.count();
  const bool whole = mib > 0 && mib % kMebibytesPerGibibyte == 0;
  return whole ? std::to_string(mib / kMebibytesPerGibibyte) + "Gi" : std::to_string(mib) + "Mi";
}

std::string request_text(const model::ContainerRequest& request) {
  const auto count = static_cast<std::size_t>(request.count);
  if (request.share.form == model::ShareForm::kWhole) return counted(count, "card");
  if (request.share.form == model::ShareForm::kReplica) {
    return counted(count, "replica") + " of " + std::string(to_string(request.share.resource));
  }
  return times(count, of_each_card(request.share));
}

std::string request_text(const model::GpuRequest& request) {
  std::string text;
  for (const model::ContainerRequest& container : request.containers) {
    if (!text.empty()) text += " + ";
    if (request.containers.size() > 1) text += container.container + " ";
    text += request_text(container);
  }
  return text;
}

std::string grant_text(Mebibytes memory, MilliGpu compute) {
  return memory_text(memory) + ", " + share_text(compute);
}

std::string grant_text(const std::vector<model::ContainerGrant>& containers) {
  std::string text;
  for (const model::ContainerGrant& container : containers) {
    for (std::size_t i = 0; i < container.cards.size();) {
      const model::GrantedCard& first = container.cards[i];
      std::size_t end = i + 1;
      while (end < container.cards.size() && container.cards[end].memory == first.memory &&
             container.cards[end].compute == first.compute) {
        ++end;
      }
      if (!text.empty()) text += " + ";
      text += times(end - i, grant_text(first.memory, first.compute));
      i = end;
    }
  }
  return text;
}

std::string short_uuid(const std::string& uuid) {
  constexpr std::size_t kColumns = 13;
  return drawing::shortened(uuid, kColumns);
}

std::string limits_text(bool whole, std::string_view means) {
  if (whole) return "whole card";
  return std::string(means == to_string(model::MemoryLimits::kNone) ? "nothing" : means);
}

std::string limits_text(const std::vector<model::ContainerGrant>& containers) {
  std::set<std::string> texts;
  for (const model::ContainerGrant& container : containers) {
    for (const model::GrantedCard& card : container.cards) {
      texts.insert(limits_text(card.whole.value_or(false), to_string(card.memory_limits)));
    }
  }
  return joined({texts.begin(), texts.end()});
}

std::vector<std::string> cards_of(const std::vector<model::ContainerGrant>& containers) {
  std::vector<std::string> uuids;
  for (const model::ContainerGrant& container : containers) {
    for (const model::GrantedCard& card : container.cards) uuids.push_back(card.uuid);
  }
  return uuids;
}

std::string card_names(std::vector<std::string> uuids, bool wide) {
  for (std::string& uuid : uuids) {
    if (!wide) uuid = short_uuid(uuid);
  }
  return joined(uuids, ",");
}

std::string counted(std::size_t count, std::string_view what) {
  std::string text = std::to_string(count) + " ";
  text += what;
  return count == 1 ? text : text + "s";
}

std::string times(std::size_t count, const std::string& what) {
  if (count == 1) return what;
  const bool compound = what.find(' ') != std::string::npos;
  return std::to_string(count) + " × " + (compound ? "(" + what + ")" : what);
}

std::string joined(const std::vector<std::string>& texts, std::string_view between) {
  return boost::join(texts, between);
}

std::string shell_word(const std::string& text) {
  const bool harmless = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:@,=+").find(c) != std::string_view::npos;
  });
  if (harmless) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace tangram::cli
