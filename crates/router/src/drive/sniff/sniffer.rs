//! `/tool/sniffer`: keeps packets in memory, writes them to a file, and streams them to a collector, until it is
//! stopped.

use core::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;

use machine::{Duration, Instant};
use menu::{Call, Item, Reason, Reply, Row, RowFilter, Store, Value};
use sniff::{Connections, Filter, Hosts, Memory, ObservedFrame, Path, Protocols, pcapng};

use super::filter::{self, CaptureInterfaces};
use super::{HEADERS, rows};
use crate::drive::Control;
use crate::live::give;
use crate::probe::argument;

const MENU: &str = "/tool/sniffer";
/// Application name in the header of the file.
const PROGRAM: &str = "ferroute";
/// Bytes that are buffered before a write.
const BUFFER: usize = 64 << 10;
/// Maximum time that packets are buffered.
const WAIT: Duration = Duration::from_secs(1);

/// State of the sniffer. Captured packets stay until the next start.
#[derive(Debug, Default)]
pub(crate) struct Sniffer {
    running: Option<Running>,
    began: Instant,
    memory: Memory,
    hosts: Hosts,
    connections: Connections,
    protocols: Protocols,
    /// Why the file ended before the sniffer was stopped.
    file_ended: Option<String>,
}

#[derive(Debug)]
struct Running {
    places: CaptureInterfaces,
    filter: Filter,
    /// Bytes of a packet that are kept.
    most: u32,
    headers_only: bool,
    file: Option<Written>,
    stream: Option<Stream>,
}

/// The capture file.
#[derive(Debug)]
struct Written {
    name: String,
    limit: usize,
    /// Bytes written so far.
    bytes: usize,
    /// Buffered packets, and since when.
    file: pcapng::File,
    since: Instant,
}

/// The collector of the stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    to: SocketAddr,
    /// Whether traffic between the router and the collector is excluded.
    filters: bool,
}

impl Sniffer {
    /// Whether the sniffer captures this frame.
    pub(super) fn wants(&self, name: &str, seen: &ObservedFrame) -> bool {
        let Some(running) = &self.running else {
            return false;
        };
        running.places.have(name)
            && running.filter.passes(seen)
            && running.stream.is_none_or(|stream| !stream.is_its(seen))
    }

    /// Returns the interfaces to capture on.
    pub(super) fn places(&self) -> Option<&CaptureInterfaces> {
        self.running.as_ref().map(|running| &running.places)
    }

    /// Returns the number of bytes to copy of each frame.
    pub(super) fn snap(&self) -> Option<u32> {
        let running = self.running.as_ref()?;
        Some(match running.headers_only {
            true => HEADERS,
            false => running.most.max(HEADERS),
        })
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Returns why packets are missing in the file or in memory, in words; `None` if none are.
    pub(super) fn remark(&self) -> Option<String> {
        let full = "memory-limit is reached: no more packets are kept".to_owned();
        let memory = self.memory.is_full().then_some(full);
        let remarks: Vec<_> = self.file_ended.iter().cloned().chain(memory).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    /// Returns when the buffer is to be written.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let file = self.running.as_ref()?.file.as_ref()?;
        (file.file.waiting() > 0).then(|| file.since + WAIT)
    }
}

impl Stream {
    /// Whether a frame belongs to the stream. Packets of this router to the collector are never captured: each would
    /// cause another packet.
    fn is_its(self, seen: &ObservedFrame) -> bool {
        let Some(ip) = &seen.head.ip else {
            return false;
        };
        let (collector, port) = (self.to.ip(), self.to.port());
        let is_to = ip.dst == collector && ip.ports.is_some_and(|(_, to)| to == port);
        let is_from = ip.src == collector && ip.ports.is_some_and(|(from, _)| from == port);
        match self.filters {
            true => is_to || is_from,
            false => is_to && seen.path == Path::Output,
        }
    }
}

impl Control {
    /// Captures a frame; `bytes` is its beginning.
    pub(super) fn sniff(&mut self, seen: &ObservedFrame, bytes: &[u8]) {
        let sniffer = &mut self.instruments.sniffer;
        let Some(running) = &mut sniffer.running else {
            return;
        };
        let most = match running.headers_only {
            true => seen.head.headers,
            false => running.most as usize,
        };
        let bytes = &bytes[..bytes.len().min(most)];
        sniffer.memory.see(seen, bytes);
        sniffer.hosts.see(seen);
        sniffer.protocols.see(seen);
        sniffer.connections.see(seen);
        if let Some(stream) = running.stream {
            self.send_tzsp(bytes, stream.to);
        }
        self.write_packet(seen, bytes);
    }

