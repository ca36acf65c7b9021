//! Tests of whole machines: against each other in virtual time, against garbage, and with sockets.

mod driver;
mod garbage;
mod loopback;
mod machines;
mod world;
