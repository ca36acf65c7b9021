//! Rows of settings with counters, of the system, and of the log.

use dataplane::counters::Traffic;

use frame::shortcut::Handler;
use menu::{Id, Row, Value};

use super::{DYNAMIC, number};
use crate::drive::Control;

/// Features of `/system/device-mode` that mode `advanced` allows, and features that it does not allow.
const ALLOWED_FEATURES: &[&str] = &[
    "scheduler",
    "socks",
    "fetch",
    "pptp",
    "l2tp",
    "bandwidth-test",
    "sniffer",
    "ipsec",
    "romon",
    "proxy",
    "hotspot",
    "smb",
    "email",
    "zerotier",
];
const REFUSED_FEATURES: &[&str] = &[
    "traffic-gen",
    "container",
    "install-any-version",
    "partitions",
    "routerboard",
];

impl Control {
    pub(super) fn annotate_settings4(&self, row: &mut Row) {
        let active = self.is_fast(false);
        let (sum, by_shortcuts) = self.forwarded(Handler::FastPath, false);
        row.set("ipv4-fast-path-active", Value::Bool(active));
        if let Some(reasons) = self.slow_reasons(false) {
            row.set("ipv4-slow-path-reason", Value::text(reasons));
        }
        row.set("ipv4-fast-path-packets", number(sum.packets));
        row.set("ipv4-fast-path-bytes", number(sum.bytes));
        if let Some(went) = by_shortcuts {
            row.set("ipv4-fast-path-xdp-packets", number(went.packets));
            row.set("ipv4-fast-path-xdp-bytes", number(went.bytes));
        }
        let (fasttracked, by_shortcuts) = self.forwarded(Handler::FastTrack, false);
        row.set(
            "ipv4-fasttrack-active",
            Value::Bool(self.is_fasttracking(false)),
        );
        row.set("ipv4-fasttrack-packets", number(fasttracked.packets));
        row.set("ipv4-fasttrack-bytes", number(fasttracked.bytes));
        if let Some(went) = by_shortcuts {
            row.set("ipv4-fasttrack-xdp-packets", number(went.packets));
            row.set("ipv4-fasttrack-xdp-bytes", number(went.bytes));
        }
        if let (_, Some(went)) = self.forwarded(Handler::Firewall, false) {
            row.set("ipv4-firewall-xdp-packets", number(went.packets));
            row.set("ipv4-firewall-xdp-bytes", number(went.bytes));
        }
    }

    /// `/interface/bridge/settings`: adds the traffic that bridges forwarded without inspecting frames, and the reasons
    /// for inspection.
    pub(super) fn annotate_bridging(&self, row: &mut Row) {
        let bridge = &self.firewall.compiled().bridge;
        let reasons: Vec<_> = [
            (bridge.slow, "allow-fast-path=no"),
            (
                !bridge.chip.is_empty(),
                "/interface/ethernet/switch/rule has rules",
            ),
            (
                !bridge.filter.is_empty(),
                "/interface/bridge/filter has rules",
            ),
            (!bridge.nat.is_empty(), "/interface/bridge/nat has rules"),
            (bridge.detour.plain, "use-ip-firewall=yes"),
        ]
        .into_iter()
        .filter_map(|(holds, reason)| holds.then_some(reason))
        .collect();
        row.set("bridge-fast-path-active", Value::Bool(reasons.is_empty()));
        if !reasons.is_empty() {
            row.set("bridge-slow-path-reason", Value::text(reasons.join("; ")));
        }
        let (mut path, mut forward) = (Traffic::default(), Traffic::default());
        for counters in self.workers.counters() {
            for (sum, pair) in [
                (&mut path, &counters.bridge_fast_path),
                (&mut forward, &counters.bridge_fast_forward),
            ] {
                let counted = pair.get();
                sum.packets += counted.packets;
                sum.bytes += counted.bytes;
            }
        }
        row.set("bridge-fast-path-packets", number(path.packets));
        row.set("bridge-fast-path-bytes", number(path.bytes));
        row.set("bridge-fast-forward-packets", number(forward.packets));
        row.set("bridge-fast-forward-bytes", number(forward.bytes));
    }

    pub(super) fn annotate_settings6(&self, row: &mut Row) {
        let active = self.is_fast(true);
        let (sum, by_shortcuts) = self.forwarded(Handler::FastPath, true);
        row.set("ipv6-fast-path-active", Value::Bool(active));
        if let Some(reasons) = self.slow_reasons(true) {
            row.set("ipv6-slow-path-reason", Value::text(reasons));
        }
        row.set("ipv6-fast-path-packets", number(sum.packets));
        row.set("ipv6-fast-path-bytes", number(sum.bytes));
        if let Some(went) = by_shortcuts {
            row.set("ipv6-fast-path-xdp-packets", number(went.packets));
            row.set("ipv6-fast-path-xdp-bytes", number(went.bytes));
        }
        let (fasttracked, by_shortcuts) = self.forwarded(Handler::FastTrack, true);
        row.set(
            "ipv6-fasttrack-active",
            Value::Bool(self.is_fasttracking(true)),
        );
        row.set("ipv6-fasttrack-packets", number(fasttracked.packets));
        row.set("ipv6-fasttrack-bytes", number(fasttracked.bytes));
        if let Some(went) = by_shortcuts {
            row.set("ipv6-fasttrack-xdp-packets", number(went.packets));
            row.set("ipv6-fasttrack-xdp-bytes", number(went.bytes));
        }
        if let (_, Some(went)) = self.forwarded(Handler::Firewall, true) {
            row.set("ipv6-firewall-xdp-packets", number(went.packets));
            row.set("ipv6-firewall-xdp-bytes", number(went.bytes));
        }
    }

