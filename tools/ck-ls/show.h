// A listing as a document and as a table.
#ifndef CK_TOOLS_CK_LS_SHOW_H_
#define CK_TOOLS_CK_LS_SHOW_H_

#include <string>
#include <vector>

#include "libs/checkpoint/discover.h"

namespace ck::ls {

// `ck.listing`, indented.
std::string ListingDocument(const checkpoint::Listing& listing);

// The root, its marker, a row per checkpoint and the strays. Those of `selected` are marked with '*'.
std::string ListingTable(const checkpoint::Listing& listing, const std::vector<checkpoint::Found>& selected);

// "10 (older: a newer complete checkpoint exists)".
std::string Describe(const checkpoint::Marker& marker);

}  // namespace ck::ls

#endif  // CK_TOOLS_CK_LS_SHOW_H_
