//! Tests of both families: sentences of the RFCs, and two machines on a line.
