//! JMX of all nodes for Reaper, which knows one password for all.
//! Refuses to close what somebody has opened with another password.

use super::{StackError, folder};
use crate::attach;
use crate::error::ClusterError;
use crate::nodetool;
use crate::observe;
use crate::socket::listens;
use crate::state::ClusterState;
use fs_err as fs;
use std::net::SocketAddr;
use std::path::Path;

/// The password, readable by its owner only.
const PASSWORD: &str = "jmx-password";

/// Opens JMX of each node that runs, with the stack's password, which is returned.
pub(super) fn open_all(state: &ClusterState) -> Result<String, ClusterError> {
    let password = password(Path::new(&state.plan.folder))?;
    for (name, pid) in observe::pids(state) {
        let plan = state.node(name)?;
        let folder = Path::new(&plan.folder);
        if attach::jmx_password(folder).as_deref() != Some(&*password) {
            let at = SocketAddr::from((plan.address, state.plan.ports.jmx));
            if pid.is_some_and(|pid| listens(pid, at)) {
                return Err(StackError::OtherPassword {
                    cluster: state.plan.name.clone(),
                    node: name.to_owned(),
                }
                .into());
            }
            attach::write_login(folder, &password).map_err(StackError::io("the node's folder"))?;
        }
        if pid.is_some() {
            nodetool::open(state, name)?;
        }
    }
    Ok(password)
}

/// The first running node whose JMX is closed.
pub(super) fn closed(state: &ClusterState) -> Option<String> {
    let running = observe::pids(state).into_iter();
    let mut running = running.filter_map(|(name, pid)| Some((name, pid?)));
    running.find_map(|(name, pid)| {
        let plan = state.node(name).ok()?;
        let at = SocketAddr::from((plan.address, state.plan.ports.jmx));
        (!listens(pid, at)).then(|| name.to_owned())
    })
}

fn password(cluster: &Path) -> Result<String, ClusterError> {
    let file = folder(cluster).join(PASSWORD);
    if let Ok(known) = fs::read_to_string(&file) {
        return Ok(known.trim().to_owned());
    }
    let make = || {
        let fresh = attach::random_password()?;
        attach::write_private(&file, &format!("{fresh}\n"))?;
        Ok(fresh)
    };
    Ok(make().map_err(StackError::io("the stack's folder"))?)
}
