//! Sessions against each other in virtual time, and against packets of a foreign peer.

mod bridging;
mod encryption;
mod end;
mod hostile;
mod keepalive;
mod link;
mod open;
mod options;
mod peer;
