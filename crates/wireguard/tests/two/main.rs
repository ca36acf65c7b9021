//! Devices against each other, and against another implementation, over simulated networks in virtual time.

mod agree;
mod end;
mod foreign;
mod timers;
