//! Tests of whole state machines: against each other in virtual time, and against garbage.

mod garbage;
mod machines;
mod world;
