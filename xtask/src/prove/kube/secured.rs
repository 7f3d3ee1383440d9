//! `prove kube secured`: passwords, TLS and client certificates in pods, from one command to nothing left: who gets in, the load
//! and a populate from inside, a pod that joins later. Refuses to print a key or a password.

use super::Tried;
use super::lab::{Lab, WITHIN, kubectl, left};
use super::running::{Ran, Running};
use super::sheet::{Sheet, Verdict};
use super::wan::CQL_PORT;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use helenus_cql::Version;
use helenus_cql::client::{Client, ClientError, ConnectOptions, Identity, Tls};
use serde_json::{Value, json};
use std::error::Error;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What it shows.
pub(super) const ABOUT: &str = "passwords, TLS and client certificates in pods by one command; who gets in, load and populate from \
     inside, a pod that joins later, nothing left";

const NAME: &str = "prove-secured";

/// The flags that ask for all of it.
const FLAGS: [&str; 5] = ["-n", "2", "--auth", "--tls", "--client-auth"];

/// The variable by which a password reaches helenus.
const PASSWORD: &str = "HELENUS_PROVE_PASSWORD";

/// The superuser that takes the stock one's place.
const ADMIN: &str = "admin";

/// Rows of the populate.
const ROWS: u64 = 20_000;

/// Longest wait for a connection or an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Longest wait for the stock superuser, which a node makes some seconds after it serves.
const STOCK_WITHIN: Duration = Duration::from_secs(60);

/// Longest wait until all nodes know that a role was locked: `roles_validity` is 2 s.
const CACHED_WITHIN: Duration = Duration::from_secs(10);

/// A cluster, and the password of its superuser.
struct Trial<'a> {
    lab: &'a Lab,
    /// A file with the password, for its owner only.
    file: PathBuf,
    password: String,
    _folder: tempfile::TempDir,
}

/// All of it, from nothing to nothing.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    lab.clear(NAME)?;
    let command = lab.up(NAME, &FLAGS);
    let ran = lab.run(&command)?.well("kube up")?;
    let status = ran.json()?;
    let pods = status["pods"].as_array().map_or(0, Vec::len);
    let said = format!(
        "{pods} pods ready {:.1} s after the command",
        ran.took.as_secs_f64()
    );
    let facts =
        json!({"command": command.join(" "), "seconds": ran.took.as_secs_f64(), "status": status});
    let what = "one command: passwords, TLS, client certificates, all pods ready";
    sheet.found(what, Verdict::of(pods == 2), &said, &facts, None)?;
    let tried = Trial::open(lab).and_then(|trial| {
        trial.doors(sheet, &status)?;
        trial.cql(sheet)?;
        trial.ring(sheet, 2)?;
        trial.load(sheet)?;
        trial.populate(sheet)?;
        trial.joins(sheet)?;
        trial.kept(sheet)
    });
    let removed = removed(lab, sheet);
    tried.and(removed)
}

impl<'a> Trial<'a> {
    fn open(lab: &'a Lab) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("password");
        let password = fs_err::read_to_string("/proc/sys/kernel/random/uuid")?;
        let password = password.trim().to_owned();
        write_private(&file, &password)?;
        Ok(Self {
            lab,
            file,
            password,
            _folder: folder,
        })
    }

    /// Runs helenus with a password in its environment.
    fn with(&self, password: &str, words: &[&str]) -> Result<Ran, Box<dyn Error>> {
        let mut command = self.lab.command(words);
        command.env(PASSWORD, password);
        Running::start(command)?.end(WITHIN)
    }

