//! Servers and clients against each other in virtual time, and against OpenVPN itself.

mod authentication;
mod certificates;
mod hostile;
mod loss;
mod network;
mod program;
mod renewal;
