//! The page around a report: head, style, script, sections.
//! Refuses the network: the policy in its head allows the script written here, by its hash, and nothing else.

use crate::report::MARK;
use crate::report::words::html;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helenus_model::result::tables::Grid;
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("page.css");
/// Style of what only the site has.
pub(super) const SITE_STYLE: &str = include_str!("site.css");
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("flame.js"));

fn hash(script: &str) -> String {
    format!(
        "'sha256-{}'",
        STANDARD.encode(Sha256::digest(script.as_bytes()))
    )
}

/// Characters of a headline from which on it is set smaller.
const LONG_HEADLINE: usize = 160;

/// A part of the page.
pub(super) struct Section {
    /// Its anchor: letters only.
    pub(super) id: &'static str,
    /// Its title.
    pub(super) title: &'static str,
    /// Its content, as HTML.
    pub(super) body: String,
    /// Whether it is there on demand only.
    pub(super) is_folded: bool,
}

impl Section {
    /// A part that every reader sees.
    pub(super) fn open(id: &'static str, title: &'static str, body: String) -> Self {
        let is_folded = false;
        Self {
            id,
            title,
            body,
            is_folded,
        }
    }

    /// A part on demand.
    pub(super) fn folded(id: &'static str, title: &'static str, body: String) -> Self {
        let is_folded = true;
        Self {
            id,
            title,
            body,
            is_folded,
        }
    }

    fn render(&self) -> String {
        let (id, title, body) = (self.id, html(self.title), &self.body);
        if !self.is_folded {
            return format!("<section id=\"{id}\"><h2>{title}</h2>\n{body}</section>\n");
        }
        let holds = match body.matches("<figure").count() {
            0 => String::new(),
            1 => " <small>1 chart</small>".to_owned(),
            n => format!(" <small>{n} charts</small>"),
        };
        format!(
            "<details class=\"part\"><summary><h2>{title}</h2>{holds}</summary>\n<section id=\"{id}\">{body}</section></details>\n"
        )
    }
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
    let shown = || sections.iter().filter(|s| !s.body.is_empty());
    let links: String = shown()
        .map(|s| format!("<a href=\"#{}\">{}</a>", s.id, html(s.title)))
        .collect();
    let bodies: String = shown().map(Section::render).collect();
    let unfold = match shown().any(|s| s.is_folded) {
        true => "<button id=\"unfold\" type=\"button\">open all</button>",
        false => "",
    };
    let facts: String = head
        .facts
        .iter()
        .map(|f| format!("<li>{}</li>", html(f)))
        .collect();
    let body = format!(
        "<header><div class=\"top\"><p class=\"kicker\">{kicker}</p>\
         <button id=\"theme\" type=\"button\" aria-label=\"light or dark\">light / dark</button></div>\n\
         <h1{long}>{headline}</h1>\n<p><span class=\"badge {style}\">{badge}</span></p>\n<ul class=\"facts\">{facts}</ul>\n\
         </header>\n<main>\n{lead}<nav>{links}{unfold}</nav>\n{bodies}</main>\n\
         <footer>Made by Helenus. This file needs no network and asks for none. \
         Apache Cassandra is a trademark of the Apache Software Foundation.</footer>",
        kicker = html(&head.kicker),
        long = if head.headline.chars().count() > LONG_HEADLINE {
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
    );
    let generator = format!("<meta name=\"generator\" content=\"{MARK}\">\n");
    document(&generator, "'none'", (&html(&head.title), STYLE), &body)
}

/// An HTML document: what stands first in its head, where its forms may go, its title and style, and its body.
fn document(first: &str, forms: &str, (title, style): (&str, &str), body: &str) -> String {
    let policy = format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; base-uri 'none'; form-action {forms}",
        hash(SCRIPT)
    );
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{first}\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n\
         {body}\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// A page of the site: its navigation, a title, and a body that is HTML. Its forms go to the site itself.
pub(super) fn site(title: &str, nav: &str, body: &str) -> String {
    let title = html(title);
    let body = format!(
        "{nav}<header><div class=\"top\"><h1>{title}</h1>\
         <button id=\"theme\" type=\"button\" aria-label=\"light or dark\">light / dark</button></div></header>\n\
         <main>\n{body}</main>\n<footer>Helenus shows the history and the clusters of this machine. \
         Apache Cassandra is a trademark of the Apache Software Foundation.</footer>"
    );
    let style = format!("{STYLE}{SITE_STYLE}");
    document("", "'self'", (&format!("{title} – Helenus"), &style), &body)
}

/// Bytes from which on a cell may have several lines.
const LONG: usize = 80;

/// A table of texts; empty without rows. A head of numbers begins with `>`. Columns in which no row has anything are
/// left out.
pub(super) fn table<H: AsRef<str>>(heads: &[H], rows: &[Vec<String>]) -> String {
    let has = |place: &usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(*place));
        cells.any(|cell| !matches!(cell.as_str(), "" | "–"))
    };
    let shown: Vec<usize> = (0..heads.len()).filter(has).collect();
    let cell = |tag: &str, place: usize, words: &str| {
        let class = match heads[place].as_ref().starts_with('>') {
            true => " class=\"n\"",
            false if words.len() > LONG || words.contains('\n') => " class=\"long\"",
            false => "",
        };
        format!("<{tag}{class}>{}</{tag}>", html(words))
    };
    let head = |place: &usize| cell("th", *place, heads[*place].as_ref().trim_start_matches('>'));
    let row = |row: &Vec<String>| {
        let cells = shown.iter().map(|place| cell("td", *place, &row[*place]));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    if shown.is_empty() {
        return String::new();
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"wide\"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>\n",
        shown.iter().map(head).collect::<String>(),
        rows.iter().map(row).collect::<String>()
    )
}

/// A table that the terminal has, too.
pub(super) fn grid(of: &Grid) -> String {
    table(&of.heads, &of.rows)
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
