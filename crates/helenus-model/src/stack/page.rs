//! The dashboard: one page that Prometheus serves as a console, with the panels of the dashboard for Grafana.
//! Refuses anything from the network: it asks the Prometheus that serves it, and nobody else.

use super::{Part, Stack};
use crate::metrics::panels;

/// Its file in the folder of consoles.
pub(super) const FILE: &str = "helenus.html";

/// The page as a template of Prometheus: what is scraped is filled in there, panels are drawn in the browser.
pub(super) fn console(stack: &Stack) -> String {
    let links = stack.request.parts.iter().filter_map(|part| {
        let url = stack.url(*part)?;
        Some(format!("<a href=\"{url}\">{}</a>", part.as_str()))
    });
    let links: Vec<String> = links.collect();
    // Two opening braces would begin an action of the template.
    let panels = panels().to_string().replace("{{", "<").replace("}}", ">");
    let address = stack
        .at(Part::Prometheus)
        .map_or(String::new(), |at| at.to_string());
    TEMPLATE
        .replace("@CLUSTER@", &stack.cluster)
        .replace("@GATEWAY@", &stack.request.gateway.to_string())
        .replace("@ADDRESS@", &address)
        .replace("@LINKS@", &links.join(" · "))
        .replace("@PANELS@", &panels)
}

const TEMPLATE: &str = include_str!("console.html");
