//! `helenus metrics`: the nodes of a cluster for Prometheus, its configuration, and a dashboard; and the address of `--metrics`.

use crate::cli::metrics::Metrics;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::state::ClusterState;
use helenus_lab::BenchRequest;
use helenus_lab::bench::Where;
use helenus_lab::metrics::{Endpoint, PATH, board, once};
use helenus_model::format::Format;
use helenus_model::metrics::{Board, grafana, scrape};
use serde::Serialize;
use std::net::SocketAddr;

/// What `metrics` prints.
#[derive(Serialize)]
struct Printed {
    format: Format,
    /// Where it is served, until this command ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The page, the configuration or the dashboard.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Answers for Printed {
    fn answer(&self) -> String {
        match &self.url {
            Some(url) => format!("serving {url}"),
            None => "printed".to_owned(),
        }
    }
}

impl Printed {
    fn text(text: String) -> Self {
        Self {
            format: Format::new("metrics", 1),
            url: None,
            text: Some(text),
        }
    }

    fn show(&self, ui: &Ui) {
        ui.result(self, || match (&self.text, &self.url) {
            (Some(text), _) => text.clone(),
            (None, url) => format!(
                "serving {}; Ctrl-C ends it\n",
                url.as_deref().unwrap_or_default()
            ),
        });
    }
}

pub(crate) fn run(flags: &Metrics, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if flags.scrape {
        Printed::text(scrape(&[flags.listen.to_string()])).show(ui);
        return Ok(0);
    }
    if flags.dashboard {
        let text = serde_json::to_string_pretty(&grafana())?;
        Printed::text(text + "\n").show(ui);
        return Ok(0);
    }
    let state = context.clusters.resolve(flags.cluster.as_deref())?;
    if flags.once {
        Printed::text(once(&state)?).show(ui);
        return Ok(0);
    }
    let endpoint = opened(flags.listen, board(&state))?;
    Printed {
        format: Format::new("metrics", 1),
        url: Some(url(endpoint.at())),
        text: None,
    }
    .show(ui);
    endpoint.watch(&state, &context.cancel)?;
    Ok(0)
}

/// The address of `--metrics`, served from now on.
pub(crate) fn of_run(
    at: Option<SocketAddr>,
    request: &BenchRequest,
    context: &Context,
    ui: &Ui,
) -> Result<Option<Endpoint>, CommandError> {
    let Some(at) = at else { return Ok(None) };
    let known = |name: &str| -> Option<ClusterState> { context.clusters.load(name).ok() };
    let board = match &request.place {
        Where::Cluster(name) => {
            known(name).map_or_else(|| Board::new(name, []), |state| board(&state))
        }
        Where::Ephemeral(up) => Board::new(&up.spec.name, []),
        Where::Hosts { .. } | Where::Kube { .. } => Board::new("", []),
    };
    let endpoint = opened(at, board)?;
    ui.note(&format!("metrics: {}", url(endpoint.at())));
    Ok(Some(endpoint))
}

fn opened(at: SocketAddr, board: Board) -> Result<Endpoint, CommandError> {
    Endpoint::open(at, board).map_err(|e| {
        CommandError::new(code::ENVIRONMENT, format!("cannot serve {at}: {e}"))
            .hint("name another port, or 127.0.0.1:0 for a free one, which is printed".to_owned())
    })
}

fn url(at: SocketAddr) -> String {
    format!("http://{at}{PATH}")
}
