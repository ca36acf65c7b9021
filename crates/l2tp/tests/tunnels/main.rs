//! Tunnels between two endpoints, through a network that loses, repeats and reorders datagrams.

mod authentication;
mod calls;
mod ethernet;
mod hostile;
mod loss;
mod network;
