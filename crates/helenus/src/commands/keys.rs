//! Keys of a TOML file as flags of a verb: the file becomes a command line, and the one parser reads it.
//! Refuses a second definition of any flag.

use crate::cli::Cli;
use crate::error::{CommandError, code};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, CommandFactory as _};
use helenus_model::nearest::nearest;
use std::path::Path;

/// A verb with its flags.
pub(crate) fn verb(name: &str) -> clap::Command {
    let mut whole = Cli::command();
    whole.build();
    whole.find_subcommand(name).cloned().unwrap_or_default()
}

/// The flag of a key among those that may stand in the file; otherwise the nearest of these, where one is near.
pub(crate) fn find(
    verb: &clap::Command,
    name: &str,
    may: &dyn Fn(&&Arg) -> bool,
) -> Result<Arg, Option<String>> {
    let known = || verb.get_arguments().filter(move |arg| may(arg));
    let found = known().find(|arg| arg.get_long() == Some(name));
    let names = known().filter_map(Arg::get_long);
    let near = || nearest(name, names.filter(|long| *long != "help"));
    found
        .cloned()
        .ok_or_else(|| near().map(|near| format!("did you mean {near}?")))
}

/// Whether its values are paths.
pub(crate) fn is_path(arg: &Arg) -> bool {
    use clap::ValueHint::{AnyPath, DirPath, FilePath};
    matches!(arg.get_value_hint(), AnyPath | DirPath | FilePath)
}

/// A value, or a list of them, as it is called from any folder: what is a path to something beside a file in `folder`
/// becomes absolute.
pub(crate) fn beside(arg: &Arg, value: toml::Value, folder: &Path) -> toml::Value {
    match value {
        toml::Value::String(text) if is_path(arg) => {
            let path = folder.join(&text);
            match std::path::absolute(&path) {
                Ok(whole) if path.exists() => whole.display().to_string().into(),
                _ => text.into(),
            }
        }
        toml::Value::Array(list) => {
            let each = list.into_iter().map(|one| beside(arg, one, folder));
            toml::Value::Array(each.collect())
        }
        other => other,
    }
}

/// The words of a key and its value on a command line.
pub(crate) fn flags(arg: &Arg, name: &str, value: &toml::Value) -> Result<Vec<String>, String> {
    let switch = matches!(arg.get_action(), ArgAction::SetTrue);
    match (value, switch) {
        (toml::Value::Boolean(true), true) => Ok(vec![format!("--{name}")]),
        (toml::Value::Boolean(false), true) => Ok(Vec::new()),
        (_, true) => Err(format!("{name} is true or false")),
        (toml::Value::Array(values), false) => {
            let texts: Vec<String> = values
                .iter()
                .map(|one| plain(name, one))
                .collect::<Result<_, _>>()?;
            match arg.get_value_delimiter() {
                Some(delimiter) => Ok(vec![format!(
                    "--{name}={}",
                    texts.join(&delimiter.to_string())
                )]),
                None if matches!(arg.get_action(), ArgAction::Append) => {
                    Ok(texts.iter().map(|t| format!("--{name}={t}")).collect())
                }
                None => Err(format!("{name} takes one value, not a list")),
            }
        }
        (value, false) => Ok(vec![format!("--{name}={}", plain(name, value)?)]),
    }
}

fn plain(name: &str, value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(n) => Ok(n.to_string()),
        toml::Value::Float(n) => Ok(n.to_string()),
        toml::Value::Boolean(_) => Err(format!("{name} takes a value, not true or false")),
        _ => Err(format!("{name} takes a text or a number")),
    }
}

/// The flag that clap complains about, without its dashes.
pub(crate) fn key_of(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(text) => {
            let flag = text.split([' ', '=', '<']).next()?;
            Some(flag.trim_start_matches('-').to_owned())
        }
        _ => None,
    }
}

/// clap's words about a value, with the place in the file before them and without the usage after them.
pub(crate) fn refused(place: &str, error: &clap::Error) -> CommandError {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines
        .next()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .to_owned();
    let hint = lines
        .take_while(|line| !line.starts_with("Usage") && !line.starts_with("For more"))
        .collect::<Vec<_>>()
        .join("; ");
    CommandError::new(code::USAGE, format!("{place}: {first}"))
        .hint((!hint.is_empty()).then_some(hint))
}