    /// Returns the traffic of a family that a handler has forwarded, and the part forwarded by devices.
    fn forwarded(&self, handler: Handler, ipv6: bool) -> (Traffic, Option<Traffic>) {
        self.workers.forwarded(handler, ipv6, self.now)
    }

    /// Whether FastTrack is active for a family. RouterOS: connections keep their mark after the rule is removed, and
    /// FastTrack stays active while such a connection exists.
    fn is_fasttracking(&self, ipv6: bool) -> bool {
        let allowed = match ipv6 {
            true => self.intent.ipv6.allow_fast_path,
            false => self.intent.ipv4.allow_fast_path,
        };
        let marked = self.firewall.tracks(ipv6) && self.connections.fasttracked(ipv6) > 0;
        allowed && (marked || self.firewall.fasttracks(ipv6))
    }

    /// Returns the reasons against the fast path, each with its interfaces.
    fn slow_reasons(&self, ipv6: bool) -> Option<String> {
        let all = self.published.all();
        let carrying = all.filter(|is| is.line.ethernet && is.line.has_family(ipv6));
        let names: Vec<_> = carrying.map(|is| &*is.details.name).collect();
        let names = names.join(", ");
        let reasons = self.snapshot().family(ipv6).slow;
        let said = reasons
            .iter()
            .filter(|_| !names.is_empty())
            .map(|reason| format!("{} ({names})", reason.explain()));
        let said: Vec<_> = said.collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// Whether any running interface uses the fast path.
    fn is_fast(&self, ipv6: bool) -> bool {
        let mut all = self.published.all();
        self.snapshot().family(ipv6).is_fast()
            && all.any(|is| is.line.running && is.line.ethernet && is.line.has_family(ipv6))
    }

    pub(super) fn annotate_resource(&self, row: &mut Row) {
        let known = &self.resources;
        let uptime = self.now.saturating_since(self.started).as_secs();
        let uptime = i64::try_from(uptime).unwrap_or(i64::MAX);
        row.set("uptime", Value::Time(uptime.saturating_mul(1_000_000_000)));
        row.set("version", Value::text(&*known.version));
        row.set("build-time", Value::text(&*known.build_time));
        row.set("free-memory", number(known.free_memory));
        row.set("total-memory", number(known.total_memory));
        row.set("cpu", Value::text(&*known.cpu));
        row.set("cpu-count", number(known.cpu_count));
        row.set("cpu-frequency", number(known.cpu_frequency));
        row.set("cpu-load", number(known.cpu_load));
        row.set("free-hdd-space", number(known.free_disk));
        row.set("total-hdd-space", number(known.total_disk));
        row.set("write-sect-since-reboot", number(known.sectors_written));
        row.set("write-sect-total", number(known.sectors_written_total));
        row.set("architecture-name", Value::text(&*known.architecture));
        let board = match self.offload.board.is_routerboard() {
            true => self.offload.board.name,
            false => &known.board,
        };
        row.set("board-name", Value::text(board));
        row.set("platform", Value::text("ferroute"));
    }

    /// RouterOS: the licence of an unlicensed virtual router.
    pub(super) fn annotate_license(&self, row: &mut Row) {
        row.set("system-id", Value::text(&*self.resources.system_id));
        row.set("level", Value::Word("free"));
    }

    /// RouterOS: a virtual router is in mode `advanced`, which allows all features that cannot be abused against the
    /// owner.
    pub(super) fn annotate_device_mode(row: &mut Row) {
        row.set("mode", Value::Word("advanced"));
        row.set("allowed-versions", Value::text("7.13+,6.49.8+"));
        row.set("flagged", Value::Bool(false));
        row.set("flagging-enabled", Value::Bool(true));
        for (features, allowed) in [(ALLOWED_FEATURES, true), (REFUSED_FEATURES, false)] {
            for feature in features {
                row.set(feature, Value::Bool(allowed));
            }
        }
        row.set("attempt-count", number(0_u64));
    }

    /// Adds the board to a row. RouterOS: other machines have no further cells.
    pub(super) fn annotate_routerboard(&self, row: &mut Row) {
        let is = self.offload.board.is_routerboard();
        row.set("routerboard", Value::Bool(is));
        if is {
            row.set("board-name", Value::text(self.offload.board.name));
            row.set("model", Value::text(self.offload.board.model));
        }
    }

    /// Returns the version of the configuration language, without its channel.
    pub(super) fn version(&self) -> Value {
        let version = self.resources.version.split(' ').next();
        Value::text(version.unwrap_or_default())
    }

    /// Returns the row of the only package.
    pub(super) fn package_row(&self) -> Row {
        let mut row = Row {
            id: Some(Id(DYNAMIC)),
            ..Row::default()
        };
        row.set("name", Value::text("routeros"));
        row.set("version", self.version());
        row.set("build-time", Value::text(&*self.resources.build_time));
        row
    }

    pub(super) fn annotate_clock(&self, row: &mut Row) {
        let clock = self.clock.now();
        let now = clock.date_time();
        let (date, time) = now.split_once(' ').unwrap_or((&now, ""));
        row.set("date", Value::text(date));
        row.set("time", Value::text(time));
        row.set("gmt-offset", Value::text(clock.offset()));
        row.set("dst-active", Value::Bool(clock.daylight));
    }
}
