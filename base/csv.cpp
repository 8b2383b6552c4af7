#include "base/csv.hpp"

#include "base/file.hpp"

#include <algorithm>
#include <charconv>

namespace tangram {

namespace {

std::vector<std::string> split(std::string_view line, char separator) {
  std::vector<std::string> fields;
  while (true) {
    const std::size_t end = line.find(separator);
    fields.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

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
    auto fields = split(line, ',');
    if (++line_number == 1) {
      table.columns_ = std::move(fields);
    } else if (fields.size() == table.columns_.size()) {
      table.rows_.push_back(std::move(fields));
    } else {
      return fail(Errc::kInvalidArgument, table.name_ + ":" + std::to_string(line_number) + ": " +
                                              std::to_string(fields.size()) +
                                              " fields, the header has " +
                                              std::to_string(table.columns_.size()));
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
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  const bool whole = error == std::errc{} && end == written.data() + written.size();
  if (whole && value >= 0 && value <= largest) return value;
  refuse(std::string(column) + " is \"" + written + "\"; write a whole number from 0 to " +
         std::to_string(largest));
  return 0;
}

void CsvTable::Row::refuse(const std::string& message) {
  if (!error_.empty()) return;
  constexpr std::size_t kFirstDataLine = 2;  // lines count from 1, the header is the first
  error_ = table_.name_ + ":" + std::to_string(row_ + kFirstDataLine) + ": " + message;
}

Result<void> CsvTable::Row::finish() const {
  if (!error_.empty()) return fail(Errc::kInvalidArgument, error_);
  return {};
}

}  // namespace tangram
