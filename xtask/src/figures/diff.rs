//! Two texts side by side, line by line, as `diff -u` shows them. Refuses to be clever: what begins and ends alike is left
//! out, the rest is shown whole.

use std::fmt::Write as _;

/// Lines that are shown before and behind.
const AROUND: usize = 2;

/// What differs; empty where nothing does. Blocks do not change how many marks there are, so texts are compared mark by mark.
pub(super) fn lines(name: &str, old: &str, new: &str) -> String {
    let mut shown = String::new();
    if old == new {
        return shown;
    }
    let _infallible = writeln!(shown, "--- {name}\n+++ {name} (by its raw files)");
    let (old, new) = (parts(old), parts(new));
    let mut at = 1;
    for (part, other) in old.iter().zip(&new) {
        if part != other {
            hunk(&mut shown, at, part, other);
        }
        at += part.len();
    }
    shown
}

/// The lines, cut behind each block.
fn parts(text: &str) -> Vec<Vec<&str>> {
    let mut parts = vec![Vec::new()];
    for line in text.lines() {
        if let Some(last) = parts.last_mut() {
            last.push(line);
        }
        if line == super::CLOSE {
            parts.push(Vec::new());
        }
    }
    parts
}

fn hunk(shown: &mut String, at: usize, old: &[&str], new: &[&str]) {
    let alike = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - alike;
    let back = old.iter().rev().zip(new.iter().rev());
    let behind = back.take(rest).take_while(|(a, b)| a == b).count();
    let before = alike.saturating_sub(AROUND);
    let _infallible = writeln!(shown, "@@ line {} @@", at + alike);
    let mut put = |mark: char, lines: &[&str]| {
        for line in lines {
            let _infallible = writeln!(shown, "{mark}{line}");
        }
    };
    put(' ', &old[before..alike]);
    put('-', &old[alike..old.len() - behind]);
    put('+', &new[alike..new.len() - behind]);
    put(' ', &old[old.len() - behind..][..behind.min(AROUND)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_with_its_neighbours() {
        let page = |figure: &str| {
            format!("a\nb\nc\n{figure}\nd\n<!-- /figures -->\ne\nf\ng\n{figure}\nh\n")
        };
        let shown = lines("p.md", &page("1"), &page("2"));
        let wanted = "--- p.md\n+++ p.md (by its raw files)\n@@ line 4 @@\n b\n c\n-1\n+2\n d\n <!-- /figures -->\n\
                      @@ line 10 @@\n f\n g\n-1\n+2\n h\n";
        assert_eq!(shown, wanted);
        assert_eq!(lines("p.md", &page("1"), &page("1")), "");
    }
}
