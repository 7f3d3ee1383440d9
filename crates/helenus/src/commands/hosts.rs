//! `helenus hosts`: clusters on hosts of your own, by the tools that people use there.
//! Refuses to log in anywhere itself: Ansible does.

mod act;
mod inside;
mod render;
mod view;

use crate::cli::hosts::{Hosts, HostsWhat};
use crate::commands::up::Watcher;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::event::Event;
use helenus_cluster::hosts::{Ansible, HostsClusters, HostsState, access};
use helenus_cluster::kept::KeptLock;
use helenus_cluster::reach;
use helenus_lab::bench::Where;
use helenus_lab::target::HostAccess;
use helenus_model::access::Access;
use helenus_model::hosts::{HostsPlan, PlannedNode};
use helenus_model::topology::name_hint;
use std::net::SocketAddr;
use std::path::PathBuf;

pub(crate) fn run(flags: &Hosts, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.what {
        HostsWhat::Up(flags) => act::up(flags, context, ui),
        HostsWhat::Wait(flags) => act::wait(flags, context, ui),
        HostsWhat::Status(flags) => view::run(flags, context, ui),
        HostsWhat::Logs(flags) => inside::logs(flags, context, ui),
        HostsWhat::Nodetool(flags) => inside::nodetool(flags, context, ui),
        HostsWhat::Restart(flags) => act::restart(flags, context, ui),
        HostsWhat::Rm(flags) => act::rm(flags, context, ui),
        HostsWhat::Render(flags) => render::run(flags, context, ui),
    }
}

/// The clusters of this user on hosts.
fn clusters(context: &Context) -> HostsClusters {
    HostsClusters::of(&context.paths.state)
}

/// The cluster of this name, as it is known and as it was rendered.
fn known(name: &str, context: &Context) -> Result<(HostsState, HostsPlan), CommandError> {
    let state = clusters(context).load(name)?;
    let plan = state.rendered()?;
    Ok((state, plan))
}

/// The same for a verb that changes it: no other one does while this one has the lock.
fn held(name: &str, context: &Context) -> Result<(KeptLock, HostsState, HostsPlan), CommandError> {
    let (lock, state) = clusters(context).hold(name)?;
    let plan = state.rendered()?;
    Ok((lock, state, plan))
}

/// A cluster on hosts as the place of a run. What is not given to get in there is taken from its folder.
pub(crate) fn place(
    name: &str,
    given: HostAccess,
    context: &Context,
) -> Result<Where, CommandError> {
    let (state, plan) = known(name, context)?;
    let port = state.plan.ports.cql;
    let addresses = plan.nodes.iter().filter_map(|node| node.address);
    let kept = access(&clusters(context), &state);
    let access = Access {
        credentials: given.access.credentials.or(kept.credentials),
        tls: given.access.tls.or(kept.tls),
    };
    let options = reach::options(&access, given.options.timeout);
    let options = options.map_err(|e| CommandError::of(code::ENVIRONMENT, &e))?;
    Ok(Where::Hosts {
        ours: Some(name.to_owned()),
        endpoints: addresses
            .map(|address| SocketAddr::from((address, port)))
            .collect(),
        named: None,
        given: Box::new(HostAccess { options, access }),
    })
}

/// The Ansible of this machine, for the files of a cluster.
fn ansible(plan: &HostsPlan, context: &Context) -> Result<Ansible, CommandError> {
    let folder = clusters(context).folder(&plan.name);
    Ok(Ansible::find(&folder)?)
}

/// The folder with the release's jars, fetched where it is not there.
fn jars(plan: &HostsPlan, context: &Context, ui: &Ui) -> Result<PathBuf, CommandError> {
    let mut watcher = Watcher::new(ui, "", 0);
    let mut see = |event| watcher.see(&Event::Store(event));
    Ok(helenus_cluster::hosts::jars(
        context,
        &plan.release,
        &mut see,
    )?)
}

/// The node that `NAME[/NODE]` means: the first where none is named.
fn node<'a>(plan: &'a HostsPlan, named: Option<&str>) -> Result<&'a PlannedNode, CommandError> {
    let Some(named) = named else {
        let first = plan.nodes.first();
        return first.ok_or_else(|| CommandError::new(code::USAGE, "the cluster has no node"));
    };
    // `node2` means the same as `demo-node2`.
    let whole = format!("{}-{named}", plan.name);
    let found = plan
        .nodes
        .iter()
        .find(|node| node.name == named || node.name == whole);
    found.ok_or_else(|| {
        let known: Vec<String> = plan.nodes.iter().map(|node| node.name.clone()).collect();
        CommandError::new(code::USAGE, format!("{} has no node {named}", plan.name))
            .hint(name_hint(named, &known))
    })
}

/// Cluster and node of `NAME[/NODE]`.
fn target(text: &str) -> (&str, Option<&str>) {
    match text.split_once('/') {
        Some((name, node)) => (name, Some(node)),
        None => (text, None),
    }
}
