//! The flags of `metrics`, and the address of `--metrics`.
//! Refuses to do anything with them.

use clap::Args;
use std::net::{Ipv4Addr, SocketAddr};

/// Where nodes are served by default.
const LISTEN: &str = "127.0.0.1:9095";

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus metrics c                      serve the nodes of c until Ctrl-C
  helenus metrics c --once               print the page once
  helenus metrics --scrape > prometheus.yml
  helenus metrics --dashboard > helenus.json
                                         a dashboard that Grafana imports
  helenus run standard1 --cluster c --metrics 9096
                                         a run serves itself and its nodes")]
pub(crate) struct Metrics {
    /// The cluster [default: the only one]
    #[arg(value_name = "NAME", env = "HELENUS_CLUSTER")]
    pub(crate) cluster: Option<String>,
    /// Address to serve at: a port, or an address and a port
    #[arg(long, value_name = "ADDRESS", default_value = LISTEN, value_parser = parse_address)]
    pub(crate) listen: SocketAddr,
    /// Print the page once, serve nothing
    #[arg(long, conflicts_with_all = ["scrape", "dashboard"])]
    pub(crate) once: bool,
    /// Print the configuration with which Prometheus reads the address
    #[arg(long, conflicts_with = "dashboard")]
    pub(crate) scrape: bool,
    /// Print a dashboard for Grafana
    #[arg(long)]
    pub(crate) dashboard: bool,
}

/// `9095` on loopback, or an address with its port.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        format!("{text:?}: write a port, such as 9095, or an address and a port, such as {LISTEN}")
    })
}
