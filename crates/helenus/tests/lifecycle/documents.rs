//! Console blocks of the documents, run as they are written, with a stand-in for Cassandra.
//! Refuses to compare what is printed: exit codes only.

use crate::lab::{TestLab, words};

/// Pages whose blocks marked `console` are run, from the first to the last in one lab, each with what its nodes do: a
/// stand-in that serves rows is a cluster of one node.
const PAGES: [(&str, &str); 4] = [
    ("getting-started", "ready"),
    ("clusters", "ready"),
    ("faults", "ready"),
    ("history", "serve"),
];

/// Commands that ask nodes for more than readiness does: stand-ins of several nodes do not answer them.
const ASKS: [&str; 2] = ["cql", "status"];

/// The commands of a page: those of its blocks marked `console`, and those that a comment names as needed before.
fn commands(page: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut is_console = false;
    for line in page.replace("\\\n", " ").lines() {
        if line.starts_with("```") {
            is_console = !is_console && line == "```console";
        }
        let typed = line.strip_prefix("$ ").filter(|_| is_console);
        let before = line.strip_prefix("<!-- console: ");
        let before = before.and_then(|rest| rest.strip_suffix(" -->"));
        if let Some(command) = typed.or(before) {
            let command = command.strip_prefix("helenus ");
            found.push(words(command.expect("a command of helenus")));
        }
    }
    found
}

#[test]
fn console_blocks_of_the_documents_run() {
    let mut count = 0;
    for (page, behaviour) in PAGES {
        let path = format!("{}/../../docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
        let text = fs_err::read_to_string(path).expect("a page");
        let lab = TestLab::fake(behaviour);
        for command in commands(&text) {
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            match command[0] {
                asks if ASKS.contains(&asks) => continue,
                "bench" => drop(lab.measured(&command)),
                _ => drop(lab.done(&command)),
            }
            count += 1;
        }
    }
    assert!(count > 12, "{count} commands");
}