    /// The words of a load from inside, by the superuser.
    fn inside<'b>(&'b self, words: &[&'b str], on: &'b str) -> Vec<&'b str> {
        let mut all = words.to_vec();
        let file = self.file.to_str().unwrap_or_default();
        all.extend(["--on", on, "--user", ADMIN, "--password-from", file]);
        all.extend(["--format", "json"]);
        all
    }

    /// Who gets to the question for a password at a pod's address, and who does not get that far.
    fn doors(&self, sheet: &mut Sheet, status: &Value) -> Tried {
        let what = "only a client with a certificate is asked for its password";
        let ip = status["pods"][0]["ip"].as_str().unwrap_or_default();
        let address = SocketAddr::new(ip.parse::<IpAddr>()?, CQL_PORT);
        if let Err(error) = TcpStream::connect_timeout(&address, ANSWER_WITHIN) {
            return sheet.record(what, Verdict::NotRun, &format!("no way to a pod: {error}"));
        }
        let read = |name: &str| {
            fs_err::read(
                self.lab
                    .home
                    .join("state/kube")
                    .join(NAME)
                    .join("tls")
                    .join(name),
            )
        };
        let (ca, certificate, key) = (read("ca.pem")?, read("client.pem")?, read("client.key")?);
        let identity = Identity {
            certificate: &certificate,
            key: &key,
        };
        let asked = |tls: Option<Tls>| {
            let options = ConnectOptions {
                timeout: ANSWER_WITHIN,
                tls,
                protocol: Version::V5,
                ..ConnectOptions::default()
            };
            match Client::connect(address, &options) {
                Err(ClientError::CredentialsMissing { .. }) => "asked for a password".to_owned(),
                Err(_) => "refused".to_owned(),
                Ok(_) => "let in".to_owned(),
            }
        };
        let all = [
            ("in the clear", asked(None), "refused"),
            (
                "without a certificate",
                asked(Some(Tls::named(&ca, NAME, None)?)),
                "refused",
            ),
            (
                "for another cluster's name",
                asked(Some(Tls::named(&ca, "another", Some(identity))?)),
                "refused",
            ),
            (
                "with the client's certificate",
                asked(Some(Tls::named(&ca, NAME, Some(identity))?)),
                "asked for a password",
            ),
        ];
        let holds = all.iter().all(|(_, became, wanted)| became == wanted);
        let said: Vec<String> = all
            .iter()
            .map(|(who, became, _)| format!("{who}: {became}"))
            .collect();
        sheet.record(what, Verdict::of(holds), &said.join("; "))
    }

    /// Another superuser by `kube cql`; who gives no password is refused.
    fn cql(&self, sheet: &mut Sheet) -> Tried {
        let roles = self.file.with_file_name("roles.cql");
        let text = format!(
            "CREATE ROLE IF NOT EXISTS {ADMIN} WITH PASSWORD = '{}' AND LOGIN = true AND SUPERUSER = true;",
            self.password
        );
        write_private(&roles, &text)?;
        let roles = roles.to_str().unwrap_or_default();
        let by = |user| {
            [
                "kube",
                "cql",
                NAME,
                "--user",
                user,
                "--password-env",
                PASSWORD,
            ]
        };
        let make = [&by("cassandra")[..], &["-f", roles]].concat();
        let begin = Instant::now();
        // The stock superuser comes some seconds after the first node serves.
        let made = loop {
            let ran = self.with("cassandra", &make)?;
            if ran.code == 0 || begin.elapsed() > STOCK_WITHIN {
                break ran.well("CREATE ROLE");
            }
            std::thread::sleep(Duration::from_secs(1));
        };
        made?;
        let drop = "ALTER ROLE cassandra WITH LOGIN = false";
        self.with(&self.password, &[&by(ADMIN)[..], &["-e", drop]].concat())?
            .well("ALTER ROLE")?;
        let ask = "SELECT cluster_name FROM system.local";
        let knows = self.with(&self.password, &[&by(ADMIN)[..], &["-e", ask]].concat())?;
        let begin = Instant::now();
        // Each node keeps what it knows of a role for two seconds.
        let stock = loop {
            let words = [&by("cassandra")[..], &["-e", ask]].concat();
            let ran = self.with("cassandra", &words)?;
            if ran.code != 0 || begin.elapsed() > CACHED_WITHIN {
                break ran;
            }
        };
        let after = begin.elapsed().as_secs_f64();
        let nobody = self.lab.run(&["kube", "cql", NAME, "-e", ask])?;
        let holds =
            knows.code == 0 && knows.out.contains(NAME) && stock.code == 4 && nobody.code == 4;
        let said = format!(
            "exit codes: the new superuser {}, the stock one {} ({after:.1} s after it was locked), nobody {}",
            knows.code, stock.code, nobody.code
        );
        sheet.record(
            "kube cql with a password, and not without",
            Verdict::of(holds),
            &said,
        )
    }

    /// All nodes up and normal, by nodetool.
    fn ring(&self, sheet: &mut Sheet, wanted: usize) -> Tried {
        let status = self
            .lab
            .run(&["kube", "nodetool", NAME, "status"])?
            .well("nodetool")?;
        let normal = status
            .out
            .lines()
            .filter(|line| line.starts_with("UN"))
            .count();
        let said = format!("{normal} of {wanted} UN");
        let facts = json!({"status": status.out});
        let what = format!("kube nodetool status: {wanted} nodes");
        sheet.found(&what, Verdict::of(normal == wanted), &said, &facts, None)
    }

    /// A run with two generators.
    fn load(&self, sheet: &mut Sheet) -> Tried {
        let on = format!("kube:{NAME}");
        let words = [
            "run",
            "standard1",
            "--ops",
            "write=1",
            "--rate",
            "300",
            "--duration",
            "12s",
            "--processes",
            "2",
        ];
        let ran = self.lab.run(&self.inside(&words, &on))?;
        let printed = ran.json()?;
        let phase = printed.pointer("/result/phases").and_then(Value::as_array);
        let phase = phase.and_then(|all| all.last()).unwrap_or(&Value::Null);
        let failed = phase["total"]["failed"].as_object();
        let failed: u64 = failed.map_or(0, |all| all.values().filter_map(Value::as_u64).sum());
        let completed = phase["total"]["completed"].as_u64().unwrap_or_default();
        let p50 = phase["total"]["service"]["p50_us"].as_f64();
        let said = format!(
            "{completed} operations, {failed} failed, {:.0}/s, median {:.2} ms, verdict {}",
            phase["achieved_per_s"].as_f64().unwrap_or_default(),
            p50.unwrap_or_default() / 1e3,
            printed["verdict"].as_str().unwrap_or("?")
        );
        let facts = json!({"code": ran.code, "completed": completed, "failed": failed, "p50_us": p50, "verdict": printed["verdict"], "doubts": phase["doubts"]});
        let holds = ran.code == 0 && failed == 0 && completed > 0;
        sheet.found(
            "run --on with TLS and a password",
            Verdict::of(holds),
            &said,
            &facts,
            None,
        )
    }

    /// A populate, which reads everything back.
    fn populate(&self, sheet: &mut Sheet) -> Tried {
        let on = format!("kube:{NAME}");
        let rows = ROWS.to_string();
        let words = ["populate", "standard1", "--rows", &rows, "--seed", "7"];
        let ran = self.lab.run(&self.inside(&words, &on))?;
        let report = ran.json()?;
        let verified = &report["verified"];
        let count = |key: &str| verified[key].as_u64();
        let holds = ran.code == 0
            && (count("rows"), count("missing"), count("wrong")) == (Some(ROWS), Some(0), Some(0));
        let said = format!(
            "{} written in {:.1} s, at rest after {:.1} s; {}",
            report["rows"],
            report["load_s"].as_f64().unwrap_or_default(),
            report["settle_s"].as_f64().unwrap_or_default(),
            report["answer"].as_str().unwrap_or_default()
        );
        let facts = json!({"code": ran.code, "seconds": ran.took.as_secs_f64(), "told": report});
        sheet.found(
            "populate --on, and all read back",
            Verdict::of(holds),
            &said,
            &facts,
            None,
        )
    }

    /// A pod that joins later has a certificate that the others trust.
    fn joins(&self, sheet: &mut Sheet) -> Tried {
        let ran = self
            .lab
            .run(&["kube", "scale", NAME, "--nodes", "3"])?
            .well("kube scale")?;
        let said = format!("{:.1} s", ran.took.as_secs_f64());
        sheet.record("kube scale: a third pod joins", Verdict::Noted, &said)?;
        self.ring(sheet, 3)
    }

    /// Where keys are, and where they are not.
    fn kept(&self, sheet: &mut Sheet) -> Tried {
        let folder = self.lab.home.join("state/kube").join(NAME).join("tls");
        let mut open = Vec::new();
        for file in fs_err::read_dir(&folder)? {
            let file = file?;
            if file.metadata()?.permissions().mode() & 0o077 != 0 {
                open.push(file.file_name().to_string_lossy().into_owned());
            }
        }
        let password = fs_err::read_to_string(folder.join("keystore.password"))?;
        let words = [
            "get",
            "configmap,statefulset,pod,event",
            "-n",
            NAME,
            "-o",
            "yaml",
        ];
        let seen = kubectl(&words, None)??;
        let state = fs_err::read_to_string(folder.join("../../").join(format!("{NAME}.json")))?;
        let shown = [seen, state].iter().any(|text| {
            text.contains(password.trim_end())
                || text.contains(&self.password)
                || text.contains("PRIVATE KEY")
        });
        let holds = open.is_empty() && !shown;
        let said = match holds {
            true => "in the Secret, and in files for their owner only".to_owned(),
            false => format!(
                "others can read {}; shown elsewhere: {shown}",
                open.join(", ")
            ),
        };
        sheet.record("keys and passwords", Verdict::of(holds), &said)
    }
}

/// `kube rm` leaves nothing, here and there.
fn removed(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let id = lab.id(NAME)?;
    let ran = lab.run(&["kube", "rm", NAME])?.well("kube rm")?;
    let mut remains = left(&id)?;
    let spaces = kubectl(&["get", "namespaces,secrets", "-A", "-o", "name"], None)??;
    let ours = |line: &&str| {
        line.ends_with(&format!("/{NAME}")) || line.ends_with(&format!("/{NAME}-tls"))
    };
    remains.extend(spaces.lines().filter(ours).map(str::to_owned));
    let folder = lab.home.join("state/kube").join(NAME);
    remains.extend(folder.exists().then(|| "the keys here".to_owned()));
    let said = match remains.is_empty() {
        true => format!("nothing is left, {:.1} s", ran.took.as_secs_f64()),
        false => format!("left: {}", remains.join(", ")),
    };
    sheet.record(
        "kube rm leaves nothing",
        Verdict::of(remains.is_empty()),
        &said,
    )
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = fs_err::OpenOptions::new();
    let mut file = file
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    writeln!(file, "{text}")
}
