//! What the shell asks a real node for: descriptions, traces, conditions; and JMX and a program beside the node.

use super::home::Home;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

/// On a running cluster `c` of one node with the table k.t, which is made anew.
pub(crate) fn of_one_node(home: &Home) {
    let run = |text: &str| home.helenus(&["cql", "c", "-e", text]).ok().stdout;
    assert!(run("DESCRIBE CLUSTER").starts_with("Cluster: c\nPartitioner: Murmur3Partitioner\n"));
    assert!(run("DESC TABLES").lines().any(|line| line == "k.t"));
    // A description is text that can be run: the keyspace is made anew from it.
    let described = run("DESCRIBE KEYSPACE k");
    assert!(
        described.contains("CREATE TABLE k.t (\n    id int PRIMARY KEY"),
        "{described}"
    );
    let file = home.path().join("k.cql");
    fs_err::write(&file, &described).expect("a file");
    run("DROP KEYSPACE k");
    home.helenus(&["cql", "c", "-f", &file.to_string_lossy()])
        .ok();
    assert_eq!(run("DESCRIBE KEYSPACE k"), described);
    let condition = "SERIAL CONSISTENCY LOCAL_SERIAL\n\
                     INSERT INTO k.t (id, v) VALUES (1, 'a') IF NOT EXISTS; \
                     INSERT INTO k.t (id, v) VALUES (1, 'b') IF NOT EXISTS;";
    let applied = run(condition);
    assert!(
        applied.contains("True") && applied.contains("False"),
        "{applied}"
    );
    let traced = run("TRACING ON\nSELECT v FROM k.t WHERE id = 1;");
    assert!(traced.contains("Request complete"), "{traced}");
    let id = traced.split("Tracing session: ").nth(1).expect("a trace");
    let id = id.lines().next().expect("its id");
    let again = run(&format!("SHOW SESSION {id}"));
    assert!(again.contains("Parsing SELECT v FROM k.t"), "{again}");
    jmx_and_a_program(home);
}

fn jmx_and_a_program(home: &Home) {
    let said = home.helenus(&["jmx", "c", "--format", "json"]).ok();
    let opened = said.json();
    let text = |field: &str| opened[field].as_str().expect("a text").to_owned();
    let place = text("url");
    let place = place
        .split('/')
        .find(|part| part.contains(':') && part.contains('.'));
    TcpStream::connect(place.expect("an address")).expect("JMX listens");
    let file = text("password_file");
    let mode = fs_err::metadata(&file)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let line = fs_err::read_to_string(&file).expect("a file");
    let (user, password) = line.trim().split_once(' ').expect("two words");
    assert_eq!(user, text("user"));
    let text_form = home.helenus(&["jmx", "c/node1"]).ok();
    for said in [&said.stdout, &text_form.stdout] {
        assert!(!said.contains(password), "the password is printed");
    }
    let script = "echo $CASSANDRA_CONTACT_POINTS:$CASSANDRA_PORT; nodetool version";
    let beside = home.helenus(&["exec", "c", "--", "sh", "-c", script]).ok();
    let address = home.helenus(&["env", "c", "--as", "json"]).ok().json();
    let address = format!(
        "{}:{}\n",
        address["contact_points"][0].as_str().unwrap_or_default(),
        address["port"]
    );
    assert!(
        beside.stdout.starts_with(&address) && beside.stdout.contains("5.0.9"),
        "{beside}"
    );
}
