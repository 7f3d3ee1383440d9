//! `nodetool` and `cqlsh` on disk for each cluster, for tools that look for them on PATH.
//! Refuses to hold anything of their own: they call this very helenus with its folders and the node.

use crate::env::Env;
use crate::state::ClusterState;
use fs_err as fs;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What decides where a helenus keeps its things: a tool on disk sees them as they were at `up`.
pub(crate) const FOLDERS: [&str; 5] = [
    "HELENUS_HOME",
    "HELENUS_CACHE",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// The folder of the tools of a cluster or of a node.
pub fn folder(of: &Path) -> PathBuf {
    of.join("bin")
}

/// Writes the tools of a cluster (they mean its first node) and of each of its nodes.
///
/// # Errors
/// The cluster's folder cannot be written.
pub fn write(state: &ClusterState, env: &Env, helenus: &Path) -> io::Result<()> {
    let cluster = Path::new(&state.plan.folder);
    if let Some(first) = state.plan.nodes.first() {
        write_in(cluster, &state.plan.name, &first.name, env, helenus)?;
    }
    for node in &state.plan.nodes {
        let folder = Path::new(&node.folder);
        write_in(folder, &state.plan.name, &node.name, env, helenus)?;
    }
    Ok(())
}

fn write_in(of: &Path, cluster: &str, node: &str, env: &Env, helenus: &Path) -> io::Result<()> {
    let bin = folder(of);
    fs::create_dir_all(&bin)?;
    for (tool, verb) in [("nodetool", "nodetool"), ("cqlsh", "__cqlsh")] {
        let mut file = tempfile::NamedTempFile::new_in(&bin)?;
        let text = script(tool, verb, &format!("{cluster}/{node}"), env, helenus);
        io::Write::write_all(&mut file, &text)?;
        let executable = std::fs::Permissions::from_mode(0o755);
        file.as_file().set_permissions(executable)?;
        // In one step: a script that somebody runs just now stays whole.
        file.persist(bin.join(tool)).map_err(|e| e.error)?;
    }
    Ok(())
}

/// A script for any POSIX shell; paths may hold any byte but zero.
fn script(tool: &str, verb: &str, target: &str, env: &Env, helenus: &Path) -> Vec<u8> {
    let mut text = format!("#!/bin/sh\n# {tool} of {target}, written by helenus at each start.\n")
        .into_bytes();
    for name in FOLDERS {
        match env.var(name) {
            Some(value) => {
                text.extend(format!("export {name}=").bytes());
                text.extend(quoted(value));
                text.push(b'\n');
            }
            None => text.extend(format!("unset {name}\n").bytes()),
        }
    }
    // Without a folder of their own, things lie below the person's home.
    let at_home = env.var("HELENUS_HOME").is_none();
    if let (true, Some(home)) = (at_home, env.var("HOME")) {
        text.extend(b"export HOME=");
        text.extend(quoted(home));
        text.push(b'\n');
    }
    text.extend(b"exec ");
    text.extend(quoted(helenus.as_os_str()));
    text.extend(format!(" {verb} {target} -- \"$@\"\n").bytes());
    text
}

fn quoted(value: &OsStr) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in value.as_bytes() {
        match byte {
            b'\'' => out.extend(br"'\''"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_tool_passes_the_binary_its_folders_whatever_the_caller_has() {
        let tmp = tempfile::tempdir().unwrap();
        let binary = tmp.path().join("it's a $binary");
        fs::write(
            &binary,
            "#!/bin/sh\nprintf '%s|' \"$HELENUS_HOME\" \"${XDG_STATE_HOME-unset}\" \"$@\"\n",
        )
        .unwrap();
        fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).unwrap();
        let vars = [("HELENUS_HOME", "/a \"b\" 'c'"), ("HOME", "/home/ada")];
        let env = Env {
            vars: vars.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            ..Env::default()
        };
        write_in(tmp.path(), "c", "node2", &env, &binary).unwrap();
        let said = |tool: &str| {
            let output = Command::new(folder(tmp.path()).join(tool))
                .args(["-h", "x y", ""])
                .env("XDG_STATE_HOME", "/elsewhere")
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let words = "c/node2|--|-h|x y||";
        let home = "/a \"b\" 'c'|unset|";
        assert_eq!(said("nodetool"), format!("{home}nodetool|{words}"));
        assert_eq!(said("cqlsh"), format!("{home}__cqlsh|{words}"));
    }
}
