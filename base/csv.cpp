#include "base/csv.hpp"

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/split.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tangram {

namespace {

const std::string kNoText;

}  // namespace

Result<CsvTable> CsvTable::read(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  return parse(path, *text);
}

Result<CsvTable> CsvTable::parse(std::string name, std::string_view text) {
  CsvTable table;
  table.name_ = std::move(name);
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    std::vector<std::string> fields = split(line, ',');
    if (++line_number == 1) {
      table.columns_ = std::move(fields);
    } else if (fields.size() == table.columns_.size()) {
      table.rows_.push_back(std::move(fields));
    } else {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{}:{}: {} fields, the header has {}", table.name_, line_number,
                              fields.size(), table.columns_.size()));
    }
  }
  if (line_number == 0)
    return fail(Errc::kInvalidArgument, table.name_ + " is empty; a header row must stand first");
  return table;
}

const std::string* CsvTable::field(std::size_t row, std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) return nullptr;
  return &rows_[row][static_cast<std::size_t>(found - columns_.begin())];
}

const std::string& CsvTable::Row::text(std::string_view column) {
  if (const std::string* written = table_.field(row_, column)) return *written;
  refuse("the header has no column \"" + std::string(column) + "\"");
  return kNoText;
}

const std::string& CsvTable::Row::text_if_any(std::string_view column) const {
  const std::string* written = table_.field(row_, column);
  return written == nullptr ? kNoText : *written;
}

std::int64_t CsvTable::Row::amount(std::string_view column, std::int64_t largest) {
  const std::string& written = text(column);
  const auto value = parse_number<std::int64_t>(written);
  if (value && *value >= 0 && *value <= largest) return *value;
  refuse(fmt::format("{} is \"{}\"; write a whole number from 0 to {}", column, written, largest));
  return 0;
}

void CsvTable::Row::refuse(const std::string& message) {
  if (!error_.empty()) return;
  constexpr std::size_t kFirstDataLine = 2;  // lines count from 1, the header is the first
  error_ = fmt::format("{}:{}: {}", table_.name_, row_ + kFirstDataLine, message);
}

Result<void> CsvTable::Row::finish() const {
  if (!error_.empty()) return fail(Errc::kInvalidArgument, error_);
  return {};
}

}  // namespace tangram
