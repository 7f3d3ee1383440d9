//! The settings as files for machines elsewhere: a start-up script, a unit of systemd, a role of Ansible.
//! Refuses to change what a machine does not have: each line looks first.

use super::items::Rule;
use super::{Cure, Item, is_flash};
use crate::machine::Snapshot;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Where the role puts the script.
const PLACE: &str = "/usr/local/sbin/cassandra-host-settings";

/// What each item sets on a machine whose values are not known yet, with the item.
fn settings(machine: &Snapshot, items: &[&'static Item]) -> Vec<(&'static Item, Vec<Cure>)> {
    let flash = machine.disks.iter().filter(|disk| is_flash(disk));
    let mut disks: Vec<&str> = flash.map(|disk| disk.name.as_str()).collect();
    if disks.is_empty() {
        disks.push("nvme*n*");
    }
    let of = |item: &'static Item| -> Vec<Cure> {
        match item.rule {
            // Only where the processor has it, which the kernel decides.
            Rule::ClockSource | Rule::MountOption => Vec::new(),
            Rule::Scheduler | Rule::Rotational | Rule::ReadAhead => {
                disks.iter().map(|disk| item.cure(Some(disk))).collect()
            }
            _ => vec![item.cure(None)],
        }
    };
    let is_set = |cure: &Cure| !matches!(cure, Cure::ByHand(_));
    let all = items.iter().map(|item| (*item, of(item)));
    all.filter(|(_, cures)| cures.first().is_some_and(is_set))
        .collect()
}

/// A script of the shell that sets all of it, for every boot; what the machine lacks is passed over.
pub fn script(machine: &Snapshot, items: &[&'static Item]) -> String {
    let mut text = "#!/bin/sh\n\
        # Settings of a machine that runs Cassandra; written by `helenus doctor --script`. Run it as root, at every boot.\n\
        set -eu\n\
        put() { # value, files\n\
        \x20   value=$1; shift\n\
        \x20   for file in \"$@\"; do\n\
        \x20       [ ! -w \"$file\" ] || printf '%s\\n' \"$value\" >\"$file\" || echo \"cannot set $file\" >&2\n\
        \x20   done\n\
        }\n"
        .to_owned();
    let settings = settings(machine, items);
    for (item, cures) in &settings {
        let why = format!("\n# {}: {} ({}).\n", item.name, item.why, item.source);
        text.push_str(&why);
        for cure in cures {
            let _infallible = match cure {
                Cure::Kernel { file, value } => writeln!(text, "put '{value}' /{file}"),
                Cure::Limit { name, value } => {
                    let flag = match name.as_str() {
                        "nofile" => 'n',
                        "memlock" => 'l',
                        _ => 'u',
                    };
                    writeln!(
                        text,
                        "ulimit -{flag} {value} 2>/dev/null || true # this shell and what it starts; for logins: limits.d"
                    )
                }
                Cure::SwapOff => {
                    // What follows is set all the same where memory does not hold what is swapped out.
                    writeln!(text, "swapoff -a || echo 'cannot switch swap off' >&2")
                }
                Cure::ByHand(_) => Ok(()),
            };
        }
    }
    text
}

/// A unit of systemd that runs the script, at `path`, before Cassandra starts.
pub fn unit(path: &str) -> String {
    format!(
        "[Unit]\n\
         Description=Settings of a machine that runs Cassandra\n\
         Before=cassandra.service\n\
         After=local-fs.target systemd-sysctl.service\n\n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart={path}\n\n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

/// A role of Ansible: its files by their paths. It uses built-in modules only, and changes nothing the second time.
pub fn role(machine: &Snapshot, items: &[&'static Item]) -> BTreeMap<String, String> {
    let limits: String = settings(machine, items)
        .iter()
        .flat_map(|(_, cures)| cures)
        .filter_map(|cure| match cure {
            Cure::Limit { name, value } => Some(format!("* - {name} {value}\n")),
            _ => None,
        })
        .collect();
    let tasks = format!(
        "---\n\
         - name: Install the settings as a script\n\
         \x20 ansible.builtin.copy:\n\
         \x20   src: cassandra-host-settings\n\
         \x20   dest: {PLACE}\n\
         \x20   owner: root\n\
         \x20   group: root\n\
         \x20   mode: \"0755\"\n\
         \x20 notify: Apply the settings\n\n\
         - name: Install the limits of logins\n\
         \x20 ansible.builtin.copy:\n\
         \x20   src: cassandra.conf\n\
         \x20   dest: /etc/security/limits.d/cassandra.conf\n\
         \x20   owner: root\n\
         \x20   group: root\n\
         \x20   mode: \"0644\"\n\n\
         - name: Install the unit\n\
         \x20 ansible.builtin.copy:\n\
         \x20   src: cassandra-host-settings.service\n\
         \x20   dest: /etc/systemd/system/cassandra-host-settings.service\n\
         \x20   owner: root\n\
         \x20   group: root\n\
         \x20   mode: \"0644\"\n\
         \x20 notify: Apply the settings\n\n\
         - name: Enable the unit\n\
         \x20 ansible.builtin.systemd_service:\n\
         \x20   name: cassandra-host-settings\n\
         \x20   enabled: true\n\
         \x20   daemon_reload: true\n\
         \x20 when: not ansible_check_mode\n"
    );
    let handlers = "---\n\
         - name: Apply the settings\n\
         \x20 ansible.builtin.systemd_service:\n\
         \x20   name: cassandra-host-settings\n\
         \x20   state: restarted\n\
         \x20   daemon_reload: true\n";
    [
        ("tasks/main.yml", tasks),
        ("handlers/main.yml", handlers.to_owned()),
        ("files/cassandra-host-settings", script(machine, items)),
        ("files/cassandra-host-settings.service", unit(PLACE)),
        ("files/cassandra.conf", limits),
    ]
    .map(|(path, text)| (path.to_owned(), text))
    .into()
}
