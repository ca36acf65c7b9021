//! Every reason to discard a packet, declared once: counter, trace and manual read the same line.

use frame::reassembly::Lost;

macro_rules! drops {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// Why a packet was discarded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum DropReason {
            $($(#[doc = $doc])+ $name,)+
        }

        impl DropReason {
            /// All reasons; a reason's place here is the index of its counter.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The name that counters and traces show.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// What it means, in a sentence or two, with the rule's source.
            pub const fn explain(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)+),)+ }
            }
        }
    };
}

drops! {
    /// Shorter than an Ethernet header.
    EthernetLength = "ethernet-length",
    /// The frame is for another station's address, and the port is not a bridge port.
    EthernetOther = "ethernet-other-host",
    /// An IP packet for one station in a link-layer broadcast or multicast frame (RFC 1812, 5.3.4).
    LinkBroadcast = "link-broadcast",
    /// The EtherType is none that this router handles.
    EthernetType = "ethernet-type",
    /// No VLAN interface has this VLAN id on the port.
    VlanUnknown = "vlan-unknown",
    /// PPPoE session data whose header is cut short or has another version, type or code, or that was sent to a group
    /// (RFC 2516, 4).
    PppoeMalformed = "pppoe-malformed",
    /// PPPoE session data whose length is less than a PPP protocol, or more than came (RFC 2516, 4).
    PppoeLength = "pppoe-length",
    /// The interface has no PPPoE session of this peer with this number.
    PppoeSession = "pppoe-session",
    /// The PPP protocol in PPPoE session data is not IP, and nothing here hears it.
    PppoeProtocol = "pppoe-protocol",
    /// The ingress interface is disabled or has no IP configuration.
    InterfaceDown = "interface-down",
    /// Shorter than an IPv4 header, or than its own total length (RFC 1812, 5.2.2).
    Ipv4Length = "ipv4-length",
    /// The version field is not 4 (RFC 1812, 5.2.2).
    Ipv4Version = "ipv4-version",
    /// The header checksum is wrong (RFC 1812, 5.2.2).
    Ipv4Checksum = "ipv4-checksum",
    /// The source address may not be a source: loopback, multicast, broadcast, this network, class E
    /// (RFC 1812, 5.3.7).
    Ipv4MartianSource = "ipv4-martian-source",
    /// The destination address may not be forwarded to (RFC 1812, 5.3.7).
    Ipv4MartianDestination = "ipv4-martian-destination",
    /// The source is one of this router's own addresses.
    Ipv4OwnSource = "ipv4-own-source",
    /// An option is malformed (RFC 1812, 5.2.4).
    Ipv4Options = "ipv4-options",
    /// A source-route option.
    Ipv4SourceRoute = "ipv4-source-route",
    /// Shorter than an IPv6 header, or than its payload length (RFC 8200, 3).
    Ipv6Length = "ipv6-length",
    /// The version field is not 6 (RFC 8200, 3).
    Ipv6Version = "ipv6-version",
    /// The source address may not be a source: multicast or loopback (RFC 4291, 2.7 and 2.5.3).
    Ipv6MartianSource = "ipv6-martian-source",
    /// The destination may not be forwarded to: loopback or unspecified (RFC 4291, 2.5.2 and 2.5.3).
    Ipv6MartianDestination = "ipv6-martian-destination",
    /// The source is one of this router's own addresses.
    Ipv6OwnSource = "ipv6-own-source",
    /// A link-local address has bits where the host plane's zone goes (RFC 4291, 2.5.6; `dataplane/src/zone.rs`).
    Ipv6Zone = "ipv6-zone",
    /// A link-local address would leave its link (RFC 4291, 2.5.6); the sender is told.
    Ipv6BeyondScope = "ipv6-beyond-scope",
    /// An extension header is malformed, or there are too many.
    Ipv6ExtensionHeader = "ipv6-extension-header",
    /// A hop-by-hop option is malformed, or there are more than eight (RFC 8200, 4.2; RFC 8504, 5.3).
    Ipv6Options = "ipv6-options",
    /// A hop-by-hop option that is not known, and asks to be discarded then; the sender is told if it asks for
    /// that (RFC 8200, 4.2).
    Ipv6UnknownOption = "ipv6-unknown-option",
    /// The route back to the source does not leave by the ingress interface (RFC 3704).
    ReversePath = "reverse-path",
    /// The packet should be forwarded, and forwarding is off.
    ForwardingOff = "forwarding-off",
    /// Lifetime exhausted; the sender is told (RFC 1812, 5.3.1; RFC 4443, 3.3).
    TtlExceeded = "ttl-exceeded",
    /// No route to the destination; the sender is told (RFC 1812, 4.3.3.1).
    NoRoute = "no-route",
    /// A blackhole route matched: discarded without a word.
    Blackhole = "blackhole",
    /// An unreachable route or rule matched; the sender is told.
    Unreachable = "unreachable",
    /// A prohibit route or rule matched; the sender is told.
    Prohibit = "prohibit",
    /// Too big for the egress link, and not to be fragmented; the sender is told.
    TooBig = "too-big",
    /// The egress interface is down.
    EgressDown = "egress-down",
    /// The next hop did not answer; the sender is told (RFC 1812, 3.3.2).
    NeighbourUnreachable = "neighbour-unreachable",
    /// Too many packets wait for the next hop's address.
    NeighbourQueueFull = "neighbour-queue-full",
    /// A multicast or broadcast packet for a group that this router neither joined nor forwards.
    MulticastNotMine = "multicast-not-mine",
    /// A directed broadcast from elsewhere (RFC 2644).
    DirectedBroadcast = "directed-broadcast",
    /// The ingress port's ring was full: the worker was too slow for what arrived.
    PortOverrun = "port-overrun",
    /// A frame arrived damaged, or too long for the ingress port.
    PortDamaged = "port-damaged",
    /// It found its queue full (`/queue`).
    QueueFull = "queue-full",
    /// The discipline of its queue dropped it to keep the queue or its delay short.
    QueueEarly = "queue-early",
    /// It acknowledged what a later packet in the same queue does, too.
    QueueNeedless = "queue-needless-ack",
    /// The egress port had no room.
    PortFull = "port-full",
    /// The pool had no slot left for a copy, a fragment or a segment.
    NoBuffer = "no-buffer",
    /// Whoever keeps packets for a time (reassembly, resolution) has all of the pool that they may: the rest is for
    /// receiving.
    PoolReserve = "pool-reserve",
    /// The ring to control was full.
    PuntFull = "punt-full",
    /// More frames came for a service of this router (ARP, echo requests …) than it hears in a second, so that
    /// no service keeps control from the others.
    ServiceLimit = "service-limit",
    /// The ring to the worker that owns the flow, or the egress port's queue, was full.
    HandoverFull = "handover-full",
    /// A merged segment or unfinished checksum does not fit its own headers.
    OffloadMalformed = "offload-malformed",
    /// A feature of this router wanted more frames sent at once than control sends for it.
    FeatureSends = "feature-sends",
    /// No service of this router takes the packet; the sender may be told.
    NotForUs = "not-for-us",
    /// A malformed ARP packet (RFC 826).
    ArpMalformed = "arp-malformed",
    /// A malformed ICMP or neighbour discovery message.
    IcmpMalformed = "icmp-malformed",
    /// A datagram to the DNS server whose UDP header cannot be read (RFC 768).
    DnsMalformed = "dns-malformed",
    /// The connection should get one of the router's addresses, and there is none.
    NatAddress = "nat-address",
    /// The connection was masqueraded on another interface than the one that its packet leaves by now. The
    /// connection is removed with this packet; the next packet begins a new one, with the address of that interface.
    NatEgress = "nat-egress",
    /// No port or address is left by which the connection's answers could be told from others'.
    NatPorts = "nat-ports",
    /// The packet is too short for what its connection's translation changes.
    NatMalformed = "nat-malformed",
    /// A fragment that cannot be: empty, of a length that is no multiple of 8, beyond the end of a
    /// datagram, or a first one without the headers that belong into it (RFC 791, 3.2; RFC 8200, 4.5;
    /// RFC 7112).
    FragmentMalformed = "fragment-malformed",
    /// A fragment that came twice.
    FragmentDuplicate = "fragment-duplicate",
    /// Fragments of a datagram that overlap, or contradict each other about its end (RFC 5722).
    FragmentOverlap = "fragment-overlap",
    /// Fragments of which only some could carry the mark of congestion that others have (RFC 3168, 5.3).
    FragmentEcn = "fragment-ecn",
    /// A datagram that was not completed in time (RFC 1122, 3.3.2; RFC 8200, 4.5).
    FragmentTimeout = "fragment-timeout",
    /// Too many fragments waited for the rest of their datagrams: the oldest went.
    FragmentsFull = "fragments-full",
    /// A new connection, and the table of connections is full of ones that may not be evicted.
    ConnectionsFull = "connections-full",
    /// A new connection whose tuple, or whose answers' tuple, another connection has.
    ConnectionTaken = "connection-taken",
    /// A rule of `raw` drops it.
    FirewallRaw = "firewall-raw",
    /// A rule of `mangle` drops it.
    FirewallMangle = "firewall-mangle",
    /// A rule of `filter` drops it.
    FirewallFilter = "firewall-filter",
    /// A rule of `filter` rejects it; its sender is told.
    FirewallReject = "firewall-reject",
    /// A rule of `filter` keeps it in a tarpit.
    FirewallTarpit = "firewall-tarpit",
    /// A rule of a bridge's `filter` drops it.
    BridgeFilter = "bridge-filter",
    /// A rule of a bridge's `nat` drops it.
    BridgeNat = "bridge-nat",
    /// Tunnels within tunnels are too deep, or lead to each other in a circle.
    TunnelDepth = "tunnel-depth",
    /// The sender's address of a bridged frame is a group's, or none.
    BridgeSource = "bridge-source",
    /// Sent to an address that bridges keep for their own protocols (IEEE 802.1Q, 8.6.3), and nothing here hears it.
    BridgeReserved = "bridge-reserved",
    /// Spanning tree does not let frames in by the bridge's port, or out by it.
    BridgePortState = "bridge-port-state",
    /// The bridge's port admits only frames with a VLAN's tag, or only ones without (`frame-types`).
    BridgeFrameTypes = "bridge-frame-types",
    /// The bridge's port that the frame came by is no member of its VLAN (`ingress-filtering`).
    BridgeIngressVlan = "bridge-ingress-vlan",
    /// The bridge's port that the frame would leave by, or the bridge itself, is no member of its VLAN.
    BridgeEgressVlan = "bridge-egress-vlan",
    /// A question of SNMP that is none.
    SnmpMalformed = "snmp-malformed",
    /// A question of SNMP from somebody who may not ask: his community, his address, or his keys.
    SnmpRefused = "snmp-refused",
    /// A rule of the port's switch chip discards the frame, or its `rate` is exceeded.
    SwitchRule = "switch-rule",
    /// The port's `vlan-mode` does not take the frame's VLAN: the switch chip's table does not have it, or the port is
    /// no member of it.
    SwitchVlan = "switch-vlan",
    /// The frame's station is behind the port of the bridge that it came by.
    BridgeSamePort = "bridge-same-port",
    /// Horizon, isolation or a forwarding override keep the two ports of the bridge apart.
    BridgeApart = "bridge-apart",
    /// The frame is for several ports of the bridge, and none of them takes it.
    BridgeNowhere = "bridge-nowhere",
    /// A message of a DHCP or DHCPv6 server that came by a port of the bridge which is not trusted (RFC 7610, 2).
    BridgeDhcpServer = "bridge-dhcp-server",
    /// A DHCP request that came by a port of the bridge which is not trusted, and says already where its client is
    /// (RFC 3046, 2.1).
    BridgeDhcpOption = "bridge-dhcp-option",
    /// A router advertisement, or what may hide one, that came by a port of the bridge which is not trusted
    /// (RFC 6105, RFC 7113).
    BridgeAdvertisement = "bridge-router-advertisement",
    /// The frame is longer than the bridge's port that it would leave by takes.
    BridgeTooBig = "bridge-too-big",
    /// Bridges lead to each other in a circle, or too deep.
    BridgeDepth = "bridge-depth",
    /// Too many frames waited to be encapsulated, or to be walked when they were decapsulated.
    AgendaFull = "agenda-full",
    /// It came by a slave that its bond takes no frames from: a backup, or one that LACP does not collect from.
    BondInactive = "bond-inactive-slave",
    /// No slave of the bond can send.
    BondDown = "bond-no-slave",
    /// An advertisement of VRRP, or the packet that carries it, is malformed (RFC 5798, 7.1).
    VrrpMalformed = "vrrp-malformed",
    /// An advertisement of VRRP with another lifetime than 255: it comes from beyond the link (RFC 5798, 7.1).
    VrrpTtl = "vrrp-ttl",
    /// An advertisement of VRRP with a wrong checksum (RFC 5798, 7.1). See `v3-checksum-as-v2`.
    VrrpChecksum = "vrrp-checksum",
    /// An advertisement of VRRP that is not authenticated as the virtual router is (RFC 2338, 5.3.6).
    VrrpAuthentication = "vrrp-authentication",
    /// An advertisement of VRRP 2 with another interval than this router's (RFC 3768, 7.1).
    VrrpInterval = "vrrp-interval",
    /// An advertisement of VRRP of another version than the virtual router has here.
    VrrpVersion = "vrrp-version",
    /// An advertisement of a virtual router that this router is not part of.
    VrrpOther = "vrrp-other-router",
    /// An NTP packet is malformed, or is neither a question nor an answer (RFC 5905, 7.3).
    NtpMalformed = "ntp-malformed",
    /// An NTP answer to no question of this router, or to one that has been answered, or without the right key.
    NtpUnasked = "ntp-unasked",
    /// The sender of NTP questions puts more of them than it may.
    NtpLimit = "ntp-limit",
    /// A message of DHCP is neither a request for a relay agent here nor an answer to one.
    DhcpRelayOther = "dhcp-relay-other",
    /// A request of DHCP has come by too many relay agents, or by this one before (RFC 1542, 4.1.1).
    DhcpRelayLooped = "dhcp-relay-looped",
    /// A DHCP client has not asked for as long as its relay agent waits (`delay-threshold`).
    DhcpRelayEarly = "dhcp-relay-too-early",
    /// A DHCP client says itself where it is, which is a relay agent's to say (RFC 3046, 2.1).
    DhcpRelayForged = "dhcp-relay-forged",
    /// A DHCP relay agent has no address that servers could answer to.
    DhcpRelayNoAddress = "dhcp-relay-no-address",
    /// An answer to a DHCP client that is no message of DHCP, or whose checksum is wrong.
    DhcpClientMalformed = "dhcp-client-malformed",
    /// An answer to a DHCP client of another transaction, client or server than the one that was asked.
    DhcpClientOther = "dhcp-client-other",
    /// An answer to a DHCP client that waits for no such answer.
    DhcpClientUnexpected = "dhcp-client-unexpected",
    /// An answer to a DHCP client with an address, a mask or a time that no host can have.
    DhcpClientUnusable = "dhcp-client-unusable",
    /// A message of MNDP, CDP or LLDP is malformed.
    NeighbourMalformed = "neighbor-malformed",
    /// A message of CDP with a wrong checksum.
    NeighbourChecksum = "neighbor-checksum",
    /// A neighbour beyond the most that the table of `/ip/neighbor` has room for.
    NeighbourFull = "neighbor-table-full",
    /// A message of the port of echo by link address is malformed.
    MacPingMalformed = "mac-ping-malformed",
    /// A DHCP message is too short, too long, or an option of it goes beyond it; or its datagram is no good.
    DhcpMalformed = "dhcp-malformed",
    /// A DHCP message is of no type that a server answers, or of BOOTP where that is not served.
    DhcpType = "dhcp-type",
    /// A DHCP client took the offer of another server, or asks where there is none.
    DhcpOtherServer = "dhcp-other-server",
    /// A DHCP client has not asked for as long as `delay-threshold` says.
    DhcpEarly = "dhcp-too-early",
    /// A DHCP client has a static lease with `block-access=yes`.
    DhcpBlocked = "dhcp-blocked",
    /// A DHCP server has nothing for this client: no static lease, no pool, or not the address that it asks for.
    DhcpUnknown = "dhcp-unknown-client",
    /// No address is left for a DHCP client.
    DhcpNoAddress = "dhcp-no-address",
    /// A hardware address has as many leases as `client-mac-limit` says.
    DhcpMacLimit = "dhcp-mac-limit",
    /// The packet in a tunnel's is none, or is cut short.
    TunnelMalformed = "tunnel-malformed",
    /// No address of this router is one that packets to the other end of a tunnel could come from.
    TunnelNoSource = "tunnel-no-source",
    /// The tunnel's packet met congestion, and the sender of the one in it does not know of such (RFC 6040, 4.2).
    TunnelCongested = "tunnel-congested",
    /// No peer of a WireGuard interface has the destination among its allowed addresses.
    WireguardNoPeer = "wireguard-no-peer",
    /// No handshake with the peer came to an end while the packet could wait, or as many wait as may.
    WireguardNoSession = "wireguard-no-session",
    /// A message of WireGuard names a session that its interface does not have, or not any more.
    WireguardUnknown = "wireguard-unknown-session",
    /// A datagram for a port of WireGuard is no message of it, or what is in it is no packet.
    WireguardMalformed = "wireguard-malformed",
    /// The message came before, or is older than the window of its session.
    WireguardReplayed = "wireguard-replayed",
    /// The message's tag is wrong: another key, or it was altered.
    WireguardIntegrity = "wireguard-integrity",
    /// A handshake of WireGuard is not later than the last one of its peer: a replay.
    WireguardReplayedHandshake = "wireguard-replayed-handshake",
    /// The answer to a handshake of WireGuard does not open: the peer has another preshared key.
    WireguardPreshared = "wireguard-wrong-preshared-key",
    /// A handshake of WireGuard has a wrong sum or key, or is of no peer.
    WireguardStranger = "wireguard-unknown-peer",
    /// Too many handshakes of WireGuard come: their senders were asked for cookies.
    WireguardFlood = "wireguard-handshake-limit",
    /// The packet's source is not among the allowed addresses of the peer that it came from.
    WireguardSource = "wireguard-wrong-source",
    /// The session has used up its counters: a new one is owed.
    WireguardExhausted = "wireguard-counters-exhausted",
    /// A datagram for a VXLAN port of this router names a network that no interface has there (RFC 7348, 4).
    VxlanUnknown = "vxlan-unknown-network",
    /// No other end of a VXLAN is known: neither of the host that a frame is for, nor one to flood it to.
    VxlanNoPeer = "vxlan-no-peer",
    /// No address of this router is one that packets to another end of a VXLAN could come from.
    VxlanNoSource = "vxlan-no-source",
    /// A frame came out of a VXLAN that has the link address of this end as its source: it is an echo.
    VxlanEcho = "vxlan-echo",
    /// A policy of IPsec discards the packet, which came in (`action=discard`).
    IpsecDiscard = "ipsec-discard",
    /// A policy of IPsec discards the packet, which was about to leave.
    IpsecDiscardOut = "ipsec-discard-out",
    /// A policy of IPsec asks for protection, and the packet came in without (RFC 4301, 5.2).
    IpsecClear = "ipsec-unprotected",
    /// A policy of IPsec asks for protection, and there are no keys yet. They are asked for.
    IpsecNoKeys = "ipsec-no-keys",
    /// No association of IPsec has the number that the packet names (RFC 4301, 5.2).
    IpsecUnknown = "ipsec-unknown-spi",
    /// The packet is too short for its association, or what is in it is no packet.
    IpsecMalformed = "ipsec-malformed",
    /// The packet came before, or is older than the window of its association (RFC 4303, 3.4.3).
    IpsecReplayed = "ipsec-replayed",
    /// The packet's integrity check failed: another key, or it was altered.
    IpsecIntegrity = "ipsec-integrity",
    /// What came out of IPsec is not what the policy of its association lets in (RFC 4301, 5.2).
    IpsecMismatch = "ipsec-policy-mismatch",
    /// A packet without content, sent to hide how much there is (RFC 4303, 2.6).
    IpsecDummy = "ipsec-dummy",
    /// A datagram that keeps a translator's entry alive (RFC 3948, 4).
    IpsecKeepalive = "ipsec-nat-keepalive",
    /// The association has used up its numbers: new keys are owed (RFC 4303, 3.3.3).
    IpsecExhausted = "ipsec-sequence-exhausted",
    /// The sender of a frame for a service of this router sends more of them than control hears of one sender.
    ServiceSender = "service-sender-limit",
    /// Strangers send more than control can hear: the sender was asked to prove its address, or must try again.
    ServiceStranger = "service-stranger-limit",
    /// A message of IKE names an SA that does not exist.
    IkeUnknown = "ike-unknown-spi",
    /// A datagram for a port of IKE is malformed.
    IkeMalformed = "ike-malformed",
    /// The packet's headers are such that what is behind them cannot be protected alone.
    IpsecHeaders = "ipsec-headers",
    /// The packet ends before what a rule changes in it.
    FirewallTruncated = "firewall-truncated",
    /// A helper would have to remember more than it may: connections that are expected, or that it
    /// altered. What it reads comes again, and finds more room or less.
    HelperFull = "helper-full",
    /// What a helper would make of the packet is longer than a packet, or than its buffer.
    HelperRoom = "helper-room",
}

impl DropReason {
    /// The name under which a fragment is counted that reassembly gave up.
    pub const fn of_fragment(lost: Lost) -> Self {
        match lost {
            Lost::Malformed | Lost::Problem { .. } => Self::FragmentMalformed,
            Lost::Duplicate => Self::FragmentDuplicate,
            Lost::Overlap => Self::FragmentOverlap,
            Lost::Ecn => Self::FragmentEcn,
            Lost::Full => Self::FragmentsFull,
            Lost::NoBuffer => Self::NoBuffer,
            Lost::Reserve => Self::PoolReserve,
            Lost::TimedOut { .. } => Self::FragmentTimeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_list_is_in_order() {
        for (index, reason) in DropReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
            let same = DropReason::ALL
                .iter()
                .filter(|other| other.name() == reason.name());
            assert_eq!(same.count(), 1, "{}", reason.name());
        }
    }
}