    /// Appends a packet to the buffer, and writes a full buffer. Stops at the size limit of the file.
    fn write_packet(&mut self, seen: &ObservedFrame, bytes: &[u8]) {
        let unix_nanos = self.time_of(seen.at).max(0) as u64;
        let name = self.layout.name(seen.interface);
        let running = self.instruments.sniffer.running.as_mut();
        let Some(written) = running.and_then(|running| running.file.as_mut()) else {
            return;
        };
        let before = written.file.waiting();
        if before == 0 {
            written.since = self.now;
        }
        written.file.add(seen, bytes, name, unix_nanos);
        let full = written.bytes + written.file.waiting() > written.limit;
        if full {
            written.file.cut(before);
        }
        if full || written.file.waiting() >= BUFFER {
            self.write_sniffed();
        }
        if full {
            self.end_file("file-limit is reached");
        }
    }

    /// Writes the buffer to the file. Stops writing the file after an error.
    pub(in crate::drive) fn write_sniffed(&mut self) {
        let running = self.instruments.sniffer.running.as_mut();
        let Some(written) = running.and_then(|running| running.file.as_mut()) else {
            return;
        };
        let waiting = written.file.take();
        if waiting.is_empty() {
            return;
        }
        match self.manage.files.append(&written.name, &waiting) {
            Ok(()) => written.bytes += waiting.len(),
            Err(reason) => self.end_file(&reason.to_string()),
        }
    }

    fn end_file(&mut self, why: &str) {
        let running = self.instruments.sniffer.running.as_mut();
        if let Some(written) = running.and_then(|running| running.file.take()) {
            let said = format!("no more packets are written to {}: {why}", written.name);
            self.instruments.sniffer.file_ended = Some(said.clone());
            self.features.log.add("sniffer,warning", said);
        }
    }

    /// Runs the commands `start`, `stop` and `save`.
    pub(crate) fn act_sniffer(&mut self, store: &Store, call: &Call<'_>) -> Result<Reply, Reason> {
        match call.command {
            "start" => self.start_sniffer(store, call)?,
            "stop" => {
                self.write_sniffed();
                self.instruments.sniffer.running = None;
                self.retap();
            }
            _ => {
                let name = argument(call, "file-name").and_then(Value::as_str);
                let name = name.ok_or(Reason::Missing(vec!["file-name"]))?.to_owned();
                let contents = self.sniffed_file();
                menu::Files::write(&mut self.manage.files, &name, &contents)?;
            }
        }
        Ok(Reply::default())
    }

    fn start_sniffer(&mut self, store: &Store, call: &Call<'_>) -> Result<(), Reason> {
        if self.instruments.sniffer.is_running() {
            return Err(Reason::failure("sniffer is running; stop it first"));
        }
        let settings = store.settings(MENU).ok_or(Reason::NoItem)?;
        let running = self.read_sniffer(settings, call)?;
        self.instruments.sniffer = Sniffer {
            running: Some(running),
            began: self.now,
            memory: Memory::new(
                bytes(settings, "memory-limit"),
                settings.is("memory-scroll"),
            ),
            ..Sniffer::default()
        };
        self.retap();
        Ok(())
    }

