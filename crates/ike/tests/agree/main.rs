//! Two engines agree on keys, over a network that loses, repeats and reorders, in virtual time.

mod garbage;
mod keys;
mod logins;
mod one;
mod two;
mod world;
