//! The page around a report: head, style, script, sections.
//! Refuses the network: the policy in its head allows the scripts written here, by their hashes, and nothing else.

use crate::report::MARK;
use crate::report::words::html;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Plotly's script with its hash, cut out of the crate's offline sources once: of its two scripts the first.
static PLOTLY: LazyLock<(String, String)> = LazyLock::new(|| {
    let sources = plotly::Plot::offline_js_sources();
    let script = sources
        .split_once('>')
        .and_then(|(_, rest)| rest.split_once("</script>"));
    let script = script.map_or_else(String::new, |(script, _)| script.to_owned());
    let hash = hash(&script);
    (script, hash)
});

fn hash(script: &str) -> String {
    format!(
        "'sha256-{}'",
        STANDARD.encode(Sha256::digest(script.as_bytes()))
    )
}

/// Characters of a headline from which on it is set smaller.
const LONG: usize = 160;

/// A part of the page.
pub(super) struct Section {
    /// Its anchor: letters only.
    pub(super) id: &'static str,
    /// Its title.
    pub(super) title: &'static str,
    /// Its content, as HTML.
    pub(super) body: String,
}

/// What is above the sections.
pub(super) struct Head {
    /// For the browser's tab; not escaped.
    pub(super) title: String,
    /// What is reported, such as `run r12`; not escaped.
    pub(super) kicker: String,
    /// The answer in one sentence; not escaped.
    pub(super) headline: String,
    /// The badge's words, and the name of its style.
    pub(super) badge: (String, &'static str),
    /// Facts below the answer; not escaped.
    pub(super) facts: Vec<String>,
}

/// The whole page. Sections without a body are left out.
pub(super) fn render(head: &Head, lead: &str, sections: &[Section]) -> String {
    let (plotly, plotly_hash) = &*PLOTLY;
    let policy = format!(
        "default-src 'none'; script-src {plotly_hash} {}; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'",
        hash(SCRIPT)
    );
    let shown = || sections.iter().filter(|s| !s.body.is_empty());
    let links: String = shown()
        .map(|s| format!("<a href=\"#{}\">{}</a>", s.id, html(s.title)))
        .collect();
    let bodies: String = shown()
        .map(|s| {
            format!(
                "<section id=\"{}\"><h2>{}</h2>\n{}</section>\n",
                s.id,
                html(s.title),
                s.body
            )
        })
        .collect();
    let facts: String = head
        .facts
        .iter()
        .map(|f| format!("<li>{}</li>", html(f)))
        .collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"generator\" content=\"{MARK}\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header><div class=\"top\"><p class=\"kicker\">{kicker}</p>\
         <button id=\"theme\" type=\"button\" aria-label=\"light or dark\">light / dark</button></div>\n\
         <h1{long}>{headline}</h1>\n<p><span class=\"badge {style}\">{badge}</span></p>\n<ul class=\"facts\">{facts}</ul>\n\
         </header>\n<main>\n{lead}<nav>{links}</nav>\n{bodies}</main>\n\
         <footer>Made by Helenus. This file needs no network and asks for none. Charts: plotly.js (MIT). \
         Apache Cassandra is a trademark of the Apache Software Foundation.</footer>\n\
         <noscript><p class=\"note\">The charts need JavaScript; everything else is here without it.</p></noscript>\n\
         <script>{plotly}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        title = html(&head.title),
        kicker = html(&head.kicker),
        long = if head.headline.chars().count() > LONG {
            " class=\"long\""
        } else {
            ""
        },
        // A number and its unit stay on one line.
        headline = html(
            &head
                .headline
                .replace(" %", "\u{a0}%")
                .replace(" ms", "\u{a0}ms")
        ),
        style = head.badge.1,
        badge = html(&head.badge.0),
    )
}

/// A folding section.
pub(super) fn fold(title: &str, body: &str) -> String {
    format!(
        "<details><summary>{}</summary>{body}</details>\n",
        html(title)
    )
}

/// A text as it was, in a frame that scrolls.
pub(super) fn verbatim(text: &str) -> String {
    format!("<pre tabindex=\"0\">{}</pre>\n", html(text))
}

/// A table of facts.
pub(super) fn pairs(rows: &[(&str, String)]) -> String {
    let rows: String = rows
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| {
            format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                html(name),
                html(value)
            )
        })
        .collect();
    format!("<div class=\"scroll\"><table class=\"pairs\"><tbody>{rows}</tbody></table></div>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plotly_s_script_is_there_and_nothing_of_the_other() {
        let (script, _) = &*PLOTLY;
        assert!(script.contains("plotly.js v") && script.len() > 1_000_000);
        assert!(script.len() < 5_000_000 && !script.contains("</script"));
    }
}
