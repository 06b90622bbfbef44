// SPDX-License-Identifier: Apache-2.0
// From strips and layers to cells.
#pragma once

#include <cstdint>
#include <vector>

#include "place/instance.h"

namespace rudder::place {

struct StripLayer {
  std::vector<MinipodId> minipods;
  std::int32_t height = 0;
};

class StripCells {
 public:
  /// `sharing`: minipods of a layer fill it column after column and share those where one ends; otherwise
  /// each takes whole columns.
  StripCells(const Instance& instance, bool sharing);

  /// Takes the next `width` columns. The layers' heights sum to R. Rows that meet many minipods here are laid
  /// where earlier strips meet few.
  void add(std::int32_t width, const std::vector<StripLayer>& layers);

  [[nodiscard]] Cells take();

 private:
  using Column = std::vector<MinipodId>;  ///< a layer's cells of one column, downwards

  [[nodiscard]] std::vector<Column> columns_of(const StripLayer& layer, std::int32_t width) const;
  void lay(const std::vector<Column>& columns, const std::vector<std::int32_t>& rows, std::int32_t width);

  const Instance& instance_;
  bool sharing_;
  std::int32_t next_column_ = 0;
  Cells cells_;
  std::vector<std::int32_t> met_;  ///< minipods that each row meets so far
};

}  // namespace rudder::place
