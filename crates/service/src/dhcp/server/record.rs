//! Stored form of a lease, so that a restarted router assigns no address twice.

use core::net::Ipv4Addr;
use core::time::Duration;

use machine::Instant;
use wire::Mac;

use super::lease::{Client, DYNAMIC, Lease, State};
use super::{Assigned, ServerId, Servers, Use};

/// Stored lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Id.
    pub id: u64,
    /// Server that assigned the address.
    pub server: ServerId,
    /// Address.
    pub address: u32,
    /// Expiry in seconds since 1970; `None` is never.
    pub until: Option<i64>,
    /// Begin of the lease in seconds since 1970.
    pub since: i64,
    /// Client.
    pub client: Client,
}

const VERSION: u8 = 1;

impl Record {
    /// Builds the record of a bound lease; `None` for other states. `unix_seconds` is the current time.
    pub fn of(lease: &Lease, now: Instant, unix_seconds: i64) -> Option<Self> {
        if lease.state != State::Bound {
            return None;
        }
        let ahead = |at: Instant| i64::try_from(at.saturating_since(now).as_secs()).ok();
        let age = now.saturating_since(lease.since).as_secs();
        Some(Self {
            id: lease.id,
            server: lease.server?,
            address: lease.address?.to_bits(),
            // Rounds the expiry up to the next second.
            until: match lease.until {
                Some(at) => Some(unix_seconds.saturating_add(ahead(at)?).saturating_add(1)),
                None => None,
            },
            since: unix_seconds.saturating_sub(i64::try_from(age).unwrap_or(0)),
            client: lease.client.clone(),
        })
    }

    /// Encodes the record.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(96);
        bytes.push(VERSION);
        bytes.extend(self.id.to_be_bytes());
        bytes.extend(self.server.to_be_bytes());
        bytes.extend(self.address.to_be_bytes());
        bytes.extend(self.until.unwrap_or(i64::MAX).to_be_bytes());
        bytes.extend(self.since.to_be_bytes());
        bytes.extend(self.client.mac.0);
        bytes.extend(self.client.src_mac.0);
        let client = &self.client;
        for part in [
            client.id.as_deref().unwrap_or_default(),
            client.agent.as_deref().unwrap_or_default(),
            client.host_name.as_bytes(),
            client.class.as_bytes(),
        ] {
            let len = u16::try_from(part.len()).unwrap_or(u16::MAX);
            bytes.extend(len.to_be_bytes());
            bytes.extend(&part[..len.into()]);
        }
        bytes
    }

    /// Decodes a record; `None` if the bytes are malformed or of another version.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let ([VERSION], rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let (id, rest) = rest.split_first_chunk()?;
        let (server, rest) = rest.split_first_chunk()?;
        let (address, rest) = rest.split_first_chunk()?;
        let (until, rest) = rest.split_first_chunk()?;
        let (since, rest) = rest.split_first_chunk()?;
        let (mac, rest) = rest.split_first_chunk()?;
        let (src_mac, mut rest) = rest.split_first_chunk()?;
        let mut part = || {
            let (len, behind) = rest.split_first_chunk()?;
            let (part, behind) = behind.split_at_checked(u16::from_be_bytes(*len).into())?;
            rest = behind;
            Some(part)
        };
        let some = |bytes: &[u8]| (!bytes.is_empty()).then(|| bytes.into());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into();
        let client = Client {
            mac: Mac(*mac),
            src_mac: Mac(*src_mac),
            id: some(part()?),
            agent: some(part()?),
            host_name: text(part()?),
            class: text(part()?),
        };
        let until = i64::from_be_bytes(*until);
        Some(Self {
            id: u64::from_be_bytes(*id),
            server: u64::from_be_bytes(*server),
            address: u32::from_be_bytes(*address),
            until: (until != i64::MAX).then_some(until),
            since: i64::from_be_bytes(*since),
            client,
        })
    }
}

impl Servers {
    /// Restores a stored lease. Ignores expired leases, leases of removed servers, and addresses that another lease
    /// uses.
    pub(super) fn recall(&mut self, record: &Record, unix_seconds: i64, now: Instant) {
        let left = record.until.map(|until| until - unix_seconds);
        let Some(config) = self.servers.get(&record.server) else {
            return;
        };
        let address = Ipv4Addr::from_bits(record.address);
        if left.is_some_and(|left| left <= 0) || self.leases.at(address).is_some() {
            return;
        }
        let (identifiers, pool) = (config.identifiers, config.pool.clone());
        let is_dynamic = record.id & DYNAMIC != 0;
        let id = match is_dynamic {
            true => self.leases.next_id(),
            false => record.id,
        };
        if is_dynamic {
            if self.leases.fixed_at(address).is_some() || self.leases.is_full() {
                return;
            }
            self.leases.insert(Lease::new(id, now));
        } else {
            let lease = self.leases.get(id).and_then(|lease| lease.fixed.as_deref());
            match lease.map(|fixed| &fixed.address) {
                Some(Assigned::Address(fixed)) if *fixed == address => {}
                Some(Assigned::Pool(_)) => {}
                Some(Assigned::Address(_)) | None => return,
            }
        }
        let info = record.client.mac.to_string().into();
        let of = Use {
            owner: super::OWNER,
            info,
        };
        let pool = pool.and_then(|pool| self.pools.take(&pool, address, &of));
        let seconds = |seconds: i64| Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        self.leases
            .set_client(id, Some((&record.client, record.server, identifiers)));
        self.leases.change(id, |lease| {
            lease.state = State::Bound;
            lease.address = Some(address);
            lease.pool = pool;
            lease.until = left.map(|left| now + seconds(left));
            let age = seconds(unix_seconds.saturating_sub(record.since));
            let age = u64::try_from(age.as_nanos()).unwrap_or(0);
            lease.since = Instant::from_nanos(now.as_nanos().saturating_sub(age));
        });
    }
}
