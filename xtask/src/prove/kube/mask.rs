//! What a raw file says in place of names that are this machine's alone: kubectl's context, its server, folders.
//! Refuses to touch words that only look like one of them: a context is masked where it is called one.

use std::path::Path;

/// What is masked, and by what.
#[derive(Debug, Clone, Default)]
pub(super) struct Mask(Vec<(String, String)>);

impl Mask {
    /// For this context, the address of its server, and the folders of the workspace and of temporary files.
    pub(super) fn new(context: &str, server: &str, root: &Path, temporary: &Path) -> Self {
        let mut all = vec![
            (format!("context {context}"), "context test".to_owned()),
            (
                format!(r#""context":"{context}""#),
                r#""context":"test""#.to_owned(),
            ),
            (server.to_owned(), "https://test".to_owned()),
            (root.display().to_string(), "...".to_owned()),
        ];
        all.retain(|(word, _)| !word.is_empty());
        all.push((format!("{}/.tmp", temporary.display()), String::new()));
        Self(all)
    }

    /// The line without them.
    pub(super) fn line(&self, line: &str) -> String {
        let mut text = line.to_owned();
        for (word, instead) in &self.0 {
            text = match instead.as_str() {
                "" => without_folders(&text, word),
                instead => text.replace(word, instead),
            };
        }
        text
    }
}

/// Without the folders whose paths begin so and end at the next slash.
fn without_folders(text: &str, begin: &str) -> String {
    let mut parts = text.split(begin);
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric());
        let rest = end.map_or("", |end| &part[end..]);
        all.push_str(rest.strip_prefix('/').unwrap_or(rest));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_alone_are_masked_and_no_others() {
        let mask = Mask::new(
            "kind",
            "https://10.0.0.1:6443",
            Path::new("/home/me/helenus"),
            Path::new("/tmp"),
        );
        let line = r#"{"kind":"Pod","context":"kind","said":"context kind (https://10.0.0.1:6443), in /tmp/.tmpAb1/image.tar, /home/me/helenus/benches, kind load"}"#;
        assert_eq!(
            mask.line(line),
            r#"{"kind":"Pod","context":"test","said":"context test (https://test), in image.tar, .../benches, kind load"}"#
        );
    }
}
