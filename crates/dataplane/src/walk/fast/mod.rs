//! The batched forms of the stages. Each gives the same result as [`decide`](super::decide), which decides about all
//! packets that they leave over; property tests in `walk/tests/` verify that.
//!
//! | files | what they hold |
//! |---|---|
//! | `enter`, `pass1_results` | pass 1: ingress and prerouting of a vector, sixteen headers at once |
//! | `depart`, `policed` | passes 2 and 3 of the fast path: routing, forward, egress; with IPsec policies |
//! | `vector`, `chunk` | behind a firewall: the loop over a vector, in chunks of 64 packets |
//! | `header_reader`, `columns`, `chunk_lookups`, `connection_lookup` | headers and lookups, before decisions |
//! | `fasttrack` | packets of FastTracked connections |
//! | `plain_packets`, `raw_packets`, `raw`, `collect`, `flow_batch` | plain packets: whole, in mid-connection |
//! | `mangle_prerouting`, `plain_rules`, `stream` | rules of plain packets; their transmission |
//! | `next_hop_cache` | the next hops of a vector |
//! | `shortcut_installer`, `shortcuts` | flow offload, without and behind a firewall |

mod chunk;
mod chunk_lookups;
mod collect;
mod columns;
mod connection_lookup;
pub(super) mod depart;
pub(super) mod enter;
mod fasttrack;
mod flow_batch;
mod header_reader;
mod mangle_prerouting;
pub(super) mod next_hop_cache;
pub(super) mod pass1_results;
mod plain_packets;
mod plain_rules;
mod policed;
mod raw;
mod raw_packets;
pub(super) mod shortcut_installer;
mod shortcuts;
mod stream;
mod vector;

pub(super) use chunk_lookups::ChunkLookups;
pub(super) use columns::AddressColumns;
pub(super) use vector::vector;
