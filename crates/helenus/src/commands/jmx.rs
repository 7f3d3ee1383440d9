//! `helenus jmx`: a node's JMX opened, and how a client gets in.
//! Refuses to print the password, only where it stands.

use crate::cli::Jmx;
use crate::error::CommandError;
use crate::ui::{Answers, Ui};
use helenus_cluster::attach::JMX_USER;
use helenus_cluster::context::Context;
use helenus_cluster::nodetool;
use helenus_model::format::Format;
use serde::Serialize;

#[derive(Serialize)]
struct Opened {
    format: Format,
    /// The cluster.
    cluster: String,
    /// The node that is opened.
    node: String,
    /// URL for a JMX client.
    url: String,
    /// User name.
    user: &'static str,
    /// A file that only its owner can read, with the line `USER PASSWORD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    password_file: Option<String>,
    /// Whether nothing was done.
    dry_run: bool,
}

impl Answers for Opened {
    fn answer(&self) -> String {
        let (node, url) = (&self.node, &self.url);
        match self.dry_run {
            true => format!("{node} would be opened at {url}"),
            false => format!("{node} of {} is open at {url}", self.cluster),
        }
    }
}

pub(crate) fn run(flags: &Jmx, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (state, node) = context.clusters.target(flags.target.as_deref())?;
    let node = state.node_or_first(node.as_deref())?.name.clone();
    let (url, password_file) = if flags.dry_run {
        (nodetool::url(&state, &node)?, None)
    } else {
        let opened = nodetool::open(&state, &node)?;
        let file = opened.jmx.password_file.to_string_lossy().into_owned();
        (opened.url, Some(file))
    };
    let opened = Opened {
        format: Format::new("jmx", 1),
        cluster: state.plan.name.clone(),
        node,
        url,
        user: JMX_USER,
        password_file,
        dry_run: flags.dry_run,
    };
    ui.result(&opened, || text(&opened, state.plan.network.is_some()));
    Ok(0)
}

fn text(opened: &Opened, apart: bool) -> String {
    let Some(file) = &opened.password_file else {
        return format!("{}\nnothing was opened (--dry-run)\n", opened.answer());
    };
    let Opened {
        cluster,
        node,
        url,
        user,
        ..
    } = opened;
    // A cluster with a network of its own is reached from inside it only.
    let within = match apart {
        true => format!("helenus exec {cluster}/{node} -- "),
        false => String::new(),
    };
    format!(
        "url       {url}\nuser      {user}\npassword  the second word in {file}\n\
         connect   {within}jconsole {url}\n\
         \x20         JMX stays open, with this password, until {node} stops\n"
    )
}
