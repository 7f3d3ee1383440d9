//! THE LIST OF WHAT THE FIVE DOCUMENTS ASK, docs/coverage.md: what it names exists, and no line of them is left out.
//! Refuses to judge whether an answer is a good one: a reader does.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The page.
const PAGE: &str = "docs/coverage.md";

/// Where the documents are; by default beside the workspace.
const DOCUMENTS: &str = "HELENUS_MISSION";

/// What a row may end as, in the order of the table of counts.
const STATUSES: [&str; 4] = ["done", "partly", "not yet", "cannot"];

/// The heading of the table of lines that ask for nothing.
const NO_CLAIM: &str = "Lines without a claim";

/// Verbs whose words are another program's: their flags are not judged.
const FOREIGN: [&str; 5] = ["exec", "nodetool", "stress", "nb", "kube nodetool"];

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs_err::canonicalize(here.join("../..")).unwrap()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs_err::read(path).unwrap()).into_owned()
}

#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Lines of a document: `000-L65-69`, or `000-L12b`, where several rows are about one line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Lines {
    document: String,
    first: usize,
    last: usize,
    letter: Option<char>,
}

impl Lines {
    fn read(text: &str) -> Option<Self> {
        let (document, lines) = text.split_once("-L")?;
        let of_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let letter = lines.chars().last().filter(char::is_ascii_lowercase);
        let lines = lines.trim_end_matches(|c: char| Some(c) == letter);
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let whole = document.len() == 3 && [document, first, last].into_iter().all(of_digits);
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        let ordered = 0 < first && first <= last;
        (whole && ordered).then(|| Self {
            document: document.to_owned(),
            first,
            last,
            letter,
        })
    }
}

/// A row of a document's table.
struct Row {
    id: String,
    lines: Lines,
    status: String,
    how: String,
}

/// The page, and what is wrong with its form.
#[derive(Default)]
struct Page {
    rows: Vec<Row>,
    without_claim: Vec<Lines>,
    /// Counts as the page has them: a document or `all`, and its numbers.
    counts: Vec<(String, Vec<usize>)>,
    wrong: Vec<String>,
}

/// Cells of a line of a table; none of its head, and of no other line.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let cells: Vec<&str> = inner.split(" | ").map(str::trim).collect();
    let heads = ["document", "where", "lines"];
    (!heads.contains(&cells[0])).then_some(cells)
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut section = "";
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                section = heading;
            } else if let Some(cells) = cells(line) {
                page.take(section, line, &cells);
            }
        }
        page.judge_order();
        page
    }

    fn take(&mut self, section: &str, line: &str, cells: &[&str]) {
        let id = cells[0];
        match (section, cells) {
            ("", [name, numbers @ ..]) => {
                let name = name.trim_start_matches('[');
                let name = name.get(..3).unwrap_or(name).to_owned();
                let numbers: Option<Vec<usize>> = numbers.iter().map(|n| n.parse().ok()).collect();
                match numbers {
                    Some(numbers) => self.counts.push((name, numbers)),
                    None => self.wrong.push(format!("no counts: {line}")),
                }
            }
            (NO_CLAIM, [_, why]) => match Lines::read(id) {
                Some(lines) if lines.letter.is_none() && !why.is_empty() => {
                    self.without_claim.push(lines);
                }
                _ => self
                    .wrong
                    .push(format!("neither lines nor a reason: {line}")),
            },
            (_, [_, asks, status, how]) => {
                let lines = Lines::read(id).filter(|l| section.starts_with(&l.document));
                let said = STATUSES.contains(status) && !asks.is_empty() && !how.is_empty();
                match lines.filter(|_| said) {
                    Some(lines) => self.rows.push(Row {
                        id: id.to_owned(),
                        lines,
                        status: (*status).to_owned(),
                        how: (*how).to_owned(),
                    }),
                    None => self
                        .wrong
                        .push(format!("no row of \"{section}\" with a status: {line}")),
                }
            }
            _ => self.wrong.push(format!("another number of cells: {line}")),
        }
    }

    fn judge_order(&mut self) {
        let rows: Vec<&Lines> = self.rows.iter().map(|row| &row.lines).collect();
        let without: Vec<&Lines> = self.without_claim.iter().collect();
        for list in [rows, without] {
            for pair in list.windows(2).filter(|pair| pair[0] >= pair[1]) {
                self.wrong
                    .push(format!("out of order, or there before: {:?}", pair[1]));
            }
        }
    }

    /// Documents that have a section.
    fn documents(&self) -> BTreeSet<&str> {
        let rows = self.rows.iter().map(|row| row.lines.document.as_str());
        rows.collect()
    }

    /// The counts that the rows give, in the page's order.
    fn counted(&self) -> Vec<(String, Vec<usize>)> {
        let of = |name: &str| {
            let rows = self
                .rows
                .iter()
                .filter(|row| name == "all" || row.lines.document == name);
            let statuses: Vec<&str> = rows.map(|row| row.status.as_str()).collect();
            let each = STATUSES.iter().map(|status| {
                let of_status = statuses.iter().filter(|s| *s == status);
                of_status.count()
            });
            let numbers = each.chain([statuses.len()]).collect();
            (name.to_owned(), numbers)
        };
        self.documents()
            .into_iter()
            .chain(["all"])
            .map(of)
            .collect()
    }
}

