//! Narrowing of a peer's traffic selectors by policies and templates.

use core::net::IpAddr;

use ipnet::IpNet;

use super::Sa;
use super::child::Allowed;
use super::traffic::{Traffic, generate, is_within, narrow, range};
use crate::config::{GeneratePolicy, Mode, Selector};
use crate::engine::core::Context;
use crate::message::Range;

impl Sa {
    /// Returns the permitted part of a peer's selectors, with its policy or template.
    pub(super) fn allowed(
        &self,
        own: &[Range],
        theirs: &[Range],
        transport: bool,
        cx: &Context<'_>,
    ) -> Option<Allowed> {
        let modes: &[Mode] = if transport {
            &[Mode::Transport, Mode::Tunnel]
        } else {
            &[Mode::Tunnel]
        };
        let policies = cx.core.policies_of(self.common.peer_id);
        let one = |(source, destination, payload): Traffic| (vec![(source, destination)], payload);
        for mode in modes {
            let of_mode = policies.iter().filter(|(_, policy)| policy.mode == *mode);
            for (id, policy) in of_mode {
                if let Some(traffic) = narrow(policy, own, theirs) {
                    let (selectors, payload) = one(traffic);
                    return Some(Allowed {
                        policy_id: *id,
                        policy: policy.clone(),
                        generated: false,
                        mode: *mode,
                        selectors,
                        payload,
                    });
                }
            }
        }
        self.allowed_by_template(own, theirs, modes[0], cx)
    }

    /// Returns what templates permit, if the identity generates policies.
    fn allowed_by_template(
        &self,
        own: &[Range],
        theirs: &[Range],
        mode: Mode,
        cx: &Context<'_>,
    ) -> Option<Allowed> {
        let identity = self.common.peer.identities.get(self.common.identity)?;
        if identity.generate_policy == GeneratePolicy::No {
            return None;
        }
        // A client with a lease uses the leased address and reaches the split networks.
        let config = identity
            .mode_config
            .as_ref()
            .filter(|config| config.responder);
        let leased = self.common.leased.filter(|_| config.is_some());
        let host = leased.map(|address| range(&host(address), 0));
        let theirs: Vec<Range> = match host {
            Some(host) if theirs.iter().any(|asked| is_within(&host, asked)) => vec![host],
            _ => theirs.to_vec(),
        };
        let nets = config.map_or(&[][..], |config| &config.split_include);
        let nets = nets.iter().map(|net| {
            range(
                &Selector {
                    prefix: *net,
                    port: 0,
                },
                0,
            )
        });
        let nets: Vec<_> = nets
            .filter(|net| own.iter().any(|asked| is_within(net, asked)))
            .collect();
        let lists: Vec<Vec<Range>> = if nets.is_empty() {
            vec![own.to_vec()]
        } else {
            nets.into_iter().map(|net| vec![net]).collect()
        };
        cx.core
            .templates(&identity.template_group)
            .find_map(|(id, template)| {
                let traffic = lists
                    .iter()
                    .filter_map(|own| generate(template, identity.generate_policy, own, &theirs));
                let traffic: Vec<_> = traffic.collect();
                let (.., payload) = *traffic.first()?;
                Some(Allowed {
                    policy_id: id,
                    policy: template.clone(),
                    generated: true,
                    mode,
                    selectors: traffic
                        .into_iter()
                        .map(|(source, destination, _)| (source, destination))
                        .collect(),
                    payload,
                })
            })
    }
}

fn host(address: IpAddr) -> Selector {
    let prefix = IpNet::from(address);
    Selector { prefix, port: 0 }
}
