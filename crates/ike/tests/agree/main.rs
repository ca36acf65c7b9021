//! Two engines negotiate over a network that loses, repeats and reorders, in virtual time.

mod begin;
mod garbage;
mod keys;
mod logins;
mod one;
mod two;
mod world;
