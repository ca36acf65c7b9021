//! Devices with each other, and with another implementation, over networks in virtual time.

mod agree;
mod end;
mod foreign;
mod timers;
