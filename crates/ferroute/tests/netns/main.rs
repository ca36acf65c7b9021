//! Tests of the built binary with real packets, in labs of network namespaces with real hosts.
//!
//! One file per topic. Each test creates its own lab and removes it. A test that this machine does not permit is
//! skipped, with its name and the reason. `world.rs` has the common helpers.
//!
//! `FERROUTE_BINARY` selects another binary than the one just built.

mod attack;
mod bonding;
mod bridge;
mod bridge_attack;
mod bridge_rules;
mod clients;
mod clock;
mod confine;
mod daemons;
mod dhcp6;
mod dhcp_client;
mod dhcp_server;
mod discovery;
mod dns;
mod drivers;
mod durability;
mod ethernet;
mod everyday;
mod failover;
mod files;
mod firewall;
mod flap;
mod guest;
mod home;
mod hostplane;
mod identity;
mod instruments;
mod ipsec;
mod ipsec_flood;
mod ipsec_identities;
mod ipsec_moves;
mod ipsec_nat;
mod ipsec_translated;
mod jumbo;
mod kernel_peer;
mod life;
mod long_files;
mod loop_protect;
mod mail;
mod ntp;
mod odd;
mod offload;
mod page;
mod pair;
mod pmtu;
mod pppoe;
mod queue;
mod restart;
mod routing;
mod shared_mirror;
mod shortcuts;
mod snmp;
mod snooping;
mod ssh;
mod stories;
mod switch;
mod throughput;
mod trace;
mod traceroute;
mod tunnels;
mod veth;
mod vrrp;
mod vxlan;
mod watched;
mod wireguard;
mod wireguard_flood;
mod workers;
mod world;
