//! Mode config (draft-dukes-ike-mode-cfg-02): the initiator requests an address and the split networks, and
//! negotiates a pair of SAs for each network.

use core::net::IpAddr;

use ipnet::IpNet;

use super::transaction::{ACK, Opening, Pending, REPLY, ReplyTo};
use super::{Bad, Sa};
use crate::config::{GeneratePolicy, Mode, ModeConfig, Policy, PolicyId, Selector};
use crate::engine::core::{Context, Order};
use crate::event::{Action, Level, Side, State};
use crate::message::{Attribute, Configuration, Version};
use crate::mode_config;

impl Sa {
    /// Returns the mode-config of the current identity, if it has this role.
    pub(super) fn mode_config(&self, responder: bool) -> Option<&ModeConfig> {
        let identity = self.common.peer.identities.get(self.common.identity)?;
        let config = identity.mode_config.as_ref();
        config.filter(|config| config.responder == responder)
    }

    /// Continues after authentication: with mode config as initiator, or by establishing the SA.
    pub(super) fn after_login(&mut self, cx: &mut Context<'_>) {
        if self.says_first {
            cx.core.orders.push_back(Order::OnlyOne(self.common.id));
        }
        let asks = self.common.side == Side::Initiator && self.mode_config(false).is_some();
        if !asks {
            return self.establish(cx);
        }
        self.wait_for(Opening::Lease, cx);
        self.transact(&mode_config::request(Version::One), cx);
    }

    /// Initiator: takes the lease from the responder's reply.
    pub(super) fn take_lease(&mut self, reply: &Configuration, cx: &mut Context<'_>) {
        let lease = mode_config::lease(reply);
        self.common.leased = lease.address;
        if lease.address.is_none() {
            self.say(
                Level::Error,
                "the peer assigns no address (mode config)",
                cx,
            );
        }
        self.lease = Some(lease);
        self.establish(cx);
    }

    /// Initiator: takes a lease that the responder pushes (SET) before or instead of a reply.
    pub(super) fn take_pushed(
        &mut self,
        set: &Configuration,
        to: ReplyTo,
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        if self.opening != Opening::Lease {
            return Err(Bad::Ignored("ike1-unexpected"));
        }
        let kinds = set.attributes.iter();
        let taken = Configuration {
            kind: ACK,
            identifier: set.identifier,
            attributes: kinds.map(|one| Attribute::bytes(one.kind, &[])).collect(),
        };
        (self.asking, self.resend) = (None, None);
        self.reply(to, &taken, cx);
        self.take_lease(set, cx);
        Ok(())
    }

    /// Responder: answers a request, if necessary after the pool's answer.
    pub(super) fn give_lease(
        &mut self,
        said: Configuration,
        reply_to: ReplyTo,
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        if self.opening != Opening::Done {
            return Err(Bad::Ignored("ike1-unexpected"));
        }
        let config = self.mode_config(true).cloned();
        let pool = config.as_ref().and_then(|config| config.pool.clone());
        let fixed = config.and_then(|config| config.address);
        let wish = mode_config::lease(&said).address;
        let pending = Pending { said, reply_to };
        match pool.filter(|_| fixed.is_none() && self.common.leased.is_none()) {
            Some(pool) => {
                self.pending = Some(pending);
                let sa = self.common.id;
                cx.out.push(Action::LeaseWanted { sa, pool, wish });
            }
            None => {
                self.common.leased = fixed.or(self.common.leased);
                self.answer_lease(pending, cx);
            }
        }
        Ok(())
    }

    /// Responder: continues with the pool's answer; `None` if it is empty.
    pub(crate) fn leased(&mut self, address: Option<IpAddr>, cx: &mut Context<'_>) {
        if let Some(pending) = self.pending.take() {
            self.common.leased = address;
            self.answer_lease(pending, cx);
        }
    }

    fn answer_lease(&mut self, pending: Pending, cx: &mut Context<'_>) {
        let mut reply = match self.mode_config(true) {
            Some(config) => {
                let system = &cx.core.settings.dns;
                mode_config::reply(config, self.common.leased, system, Version::One)
            }
            None => Configuration {
                kind: REPLY,
                identifier: 0,
                attributes: Vec::new(),
            },
        };
        reply.identifier = pending.said.identifier;
        self.reply(pending.reply_to, &reply, cx);
    }

    /// Initiator: starts quick modes for the networks of a lease that have no pair, by the identity's first
    /// template.
    pub(crate) fn open_leased(&mut self, cx: &mut Context<'_>) {
        if self.common.state != State::Established {
            return;
        }
        for (template, policy) in self.leased_policies(cx) {
            let selectors = (policy.source, policy.destination);
            let alike = [selectors];
            let pairs = &cx.core.children;
            let traffic = self.common.traffic(&alike, true, policy.mode);
            let has = pairs.of_traffic(traffic).count() > 0;
            let asks = self.quicks.values().any(|quick| quick.asks_for(selectors));
            if !has && !asks && self.quicks.len() < super::MAX_QUICK_MODES {
                self.begin_quick_for(template, policy, true, None, cx);
            }
        }
    }

    fn leased_policies(&self, cx: &Context<'_>) -> Vec<(PolicyId, Policy)> {
        let identity = self.common.peer.identities.get(self.common.identity);
        let asks = identity.filter(|identity| {
            let generates = identity.generate_policy != GeneratePolicy::No;
            generates && self.common.side == Side::Initiator && self.mode_config(false).is_some()
        });
        let lease = self.lease.as_ref();
        let given = lease.and_then(|lease| Some((lease.address?, &lease.subnets)));
        let (Some(identity), Some((address, behind))) = (asks, given) else {
            return Vec::new();
        };
        let everything = [any(address)];
        let nets = if behind.is_empty() {
            &everything[..]
        } else {
            behind
        };
        let nets = nets
            .iter()
            .filter(|net| net.addr().is_ipv4() == address.is_ipv4());
        let allows = |allowed: &Selector, net: &IpNet| {
            allowed.prefix.prefix_len() == 0 || allowed.prefix.contains(net)
        };
        let host = IpNet::from(address);
        nets.filter_map(|net| {
            let mut templates = cx.core.templates(&identity.template_group);
            let (id, template) = templates.find(|(_, template)| {
                allows(&template.source, &host) && allows(&template.destination, net)
            })?;
            let whole = |prefix| Selector { prefix, port: 0 };
            let policy = Policy {
                source: whole(host),
                destination: whole(*net),
                mode: Mode::Tunnel,
                ..(**template).clone()
            };
            Some((id, policy))
        })
        .collect()
    }

    /// Responder: returns true if a peer may use these addresses. A peer with a lease may use the leased
    /// address alone.
    pub(super) fn may_be_at(&self, theirs: &Selector) -> bool {
        let given = self
            .common
            .leased
            .filter(|_| self.mode_config(true).is_some());
        given.is_none_or(|address| theirs.prefix == IpNet::from(address))
    }
}

/// Returns the default prefix of the family.
const fn any(like: IpAddr) -> IpNet {
    match like {
        IpAddr::V4(_) => IpNet::V4(ipnet::Ipv4Net::new_assert(
            core::net::Ipv4Addr::UNSPECIFIED,
            0,
        )),
        IpAddr::V6(_) => IpNet::V6(ipnet::Ipv6Net::new_assert(
            core::net::Ipv6Addr::UNSPECIFIED,
            0,
        )),
    }
}