    /// Reads the settings, which arguments of the command override; creates the file.
    fn read_sniffer(&mut self, settings: &Item, call: &Call<'_>) -> Result<Running, Reason> {
        let said = |name: &str| {
            let own = argument(call, name).cloned();
            own.or_else(|| settings.get(&format!("filter-{name}")).cloned())
        };
        let stream = match settings.is("streaming-enabled") {
            true => Some(collector(settings)?),
            false => None,
        };
        let most = settings.get("max-packet-size").and_then(Value::as_number);
        let (places, filter) = (
            filter::places(said("interface").as_ref()),
            filter::sniffed(&said)?,
        );
        let name = settings.text("file-name");
        // The last step: an error in any other setting leaves an old file unchanged.
        let file = match name.is_empty() {
            true => None,
            false => Some(self.begin_file(name, settings)?),
        };
        Ok(Running {
            places,
            filter,
            most: most
                .and_then(|most| u32::try_from(most).ok())
                .unwrap_or(2_048),
            headers_only: settings.is("only-headers"),
            file,
            stream,
        })
    }

    fn begin_file(&mut self, name: &str, settings: &Item) -> Result<Written, Reason> {
        let mut file = pcapng::File::new(PROGRAM);
        let head = file.take();
        menu::Files::write_plain(&mut self.manage.files, name, &head)?;
        Ok(Written {
            name: name.to_owned(),
            limit: bytes(settings, "file-limit"),
            bytes: head.len(),
            file,
            since: self.now,
        })
    }

    /// Returns the packets in memory as a capture file.
    fn sniffed_file(&self) -> Vec<u8> {
        let mut file = pcapng::File::new(PROGRAM);
        for kept in self.instruments.sniffer.memory.packets() {
            let seen = &kept.seen;
            let unix_nanos = self.time_of(seen.at).max(0) as u64;
            let name = self.layout.name(seen.interface);
            file.add(seen, &kept.bytes, name, unix_nanos);
        }
        file.take()
    }

    /// Returns the rows of the sniffer's menus.
    pub(crate) fn sniffed_rows(
        &self,
        path: &str,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let sniffer = &self.instruments.sniffer;
        match path {
            "/tool/sniffer/packet" => {
                let name = |id| self.layout.name(id).to_owned();
                for kept in sniffer.memory.packets() {
                    give(rows::packet(kept, sniffer.began, &name, true), filter, each)?;
                }
            }
            "/tool/sniffer/host" => {
                let hosts = sniffer.hosts.rows(self.now);
                for (at, (address, host)) in hosts.iter().enumerate() {
                    give(rows::host(at, *address, host), filter, each)?;
                }
            }
            "/tool/sniffer/connection" => {
                let connections = sniffer.connections.rows();
                for (at, (ends, connection)) in connections.iter().enumerate() {
                    give(rows::connection(at, *ends, connection), filter, each)?;
                }
            }
            _ => {
                let all = sniffer.protocols.all();
                for (at, (kind, ip, port, share)) in sniffer.protocols.rows().enumerate() {
                    let row = rows::protocol_row(at, kind, ip, port, share, all);
                    give(row, filter, each)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns a setting in KiB, as bytes.
fn bytes(settings: &Item, name: &str) -> usize {
    let kib = settings.get(name).and_then(Value::as_number);
    let kib = kib.and_then(|kib| usize::try_from(kib).ok());
    kib.unwrap_or(0).saturating_mul(1_024)
}

/// Parses `streaming-server`: an address, or an address and a port.
fn collector(settings: &Item) -> Result<Stream, Reason> {
    /// TaZmen Sniffer Protocol (IANA).
    const TZSP: u16 = 37_008;
    let text = settings.text("streaming-server");
    let whole = text.parse::<SocketAddr>();
    let address = |_| text.parse().map(|to: IpAddr| SocketAddr::new(to, TZSP));
    let to = whole.or_else(address);
    let to = to.map_err(|_| Reason::no_match("streaming-server"))?;
    if to.ip().is_unspecified() {
        return Err(Reason::failure("streaming-server is not set"));
    }
    Ok(Stream {
        to,
        filters: settings.is("filter-stream"),
    })
}
