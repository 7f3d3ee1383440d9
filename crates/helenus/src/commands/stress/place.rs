//! Where a stress line runs: hosts of the line, a cluster by name, or the only one that runs.
//! Refuses Java's key stores.

use crate::cli::on::On;
use crate::cli::stress::Stress as Flags;
use crate::commands::bench::access;
use crate::commands::place::{self, Login, Place};
use crate::error::{CommandError, code};
use helenus_cluster::context::Context;
use helenus_cql::input;
use helenus_model::stress::Stress;
use std::path::Path;

pub(super) fn place(
    stress: &Stress,
    flags: &Flags,
    context: &Context,
) -> Result<Place, CommandError> {
    let hosts = hosts(stress)?;
    match &flags.on {
        Some(On::Kube(name)) => return place::kube(name, login(stress)?, context),
        Some(On::Hosts(name)) => {
            return place::on_hosts(name, login(stress)?, context);
        }
        None => {}
    }
    if hosts.is_empty() || flags.cluster.is_some() {
        return match &flags.cluster {
            Some(name) => place::cluster(name, context),
            None => place::cluster(&place::the_one(context, "-node")?, context),
        };
    }
    if stress.transport.truststore.is_some() || stress.transport.keystore.is_some() {
        let text = "-transport names Java key stores, which cannot be read here";
        return Err(CommandError::new(code::BAR, text).hint(
            "your own clusters need none: leave -node and -transport out; for others use `helenus run --hosts … --tls-ca FILE`"
                .to_owned(),
        ));
    }
    let named = flags.i_may_write_to.as_deref();
    place::hosts(
        &hosts,
        stress.port.native.unwrap_or(9042),
        named,
        login(stress)?,
        context,
    )
}

/// The hosts that the line or its file names.
pub(super) fn hosts(stress: &Stress) -> Result<Vec<String>, CommandError> {
    let Some(file) = &stress.node.file else {
        return Ok(stress.node.hosts.clone());
    };
    let text = input::text(Path::new(file))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

/// Who logs in: `-mode user= password=`, or a file.
fn login(stress: &Stress) -> Result<Option<Login>, CommandError> {
    if let Some(path) = &stress.credentials_file {
        let text = access::whole_private(path)?;
        let value = |key: &str| {
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let found = lines
                .map(|(k, v)| (k.trim(), v.trim()))
                .find(|(k, _)| *k == key);
            found.map(|(_, value)| value.to_owned())
        };
        return match (value("cql.username"), value("cql.password")) {
            (Some(user), Some(password)) => Ok(Some(Login { user, password })),
            _ => Err(CommandError::new(
                code::BAR,
                format!("{path} lacks cql.username= or cql.password="),
            )),
        };
    }
    let user = stress.mode.user.clone();
    let password = stress.mode.password.as_ref();
    match (user, password) {
        (Some(user), Some(password)) => Ok(Some(Login {
            user,
            password: password.reveal().to_owned(),
        })),
        (None, None) => Ok(None),
        _ => Err(CommandError::new(
            code::BAR,
            "-mode: user= and password= go together",
        )),
    }
}
