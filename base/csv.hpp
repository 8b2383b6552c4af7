#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram {

/// A small CSV table: comma-separated, a header row, no quotes, as the traces are written.
/// Columns are found by name; other columns are ignored.
class CsvTable {
 public:
  /// @returns kNotFound if the file cannot be read; kInvalidArgument, with file and line, if a
  ///          row has another number of fields than the header or the file has no header
  static Result<CsvTable> read(const std::string& path);
  /// @param name  what messages call the text
  static Result<CsvTable> parse(std::string name, std::string_view text);

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }

  /// One row, read by column name. Errors stick: after the first one every read is empty.
  class Row {
   public:
    Row(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}
    [[nodiscard]] const std::string& text(std::string_view column);
    /// The same, but a table without that column reads as empty.
    [[nodiscard]] const std::string& text_if_any(std::string_view column) const;
    /// A whole number from 0 up to `largest`.
    [[nodiscard]] std::int64_t amount(std::string_view column, std::int64_t largest);
    /// Makes the row wrong: "<file>:<line>: <message>". The first message stays.
    void refuse(const std::string& message);
    /// @returns kInvalidArgument if anything was wrong
    [[nodiscard]] Result<void> finish() const;

   private:
    const CsvTable& table_;
    std::size_t row_;
    std::string error_;
  };

  [[nodiscard]] Row row(std::size_t index) const { return {*this, index}; }

 private:
  /// @returns null if there is no such column
  [[nodiscard]] const std::string* field(std::size_t row, std::string_view column) const;

  std::string name_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tangram
