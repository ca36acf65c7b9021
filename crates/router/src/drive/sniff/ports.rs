//! Names of ports, as `/tool/sniffer` knows them (IANA, Service Name and Transport Protocol Port Number Registry).

const PORTS: &[(&str, u16)] = &[
    ("bgp", 179),
    ("bootpc", 68),
    ("bootps", 67),
    ("discard", 9),
    ("dns", 53),
    ("domain", 53),
    ("echo", 7),
    ("ftp", 21),
    ("ftp-data", 20),
    ("http", 80),
    ("https", 443),
    ("imap", 143),
    ("imap3", 220),
    ("imaps", 993),
    ("l2tp", 1_701),
    ("ldap", 389),
    ("ldaps", 636),
    ("mndp", 5_678),
    ("netbios-dgm", 138),
    ("netbios-ns", 137),
    ("netbios-ssn", 139),
    ("ntp", 123),
    ("pop3", 110),
    ("pop3s", 995),
    ("pptp", 1_723),
    ("radius", 1_812),
    ("radius-acct", 1_813),
    ("rip", 520),
    ("rtsp", 554),
    ("sip", 5_060),
    ("smtp", 25),
    ("snmp", 161),
    ("snmp-trap", 162),
    ("ssh", 22),
    ("sunrpc", 111),
    ("syslog", 514),
    ("telnet", 23),
    ("tftp", 69),
    ("time", 37),
    ("winbox", 8_291),
    ("www", 80),
];

/// Returns the number of a named port.
pub(super) fn number(name: &str) -> Option<u16> {
    let found = PORTS.iter().find(|(own, _)| *own == name);
    found.map(|(_, port)| *port)
}

/// Formats a port with the name of its service, if known: `443 (https)`.
pub(super) fn named(port: u16) -> String {
    match PORTS.iter().find(|(_, own)| *own == port) {
        Some((name, _)) => format!("{port} ({name})"),
        None => port.to_string(),
    }
}
