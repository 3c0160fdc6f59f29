// A small bar plot of numbers, one bar a line, for a column of a Table.
#ifndef CK_CLI_PLOT_H_
#define CK_CLI_PLOT_H_

#include <cstddef>
#include <string>
#include <vector>

namespace ck::cli {

// One bar per value, each at most `columns` wide (at least 2), half a column exact; all values share one scale and one
// zero line. Negative values grow to the left. A value that is not 0 is never drawn as nothing. Values are finite.
std::vector<std::string> Bars(const std::vector<double>& values, size_t columns);

}  // namespace ck::cli

#endif  // CK_CLI_PLOT_H_