/// Lines of a document that no row has, that are beyond its end, or that have a claim and none at once.
fn left_out(page: &Page, document: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let of = |list: Vec<&Lines>| -> BTreeSet<usize> {
        let own = list.into_iter().filter(|l| l.document == document);
        own.flat_map(|l| l.first..=l.last).collect()
    };
    let claims = of(page.rows.iter().map(|row| &row.lines).collect());
    let without = of(page.without_claim.iter().collect());
    let mut wrong = Vec::new();
    for number in claims.intersection(&without) {
        wrong.push(format!("{document}-L{number} has a row, and no claim"));
    }
    for number in claims.union(&without).filter(|n| **n > lines.len()) {
        wrong.push(format!("{document}-L{number} is beyond its end"));
    }
    for (at, line) in lines.iter().enumerate() {
        let number = at + 1;
        if !line.trim().is_empty() && !claims.contains(&number) && !without.contains(&number) {
            wrong.push(format!("{document}-L{number} is in no row"));
        }
    }
    wrong
}

/// What rows may lean on.
struct Known {
    /// Verbs with their help.
    verbs: BTreeMap<String, String>,
    tests: BTreeSet<String>,
    campaigns: BTreeSet<String>,
    docs: PathBuf,
}

impl Known {
    fn of_the_tree() -> Self {
        let root = root();
        let mut sources = Vec::new();
        for folder in ["crates", "xtask"] {
            rust_files(&root.join(folder), &mut sources);
        }
        let tests = sources.iter().flat_map(|path| tests_of(&read(path)));
        let trials = quoted(&read(&root.join("crates/helenus/tests/real.rs")));
        Self {
            verbs: verbs(&read(&root.join("docs/commands.md"))),
            tests: tests.chain(trials).collect(),
            campaigns: campaigns(&root),
            docs: root.join("docs"),
        }
    }

    /// What a cell names and what does not exist.
    fn judge(&self, how: &str, ids: &BTreeSet<&str>) -> (usize, Vec<String>) {
        let mut wrong = Vec::new();
        let mut references = 0;
        for (at, part) in how.split('`').enumerate() {
            if at % 2 == 1 {
                let judged = self.judge_code(part);
                references += usize::from(judged.is_some());
                wrong.extend(judged.and_then(Result::err));
                continue;
            }
            for target in part.split("](").skip(1) {
                let target = target.split(')').next().unwrap_or_default();
                references += 1;
                wrong.extend(self.judge_link(target).err());
            }
            let words = part.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            for id in words.filter(|word| word.contains("-L")) {
                references += 1;
                if !ids.contains(id) {
                    wrong.push(format!("there is no row {id}"));
                }
            }
        }
        references += usize::from(how.starts_with("the same") || how.starts_with("as before"));
        (references, wrong)
    }

    /// `helenus …`, `test …` or `prove …`; nothing of other code.
    fn judge_code(&self, code: &str) -> Option<Result<(), String>> {
        let words: Vec<&str> = code.split_whitespace().collect();
        let missing = |what: &str| Err(format!("there is no {what}"));
        let is = match words[..] {
            ["helenus", ref words @ ..] => self.judge_command(words),
            ["test", name] if self.tests.contains(name) => Ok(()),
            ["test", name] => missing(&format!("test {name}")),
            ["prove", name] if self.campaigns.contains(name) => Ok(()),
            ["prove", name] => missing(&format!("campaign {name}")),
            ["test" | "prove", ..] => missing(code),
            _ => return None,
        };
        Some(is)
    }

