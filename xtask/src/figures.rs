//! `cargo xtask figures [--check] [PAGE…]`: the blocks of pages whose text follows from raw files, written anew or checked.
//! Refuses figures by hand: what stands between the marks of a block is what its raw files say, and a test holds it to that.

mod diff;
mod doubts;
pub(crate) mod experiment;
mod former;
mod journals;
mod levels;
mod lives;
pub(crate) mod null;
mod null_live;
mod pairs;
mod proof;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A block begins with this mark, a line of its own: `<!-- figures: GENERATOR WORDS from FILE FILE -->`.
const OPEN: &str = "<!-- figures: ";

/// What a block's first line ends with.
const OPEN_END: &str = " -->";

/// A block ends with this line.
const CLOSE: &str = "<!-- /figures -->";

/// Pages beside those below `docs`.
const PAGES: [&str; 1] = ["README.md"];

/// What a block asks for.
struct Call<'a> {
    root: &'a Path,
    words: Vec<&'a str>,
    files: Vec<PathBuf>,
}

/// Makes the text of a block.
type Generator = fn(&Call<'_>) -> Result<String, Box<dyn Error>>;

/// Every kind of block.
const GENERATORS: [(&str, Generator); 12] = [
    ("proof", proof::text),
    ("stress", journals::stress),
    ("believe", journals::believe),
    ("like", journals::like),
    ("levels", levels::text),
    ("experiment", experiment::text),
    ("lives", lives::text),
    ("pairs", pairs::text),
    ("null", null::text),
    ("null-live", null_live::text),
    ("doubts", doubts::text),
    ("former", former::text),
];

/// Writes the pages' blocks anew, or with `--check` shows where they differ from their raw files.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, Box<dyn Error>> {
    let (check, named): (Vec<&str>, Vec<&str>) = words.iter().partition(|w| **w == "--check");
    let root = root()?;
    let pages = match named.as_slice() {
        [] => pages(&root)?,
        named => named.iter().map(PathBuf::from).collect(),
    };
    let mut differ = 0;
    for page in pages {
        let text = fs_err::read_to_string(&page)?;
        let anew = renewed(&root, &text).map_err(|e| format!("{}: {e}", page.display()))?;
        if anew == text {
            continue;
        }
        differ += 1;
        let name = page.strip_prefix(&root).unwrap_or(&page).display();
        if check.is_empty() {
            fs_err::write(&page, anew)?;
            println!("{name}: written");
        } else {
            print!("{}", diff::lines(&name.to_string(), &text, &anew));
        }
    }
    if differ == 0 {
        println!("every block is as its raw files have it");
    }
    Ok(ExitCode::from(u8::from(differ > 0 && !check.is_empty())))
}

fn root() -> Result<PathBuf, Box<dyn Error>> {
    Ok(fs_err::canonicalize(
        Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
    )?)
}

/// The pages that may have blocks.
fn pages(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found: Vec<PathBuf> = PAGES.iter().map(|page| root.join(page)).collect();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A page with each of its blocks as the raw files have it. What stands in fences is shown, not asked for.
fn renewed(root: &Path, page: &str) -> Result<String, Box<dyn Error>> {
    let mut anew = String::new();
    let mut lines = page.lines().enumerate();
    let mut fenced = false;
    while let Some((at, line)) = lines.next() {
        anew.push_str(line);
        anew.push('\n');
        fenced ^= line.starts_with("```");
        if fenced || !line.starts_with(OPEN) {
            continue;
        }
        let at_line = |e: Box<dyn Error>| format!("line {}: {e}", at + 1);
        let text = block(root, line).map_err(at_line)?;
        anew.push_str(text.trim_matches('\n'));
        anew.push('\n');
        if !lines.any(|(_, line)| line == CLOSE) {
            return Err(at_line(format!("no {CLOSE} behind it").into()).into());
        }
        anew.push_str(CLOSE);
        anew.push('\n');
    }
    if !page.ends_with('\n') {
        anew.pop();
    }
    Ok(anew)
}

/// The text that the block of this mark must have.
fn block(root: &Path, mark: &str) -> Result<String, Box<dyn Error>> {
    let asked = mark
        .strip_prefix(OPEN)
        .and_then(|rest| rest.strip_suffix(OPEN_END));
    let (words, files) = asked
        .and_then(|asked| asked.split_once(" from "))
        .ok_or("a block begins with <!-- figures: GENERATOR WORDS from FILE -->")?;
    let mut words = words.split(' ');
    let name = words.next().unwrap_or_default();
    let generator = GENERATORS.iter().find(|(known, _)| *known == name);
    let (_, generator) = generator.ok_or_else(|| {
        let known: Vec<&str> = GENERATORS.iter().map(|(name, _)| *name).collect();
        format!("no generator {name}: there are {}", known.join(", "))
    })?;
    let call = Call {
        root,
        words: words.collect(),
        files: files.split(' ').map(|file| root.join(file)).collect(),
    };
    former::below(generator(&call)?, name, &call)
}

impl Call<'_> {
    /// The only file.
    fn file(&self) -> Result<&Path, Box<dyn Error>> {
        match self.files.as_slice() {
            [file] => Ok(file),
            _ => Err("it wants one file".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_says_what_its_raw_files_say() {
        let root = root().unwrap();
        let mut wrong = String::new();
        let mut blocks = 0;
        for page in pages(&root).unwrap() {
            let text = fs_err::read_to_string(&page).unwrap();
            let name = page.strip_prefix(&root).unwrap().display().to_string();
            blocks += text.lines().filter(|line| *line == CLOSE).count();
            match renewed(&root, &text) {
                Ok(anew) => wrong.push_str(&diff::lines(&name, &text, &anew)),
                Err(error) => wrong.push_str(&format!("{name}: {error}\n")),
            }
        }
        assert!(
            wrong.is_empty(),
            "`cargo xtask figures` writes them anew:\n{wrong}"
        );
        assert!(blocks > 20, "{blocks} blocks");
    }

    #[test]
    fn a_figure_that_was_changed_by_hand_is_seen() {
        let root = root().unwrap();
        let file = "benches/runs/idle-2026-11-21-a354e8.jsonl";
        let page = |text: &str| {
            format!("# A page\n\n{OPEN}proof idle from {file}{OPEN_END}\n{text}\n{CLOSE}\nbehind\n")
        };
        let true_page = renewed(&root, &page("anything")).unwrap();
        assert!(true_page.contains("166"), "{true_page}");
        assert!(true_page.ends_with(&format!("{CLOSE}\nbehind\n")));
        assert_eq!(renewed(&root, &true_page).unwrap(), true_page);
        let forged = true_page.replace("166", "165");
        let shown = diff::lines("page", &forged, &renewed(&root, &forged).unwrap());
        assert!(shown.contains("-") && shown.contains("166"), "{shown}");
    }

    #[test]
    fn marks_that_lead_nowhere_are_errors() {
        let root = root().unwrap();
        let wrong = [
            "<!-- figures: nothing from benches/runs/x -->\n<!-- /figures -->\n",
            "<!-- figures: proof -->\n<!-- /figures -->\n",
            "<!-- figures: proof idle from benches/runs/absent.jsonl -->\n<!-- /figures -->\n",
            "<!-- figures: proof idle from benches/runs/idle-2026-11-21-a354e8.jsonl -->\nno end\n",
        ];
        for page in wrong {
            assert!(renewed(&root, page).is_err(), "{page}");
        }
        let shown = "```\n<!-- figures: nothing from x -->\n```\n";
        assert_eq!(renewed(&root, shown).unwrap(), shown);
    }
}
