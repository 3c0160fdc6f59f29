// The dtype of a TensorProperties. Its other four members say how the tensor was held in memory when it was saved; they are checked
// for being what torch writes, and then ignored.
#ifndef CK_DCP_PROPERTIES_H_
#define CK_DCP_PROPERTIES_H_

#include "libs/dcp/nodes.h"
#include "libs/tensor/dtype.h"

namespace ck::dcp {

// Errors: dcp.bad_metadata, dcp.unknown_dtype.
DType ReadDType(Nodes& nodes, pickle::Ref properties);

}  // namespace ck::dcp

#endif  // CK_DCP_PROPERTIES_H_