    fn judge_command(&self, words: &[&str]) -> Result<(), String> {
        let own = words.iter().take_while(|word| !word.starts_with('-'));
        let own: Vec<&str> = own.copied().collect();
        let mut named = (1..=own.len()).rev().map(|n| own[..n].join(" "));
        let verb = named
            .find(|verb| self.verbs.contains_key(verb))
            .ok_or_else(|| format!("there is no verb {}", words.join(" ")))?;
        let help = &self.verbs[&verb];
        let length = verb.split(' ').count();
        if help.contains("\nCommands:\n") && own.len() > length && verb != "history" {
            return Err(format!("there is no {}", own.join(" ")));
        }
        let flags = words.iter().filter(|word| word.starts_with("--"));
        let is_of_help = |flag: &str| {
            help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                .any(|word| word == flag)
        };
        let foreign = FOREIGN.contains(&verb.as_str());
        match flags.copied().find(|flag| !foreign && !is_of_help(flag)) {
            Some(flag) => Err(format!("helenus {verb} has no {flag}")),
            None => Ok(()),
        }
    }

    fn judge_link(&self, target: &str) -> Result<(), String> {
        let (file, part) = target.split_once('#').unwrap_or((target, ""));
        let path = self.docs.join(file);
        if !path.is_file() {
            return Err(format!("there is no {target}"));
        }
        let text = read(&path);
        let headings = text.lines().filter(|line| line.starts_with('#'));
        let found = part.is_empty() || headings.map(anchor).any(|one| one == part);
        found
            .then_some(())
            .ok_or_else(|| format!("{file} has no heading {part}"))
    }
}

/// A heading as links name it.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            _ => c.is_alphanumeric().then_some(c),
        })
        .collect()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// Functions below `#[test]`, and the golden files that a macro makes tests of.
fn tests_of(source: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        let letters = text.chars();
        letters
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let after = concat!("#[te", "st]");
    let functions = source.split(after).skip(1).filter_map(|rest| {
        let lines = rest.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Some(name(lines.next()?.strip_prefix("fn ")?))
    });
    let golden = source.split(concat!("golden", "!(")).skip(1);
    functions
        .chain(golden.map(|rest| name(rest.trim_start())))
        .collect()
}

/// Texts between double quotes that are names: trials of a runner that has no `#[test]`.
fn quoted(source: &str) -> Vec<String> {
    let parts = source.split('"').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// Verbs of the command reference, each with its help.
fn verbs(reference: &str) -> BTreeMap<String, String> {
    let sections = reference.split("\n## `helenus ").skip(1);
    sections
        .filter_map(|section| {
            let (verb, help) = section.split_once('`')?;
            Some((verb.to_owned(), help.to_owned()))
        })
        .collect()
}

/// Campaigns of `cargo xtask prove`: values with a name, and those that its list prints by themselves.
fn campaigns(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs_err::read_dir(root.join("xtask/src/prove")).unwrap() {
        let path = entry.unwrap().path();
        // Parts of one campaign have names there, too.
        if path.is_file() && !path.ends_with("kube.rs") {
            let text = read(&path);
            let names = text.lines().filter_map(|line| {
                let name = line.strip_prefix("    name: \"")?;
                name.strip_suffix("\",")
            });
            found.extend(names.map(str::to_owned));
        }
    }
    let list = read(&root.join("xtask/src/prove.rs"));
    let alone = list.lines().filter_map(|line| {
        let (name, about) = line.trim().strip_prefix("(\"")?.split_once("\", ")?;
        about.ends_with("::ABOUT),").then(|| name.to_owned())
    });
    found.extend(alone);
    found
}

fn the_page() -> Page {
    Page::read(&read(&root().join(PAGE)))
}

#[test]
fn every_row_has_its_form_and_its_place() {
    let page = the_page();
    none(&page.wrong);
    assert_eq!(
        page.documents().into_iter().collect::<Vec<_>>(),
        ["000", "001", "002", "003", "004"]
    );
}

#[test]
fn the_counts_at_the_top_are_those_of_the_rows() {
    let page = the_page();
    assert_eq!(
        page.counts,
        page.counted(),
        "left: the page, right: its rows"
    );
}

#[test]
fn what_a_row_names_exists_and_what_is_done_names_something() {
    let known = Known::of_the_tree();
    let page = the_page();
    let ids: BTreeSet<&str> = page.rows.iter().map(|row| row.id.as_str()).collect();
    let mut wrong = Vec::new();
    for row in &page.rows {
        let (references, of_row) = known.judge(&row.how, &ids);
        let id = &row.id;
        wrong.extend(of_row.iter().map(|what| format!("{id}: {what}")));
        let claims = ["done", "partly"].contains(&row.status.as_str());
        if claims && references == 0 {
            wrong.push(format!(
                "{id} is {}, and names no verb, test, campaign or page",
                row.status
            ));
        }
    }
    none(&wrong);
}

#[test]
fn no_line_of_the_documents_is_left_out() {
    let named = std::env::var_os(DOCUMENTS);
    let is_named = named.is_some();
    let folder = named.map_or_else(|| root().join("../shared/mission"), PathBuf::from);
    if !folder.is_dir() {
        assert!(!is_named, "{DOCUMENTS} is {}: no folder", folder.display());
        let line = format!("NOT RUN: the documents are not here ({DOCUMENTS} names their folder)");
        // Past the harness, which keeps the words of tests that pass to itself.
        let _nobody_listens = writeln!(std::io::stderr(), "{line}");
        return;
    }
    let page = the_page();
    let names: Vec<PathBuf> = fs_err::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let mut wrong = Vec::new();
    for document in page.documents() {
        let of = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&format!("{document}_")) && name.ends_with(".txt")
        };
        match names.iter().find(of) {
            Some(path) => wrong.extend(left_out(&page, document, &read(path))),
            None => wrong.push(format!("{document} is not in {}", folder.display())),
        }
    }
    none(&wrong);
}

