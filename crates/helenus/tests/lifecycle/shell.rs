//! The interactive session at a real pseudo-terminal: lines, commands, completion, history, Ctrl-C and Ctrl-D.

use crate::lab::TestLab;
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt as _;

const USERS: &str = "CREATE KEYSPACE shop WITH replication = \
    {'class': 'SimpleStrategy', 'replication_factor': 1}; \
    CREATE TABLE shop.users (id int PRIMARY KEY, name text, city text);";

fn served() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    lab.done(&["cql", "c", "-e", USERS]);
    lab
}

#[test]
fn a_session_runs_statements_of_several_lines_and_commands_and_goes_on_after_errors() {
    let lab = served();
    let mut at = lab.at_terminal(&["cql", "c"], 80);
    at.expect("Ctrl-D leaves.");
    at.expect("c> ");
    at.type_keys("SELECT cluster_name,\r");
    at.type_keys("data_center FROM system.local;\r");
    at.expect(" cluster_name | data_center\r\n--------------+-------------\r\n");
    at.expect("            c | datacenter1\r\n\r\n(1 rows)\r\n");
    at.type_keys("CONSISTENCY QUORUM\r");
    at.expect("Consistency level set to QUORUM.\r\n");
    at.type_keys("expand on\r");
    at.expect("Expanded output is on.\r\n");
    at.type_keys("SELECT data_center FROM system.local;\r");
    at.expect("@ Row 1\r\n");
    at.type_keys("SELECT nothing FROM nowhere.t;\r");
    at.expect("invalid request");
    at.type_keys("TRACING MAYBE\r");
    at.expect("TRACING takes ON or OFF, not \"MAYBE\"");
    at.type_keys("USE shop;\r");
    at.expect("c:shop> ");
    at.type_keys("EXIT\r");
    assert_eq!(at.end(), "0");
}

#[test]
fn tab_completes_keywords_commands_and_what_the_cluster_has() {
    let lab = served();
    let mut at = lab.at_terminal(&["cql", "c/node1"], 80);
    at.expect("c/node1> ");
    at.type_keys("CONS\t\r");
    at.expect("Current consistency level is ONE.");
    at.type_keys("USE sh\t;\r");
    at.expect("c/node1:shop> ");
    at.type_keys("CREATE TABLE orders (id int PRIMARY KEY, placed text);\r");
    at.expect("c/node1:shop> ");
    // Both tables of the keyspace in use, one of them a moment old.
    at.type_keys("SELECT * FROM \t\t");
    at.expect("orders");
    at.expect("users");
    at.type_keys("\x03");
    at.expect("c/node1:shop> ");
    at.expect("c/node1:shop> ");
    assert_eq!(at.leave(), "0");
}

#[test]
fn rows_come_page_by_page_and_tables_fit_the_terminal() {
    let lab = served();
    let mut at = lab.at_terminal(&["cql", "c"], 40);
    at.expect("c> ");
    at.type_keys("PAGING 2\r");
    at.expect("Paging is on: 2 rows a page.\r\n");
    let columns = "SELECT keyspace_name, table_name, column_name FROM system_schema.columns;\r";
    at.type_keys(columns);
    let first = at.expect("---MORE---");
    let table = first.split("\r\n").filter(|line| line.contains(" | "));
    for line in table {
        assert!(line.chars().count() <= 40, "{line:?}");
    }
    assert!(first.contains('…'), "{first}");
    at.type_keys(" ");
    at.expect("\r\n\r\n(3 rows)\r\n");
    at.expect("EXPAND ON shows them whole");
    at.type_keys(columns);
    at.expect("---MORE---");
    at.type_keys("q");
    at.expect("(2 rows, and there are more)");
    assert_eq!(at.leave(), "0");
}

#[test]
fn ctrl_c_cancels_the_line_or_the_running_statement_and_the_session_goes_on() {
    let lab = served();
    let mut at = lab.at_terminal(&["cql", "c"], 80);
    at.expect("c> ");
    at.type_keys("SELECT nonsense\x03");
    at.expect("c> ");
    lab.done(&["pause", "c"]);
    // A Ctrl-C that is quicker than the statement keeps it from being sent: then it is typed again.
    let cancelled = (0..10).any(|_| {
        at.type_keys("SELECT data_center FROM system.local;\r");
        at.expect("\r\n");
        at.expect_running();
        at.type_keys("\x03");
        at.expect("c> ").contains("was cancelled")
    });
    assert!(cancelled, "no statement was cancelled while it ran");
    lab.done(&["resume", "c"]);
    at.type_keys("SELECT rack FROM system.local;\r");
    at.expect(" rack\r\n");
    at.expect("(1 rows)");
    assert_eq!(at.leave(), "0");
}

#[test]
fn history_is_kept_for_the_next_session_and_passwords_are_not() {
    let lab = served();
    let mut first = lab.at_terminal(&["cql", "c"], 80);
    first.expect("c> ");
    first.type_keys("SELECT rack\rFROM system.local;\r");
    first.expect("(1 rows)");
    first.type_keys("CREATE ROLE ada WITH PASSWORD = 'love lace';\r");
    first.expect("invalid request");
    assert_eq!(first.leave(), "0");
    let file = lab.path("home/state/cqlsh_history");
    let kept = fs_err::read_to_string(&file).expect("a history");
    assert!(
        kept.contains("SELECT rack") && !kept.contains("ada"),
        "{kept}"
    );
    let mode = fs_err::metadata(&file)
        .expect("a history")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut second = lab.at_terminal(&["cql", "c"], 80);
    second.expect("c> ");
    second.type_keys("\x1b[A\r");
    second.expect(" rack\r\n");
    second.expect("(1 rows)");
    second.type_keys("exit\r");
    assert_eq!(second.end(), "0");
}

#[test]
fn a_node_that_came_back_is_connected_to_again_in_the_same_keyspace() {
    let lab = served();
    let mut at = lab.at_terminal(&["cql", "c"], 80);
    at.expect("c> ");
    lab.done(&["kill", "c"]);
    lab.done(&["start", "c"]);
    at.type_keys("SELECT rack FROM system.local;\r");
    at.expect("the server closed the connection");
    at.type_keys("SELECT rack FROM system.local;\r");
    at.expect("(1 rows)");
    assert_eq!(at.leave(), "0");
}

#[test]
fn a_signal_that_ends_the_session_puts_the_terminal_back() {
    let lab = served();
    let mut at = lab.at_terminal(&["cql", "c"], 80);
    at.expect("c> ");
    rustix::process::kill_process(at.pid(), Signal::TERM).expect("a signal to our own child");
    assert_eq!(at.end(), "130");
    at.expect_running();
}
