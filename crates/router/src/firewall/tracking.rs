//! `/ip/firewall/connection/tracking`.

use dataplane::connection::Settings;
use machine::Duration;
use menu::{Item, Store, Value};

/// Settings of connection tracking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracking {
    /// `enabled`: `None` is `auto`.
    pub enabled: Option<bool>,
    /// Timeouts and strictness.
    pub settings: Settings,
}

impl Tracking {
    /// Reads the configured settings.
    pub fn read(store: &Store) -> Self {
        let Some(item) = store.settings("/ip/firewall/connection/tracking") else {
            return Self::default();
        };
        let is = |name: &str| item.get(name).and_then(Value::as_bool);
        Self {
            enabled: match item.text("enabled") {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            },
            settings: settings(
                item,
                is("loose-tcp-tracking") != Some(false),
                is("liberal-tcp-tracking") == Some(true),
            ),
        }
    }

    /// Whether connection tracking is active for a family; `has_rules` says whether its rules need it.
    pub fn is_active(&self, has_rules: bool) -> bool {
        self.enabled.unwrap_or(has_rules)
    }
}

fn settings(item: &Item, loose: bool, liberal: bool) -> Settings {
    let usual = Settings::default();
    let span = |name: &str, usual: Duration| {
        let nanos = item.get(name).and_then(Value::as_nanos);
        let nanos = nanos.and_then(|nanos| u64::try_from(nanos).ok());
        nanos.map_or(usual, Duration::from_nanos)
    };
    Settings {
        tcp_syn_sent: span("tcp-syn-sent-timeout", usual.tcp_syn_sent),
        tcp_syn_received: span("tcp-syn-received-timeout", usual.tcp_syn_received),
        tcp_established: span("tcp-established-timeout", usual.tcp_established),
        tcp_fin_wait: span("tcp-fin-wait-timeout", usual.tcp_fin_wait),
        tcp_close_wait: span("tcp-close-wait-timeout", usual.tcp_close_wait),
        tcp_last_ack: span("tcp-last-ack-timeout", usual.tcp_last_ack),
        tcp_time_wait: span("tcp-time-wait-timeout", usual.tcp_time_wait),
        tcp_close: span("tcp-close-timeout", usual.tcp_close),
        tcp_max_retrans: span("tcp-max-retrans-timeout", usual.tcp_max_retrans),
        tcp_unacked: span("tcp-unacked-timeout", usual.tcp_unacked),
        udp: span("udp-timeout", usual.udp),
        udp_stream: span("udp-stream-timeout", usual.udp_stream),
        icmp: span("icmp-timeout", usual.icmp),
        generic: span("generic-timeout", usual.generic),
        loose,
        liberal,
        entries_max: usual.entries_max,
    }
}
