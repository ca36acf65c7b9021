//! Tests of whole state machines: against each other in virtual time, against garbage, and on sockets.

mod driver;
mod garbage;
mod loopback;
mod machines;
mod world;