/// A page in small, with one fault for each rule where it is asked for.
fn small(row: &str, without: &str, done: usize) -> Page {
    Page::read(&format!(
        "| document | done | partly | not yet | cannot | rows |\n|---|--:|\n| [000](#a) A | {done} | 0 | 1 | 0 | 2 |\n\
         | all | 1 | 0 | 1 | 0 | 2 |\n\n## 000: A\n\n| where | what it asks | status | how |\n|---|---|---|---|\n\
         | 000-L1 | a heap | done | `helenus up` |\n{row}\n\n## {NO_CLAIM}\n\n| lines | why |\n|---|---|\n{without}\n"
    ))
}

#[test]
fn a_faulty_page_is_found_out() {
    let row = "| 000-L3-4 | a disk | not yet | no disks |";
    let sound = small(row, "| 000-L2 | heading |", 1);
    assert!(sound.wrong.is_empty(), "{:?}", sound.wrong);
    assert_eq!(sound.counts, sound.counted());
    let text = "heap\nHeading\ndisk\ndisk\n\n";
    assert!(left_out(&sound, "000", text).is_empty());

    for row in [
        "| 000-L1 | a disk | not yet | no disks |",
        "| 000-L4-3 | a disk | not yet | no disks |",
        "| 001-L3 | a disk | not yet | no disks |",
        "| 000-L3 | a disk | perhaps | no disks |",
        "| 000-L3 | a disk | not yet |",
    ] {
        assert_eq!(small(row, "", 1).wrong.len(), 1, "{row}");
    }
    let miscounted = small(row, "", 2);
    assert_ne!(miscounted.counts, miscounted.counted());
    let found =
        |without: &str, text: &str| left_out(&small(row, without, 1), "000", text).join("; ");
    assert_eq!(found("", text), "000-L2 is in no row");
    let twice = found("| 000-L1-2 | heading |", text);
    assert_eq!(twice, "000-L1 has a row, and no claim");
    let short = found("| 000-L2 | heading |", "heap\nHeading\ndisk\n");
    assert_eq!(short, "000-L4 is beyond its end");
}

#[test]
fn what_does_not_exist_is_found_out() {
    let known = Known::of_the_tree();
    let ids = BTreeSet::from(["000-L1"]);
    let sound = "`helenus up -n 3 --heap`, `helenus baseline save`, `prove tiny`, as 000-L1; `test \
                 what_does_not_exist_is_found_out`, [heaps](memory.md#a-heap-that-is-left-blank), `concurrent_reads`";
    assert_eq!(known.judge(sound, &ids), (6, Vec::new()));
    for (cell, what) in [
        ("`helenus upp`", "there is no verb upp"),
        ("`helenus up --heaps`", "helenus up has no --heaps"),
        ("`helenus kube lift`", "there is no kube lift"),
        (
            "`test nobody_wrote_this`",
            "there is no test nobody_wrote_this",
        ),
        ("`prove everything`", "there is no campaign everything"),
        ("[a](nowhere.md)", "there is no nowhere.md"),
        ("[a](memory.md#no)", "memory.md has no heading no"),
        ("as 000-L2", "there is no row 000-L2"),
    ] {
        assert_eq!(
            known.judge(cell, &ids),
            (1, vec![what.to_owned()]),
            "{cell}"
        );
    }
    assert_eq!(known.judge("surely", &ids), (0, Vec::new()));
}
