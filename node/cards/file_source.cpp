#include "node/cards/file_source.hpp"

#include "base/file.hpp"
#include "base/json_members.hpp"
#include "base/quote.hpp"
#include "kube/local/yaml_to_json.hpp"
#include "model/cards.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

namespace tangram::node {

namespace {

using std::chrono::milliseconds;

/// How often a waiting call checks the file: not noticeable, and one system call.
constexpr milliseconds kCheckInterval{100};

constexpr const char* kForm =
    "write `version: 1` and `cards:`, a list of cards with at least id, model and memMiB";

Fault read_fault(json::Reader& in) {
  Fault fault;
  int kinds = 0;
  in.object([&](std::string_view key) {
    if (key == "card") {
      fault.card = in.string();
    } else if (key == "xid") {
      fault.kind = Fault::Kind::kDriverError;
      fault.code = static_cast<std::uint64_t>(in.integer());
      ++kinds;
    } else if ((key == "ecc" || key == "lost") && in.boolean()) {
      fault.kind = key == "ecc" ? Fault::Kind::kEcc : Fault::Kind::kLost;
      ++kinds;
    } else {
      in.fail("write card and one of xid, ecc: true, lost: true");
    }
  });
  if (kinds != 1) in.fail("write one of xid, ecc: true, lost: true");
  return fault;
}

/// The members that are not the cards codec's.
Result<void> read_extras(std::string text, CardFile& out) {
  json::Reader in(text);
  json::read_members(in, "driver", out.inventory.driver, "cuda", out.inventory.cuda, "faults",
                     json::each(out.faults, read_fault));
  return in.finish();
}

bool has_card(const Inventory& inventory, std::string_view id) {
  return std::any_of(inventory.cards.begin(), inventory.cards.end(),
                     [&](const InstalledCard& card) { return card.card.id == id; });
}

}  // namespace

Result<CardFile> parse_card_file(const std::string& text) {
  const auto objects = kube::yaml_to_json(text);
  if (!objects) return fail(Errc::kInvalidArgument, objects.error().message + "; " + kForm);
  if (objects->size() != 1) {
    return fail(Errc::kInvalidArgument,
                "holds " + std::to_string(objects->size()) + " documents instead of one; " + kForm);
  }
  const std::string& json = objects->front().json;
  CardFile file;
  auto cards = model::decode_cards(json);
  if (!cards) return fail(Errc::kInvalidArgument, cards.error().message + "; " + kForm);
  for (model::Card& card : *cards) {
    // MPS needs a compute mode, which a file does not have.
    card.isolation = card.isolation.without(model::Isolation::kMps);
    card.memory_limits = model::MemoryLimits::kNone;
    InstalledCard installed;
    installed.total = card.memory;
    installed.index = static_cast<int>(file.inventory.cards.size());
    installed.card = std::move(card);
    file.inventory.cards.push_back(std::move(installed));
  }
  if (auto read = read_extras(json, file); !read) return read.error();
  return file;
}

FileSource::FileSource(std::string path) : path_(std::move(path)) {}

std::string FileSource::current_stamp() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return {};
  return std::to_string(status.st_ino) + " " + std::to_string(status.st_size) + " " +
         std::to_string(status.st_mtim.tv_sec) + " " + std::to_string(status.st_mtim.tv_nsec);
}

Result<void> FileSource::refresh() {
  const std::string now = current_stamp();
  if (stamp_ != now) {
    stamp_ = now;
    error_.reset();
    const auto text = read_file(path_);
    auto file = text ? parse_card_file(*text)
                     : Result<CardFile>(fail(Errc::kUnavailable, text.error().message));
    if (file) {
      inventory_ = std::move(file->inventory);
      faults_.insert(faults_.end(), file->faults.begin(), file->faults.end());
    } else {
      error_ = file.error();
      if (text) error_->message = path_ + ": " + error_->message;
      spdlog::error("{}{}", error_->message,
                    inventory_ ? "; the cards of its last good version stay in force" : "");
    }
  }
  if (!inventory_) return *error_;
  return {};
}

Result<Inventory> FileSource::inventory() {
  const std::lock_guard lock(mutex_);
  if (auto fresh = refresh(); !fresh) return fresh.error();
  return *inventory_;
}

Result<std::vector<Fault>> FileSource::wait_for_faults(milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (auto fresh = refresh(); !fresh) return fresh.error();
      if (!faults_.empty()) return std::exchange(faults_, {});
    }
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= milliseconds(0)) return std::vector<Fault>{};
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kCheckInterval));
  }
}

Result<CardActivity> FileSource::activity(std::string_view card) {
  const std::lock_guard lock(mutex_);
  if (auto fresh = refresh(); !fresh) return fresh.error();
  if (!has_card(*inventory_, card)) {
    return fail(Errc::kNotFound, "there is no card " + quote_if_needed(card));
  }
  CardActivity nothing;
  nothing.utilization = -1;
  return nothing;
}

Result<void> FileSource::set_exclusive_process(std::string_view card, bool) {
  return fail(Errc::kInvalidArgument,
              "card " + quote_if_needed(card) +
                  " comes from a file and has no compute mode; share it by time-slice or none");
}

}  // namespace tangram::node
