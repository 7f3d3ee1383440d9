//! `helenus exec`: a program where a client of a data centre, or a node, stands.
//! Refuses to stay in between: it becomes the program.

use crate::cli::topology::Exec;
use crate::commands::env;
use crate::error::{CommandError, code};
use helenus_cluster::context::Context;
use helenus_cluster::net::client::Keeper;
use helenus_cluster::reach;
use helenus_cluster::state::ClusterState;
use helenus_model::network::client_of;
use helenus_model::topology::Target;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

pub(crate) fn run(flags: &Exec, context: &Context) -> Result<u8, CommandError> {
    let target = Target::parse(&flags.target);
    let state = context.clusters.load(&target.cluster)?;
    let space = space(&state, target.node.as_deref())?;
    if state.plan.network.is_some() {
        // A missing network is reported here, in words, and not by the process that would enter it.
        let folder = Path::new(&state.plan.folder);
        let _there = Keeper::call(folder)?;
    }
    let (program, arguments) = flags
        .command
        .split_first()
        .ok_or_else(|| CommandError::new(code::USAGE, "which program?"))?;
    let mut command = reach::command(&state, &space, program)?;
    let variables = env::variables(&state, target.node.as_deref())?;
    if let Some((_, bin)) = variables.iter().find(|(name, _)| *name == "HELENUS_BIN") {
        // The cluster's own nodetool and cqlsh come first, as in the shell of `env`.
        let path = context.env.var("PATH").unwrap_or_default();
        let folders = std::iter::once(bin.into()).chain(std::env::split_paths(path));
        let path = std::env::join_paths(folders.filter(|f: &PathBuf| !f.as_os_str().is_empty()));
        command.env("PATH", path.unwrap_or_else(|_| bin.into()));
    }
    let error = command.args(arguments).envs(variables).exec();
    let failure = CommandError::of(code::USAGE, &error).within(&program.to_string_lossy());
    let is_flag = program.to_string_lossy().starts_with('-');
    Err(failure.hint(is_flag.then(|| {
        let cluster = &target.cluster;
        format!("the program comes after NAME; a data centre or a node is part of the name: {cluster}/DC, {cluster}/node1")
    })))
}

/// The namespace of a data centre's clients or of a node.
fn space(state: &ClusterState, named: Option<&str>) -> Result<String, CommandError> {
    let mut known: Vec<String> = Vec::new();
    for node in &state.plan.nodes {
        if !known.contains(&node.data_center) {
            known.push(node.data_center.clone());
        }
    }
    let Some(named) = named else {
        return Ok(client_of(&known[0]));
    };
    if known.iter().any(|dc| dc == named) {
        return Ok(client_of(named));
    }
    known.extend(state.plan.nodes.iter().map(|n| n.name.clone()));
    if known.iter().any(|name| name == named) {
        return Ok(named.to_owned());
    }
    let what = format!(
        "cluster {} has no data centre and no node named {named}",
        state.plan.name
    );
    Err(CommandError::new(code::USAGE, what)
        .hint(helenus_model::topology::name_hint(named, &known)))
}
