//! The environment in the words of its reader: shells, files of variables, drivers.
//! Refuses a value without the quotes that its reader needs: what is printed may be run.

use super::Environment;
use crate::cli::env::EnvAs;
use std::fmt::Write as _;

pub(super) fn text(e: &Environment, reader: EnvAs) -> String {
    match reader {
        EnvAs::Java => java(e),
        EnvAs::Python => python(e),
        _ => lines(e, reader),
    }
}

/// The variables, in order.
pub(super) fn variables(e: &Environment) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("HELENUS_CLUSTER", e.cluster.clone()),
        ("CASSANDRA_CONTACT_POINTS", e.contact_points.join(",")),
        ("CASSANDRA_PORT", e.port.to_string()),
        ("CASSANDRA_DATACENTER", e.data_center.clone()),
        ("CASSANDRA_CLUSTER_NAME", e.cluster_name.clone()),
        ("CASSANDRA_VERSION", e.release.clone()),
        ("CQLSH_HOST", e.contact_points[0].clone()),
        ("CQLSH_PORT", e.port.to_string()),
        ("CASSANDRA_CONF", e.conf.clone()),
        ("CASSANDRA_DATA", e.data.clone()),
        ("CASSANDRA_LOG_DIR", e.logs.clone()),
        ("HELENUS_BIN", e.bin.clone()),
    ];
    if let Some(credentials) = &e.credentials {
        all.push(("CASSANDRA_USERNAME", credentials.username.clone()));
        all.push(("CASSANDRA_PASSWORD_FILE", credentials.password_file.clone()));
        let cqlshrc = credentials.cqlshrc.clone();
        all.extend(cqlshrc.map(|path| ("CASSANDRA_CQLSHRC", path)));
    }
    if let Some(tls) = &e.tls {
        all.push(("CASSANDRA_TLS_CA", tls.ca.clone()));
        all.extend(
            tls.certificate
                .clone()
                .map(|path| ("CASSANDRA_TLS_CERT", path)),
        );
        all.extend(tls.key.clone().map(|path| ("CASSANDRA_TLS_KEY", path)));
    }
    all
}

fn lines(e: &Environment, reader: EnvAs) -> String {
    let mut text = String::new();
    for (name, value) in variables(e) {
        let line = match reader {
            EnvAs::Fish => format!("set -gx {name} {}", fish(&value)),
            EnvAs::Dotenv => format!("{name}={}", double(&value)),
            // The runner takes the rest of the line as it is.
            EnvAs::Github => format!("{name}={value}"),
            _ => format!("export {name}={}", shell(&value)),
        };
        let _infallible = writeln!(text, "{line}");
    }
    match reader {
        EnvAs::Shell => {
            let _infallible = writeln!(text, "export PATH={}:\"$PATH\"", shell(&e.bin));
        }
        EnvAs::Fish => {
            let _infallible = writeln!(text, "set -gx PATH {} $PATH", fish(&e.bin));
        }
        _ => {}
    }
    text
}

/// Bare where every reader takes the text for one plain word.
fn plain(value: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_-./,:@%+".contains(c);
    !value.is_empty() && value.chars().all(safe)
}

fn shell(value: &str) -> String {
    if plain(value) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', r"'\''"))
    }
}

fn fish(value: &str) -> String {
    if plain(value) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\\', r"\\").replace('\'', r"\'"))
    }
}

fn double(value: &str) -> String {
    if plain(value) {
        return value.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

/// JSON's quotes, which HOCON and Python read too.
fn json(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

fn java(e: &Environment) -> String {
    let points: Vec<String> = e
        .contact_points
        .iter()
        .map(|point| json(&format!("{point}:{}", e.port)))
        .collect();
    let mut text = format!(
        "datastax-java-driver {{\n  basic.contact-points = [{}]\n  \
         basic.load-balancing-policy.local-datacenter = {}\n",
        points.join(", "),
        json(&e.data_center)
    );
    if let Some(credentials) = &e.credentials {
        let _infallible = write!(
            text,
            "  advanced.auth-provider {{\n    class = PlainTextAuthProvider\n    username = {}\n    \
             # the text of {}\n    password = ${{CASSANDRA_PASSWORD}}\n  }}\n",
            json(&credentials.username),
            credentials.password_file
        );
    }
    text.push_str("}\n");
    text
}

fn python(e: &Environment) -> String {
    let points: Vec<String> = e.contact_points.iter().map(|p| json(p)).collect();
    let (auth, provider) = match &e.credentials {
        None => (String::new(), ""),
        Some(credentials) => (
            format!(
                "from cassandra.auth import PlainTextAuthProvider\n\n\
                 auth = PlainTextAuthProvider({}, open({}).read().strip())\n",
                json(&credentials.username),
                json(&credentials.password_file)
            ),
            ", auth_provider=auth",
        ),
    };
    let (context, ssl) = match &e.tls {
        None => (String::new(), ""),
        Some(tls) => (
            format!(
                "import ssl\n\ncontext = ssl.create_default_context(cafile={})\n\
                 # The driver connects by address; the authority signs nothing but this cluster.\n\
                 context.check_hostname = False\n{}",
                json(&tls.ca),
                match (&tls.certificate, &tls.key) {
                    (Some(certificate), Some(key)) => format!(
                        "context.load_cert_chain({}, {})\n",
                        json(certificate),
                        json(key)
                    ),
                    _ => String::new(),
                }
            ),
            ", ssl_context=context",
        ),
    };
    format!(
        "from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile\n\
         from cassandra.policies import DCAwareRoundRobinPolicy\n{auth}{context}\n\
         profile = ExecutionProfile(load_balancing_policy=DCAwareRoundRobinPolicy(local_dc={}))\n\
         cluster = Cluster([{}], port={}, execution_profiles={{EXEC_PROFILE_DEFAULT: profile}}{provider}{ssl})\n\
         try:\n    session = cluster.connect()\n    \
         print(session.execute(\"SELECT release_version FROM system.local\").one().release_version)\n\
         finally:\n    cluster.shutdown()\n",
        json(&e.data_center),
        points.join(", "),
        e.port
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_go_bare() {
        assert_eq!(shell("/a/b-c_1.2,3"), "/a/b-c_1.2,3");
        assert_eq!(shell("/my home/$(rm -rf x)"), "'/my home/$(rm -rf x)'");
        assert_eq!(shell("it's"), r"'it'\''s'");
        assert_eq!(shell(""), "''");
        assert_eq!(fish(r"it's \ here"), r"'it\'s \\ here'");
        assert_eq!(double(r#"a "$HOME" `b` \"#), r#""a \"\$HOME\" \`b\` \\""#);
    }

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for value in [
            "/a/b",
            "it's",
            "$(id) `id` \\ \"x\" ; rm",
            "ä\nß",
            "",
            "*",
            "~",
            "#",
            "!x",
        ] {
            let said = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("printf %s {}", shell(value))])
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&said.stdout), value);
        }
    }
}
