//! Sessions against each other in virtual time.

mod end;
mod link;
mod open;
