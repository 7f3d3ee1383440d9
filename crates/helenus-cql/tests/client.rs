//! The client against a server in a thread of this process, which speaks through the same codec.
//! Refuses a real Cassandra: that is the outer ring's.

mod fake;

use fake::{Fake, Script};
use helenus_cql::client::{ClientError, Stream};
use helenus_cql::codec::ServerErrorKind;
use helenus_cql::{Client, ConnectOptions, Consistency, Credentials, Secret, Version};
use helenus_model::cql::CqlValue;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const BOTH: [Version; 2] = [Version::V4, Version::V5];

fn options(protocol: Version) -> ConnectOptions {
    let username = "ada".to_owned();
    let password = Secret::new("love lace");
    ConnectOptions {
        dialer: None,
        timeout: Duration::from_secs(5),
        credentials: Some(Credentials { username, password }),
        protocol,
        tls: None,
        compression: None,
    }
}

fn connect(fake: &Fake, protocol: Version) -> Client {
    Client::connect(fake.addr, &options(protocol)).expect("the fake takes ada")
}

#[test]
fn opens_logs_in_and_queries_in_both_versions() {
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let mut client = connect(&fake, version);
        assert_eq!(client.protocol(), version);
        let rows = client
            .query("SELECT one", Consistency::One)
            .expect("answers");
        let row = rows.first().expect("one row");
        assert_eq!(row.int("n"), Ok(0));
        assert_eq!(row.text("name"), Ok("row 0"));
        assert!(row.int("name").is_err() && row.int("other").is_err());
        assert_eq!(client.take_warnings(), ["careful"]);
        assert!(
            client
                .query("CREATE nothing", Consistency::One)
                .expect("void")
                .is_empty()
        );
        client.use_keyspace("Ks").expect("set");
        let supported = client.options().expect("supported");
        assert_eq!(supported["CQL_VERSION"], ["3.4.7"]);
    }
}

#[test]
fn follows_pages_and_takes_single_ones() {
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let mut client = connect(&fake, version);
        let rows = client
            .query("SELECT many", Consistency::Quorum)
            .expect("answers");
        let numbers: Vec<_> = rows.iter().map(|row| row.int("n").expect("int")).collect();
        assert_eq!(numbers, (0..12_001).collect::<Vec<_>>());
        let first = client
            .query_page("SELECT many", Consistency::One, 10, None)
            .expect("a page");
        assert_eq!(first.rows.len(), 10);
        let next = client.query_page("SELECT many", Consistency::One, 10, first.paging_state);
        let next = next.expect("a page").rows;
        assert_eq!(next.first().expect("a row").int("n"), Ok(10));
    }
}

#[test]
fn prepares_binds_and_executes() {
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let mut client = connect(&fake, version);
        let name = CqlValue::Text("ü".repeat(200_000));
        let values = [Some(CqlValue::Int(7)), Some(name.clone())];
        let rows = client
            .query_with("ECHO ? ?", &values, Consistency::One)
            .expect("answers");
        assert_eq!(rows.rows, [values.to_vec()], "over several frames in v5");
        let prepared = client.prepare("ECHO ? ?").expect("prepared");
        let nulls = client
            .execute(&prepared, &[None, None], Consistency::One)
            .expect("answers");
        assert_eq!(nulls.rows, [[None, None]]);
        let few = client.execute(&prepared, &[None], Consistency::One);
        assert!(matches!(
            few,
            Err(ClientError::ValueCount {
                markers: 2,
                values: 1
            })
        ));
        let wrong = client.execute(&prepared, &[Some(name), None], Consistency::One);
        let wrong = wrong.expect_err("text is no int");
        assert_eq!(wrong.to_string(), "the value for n does not fit");
        assert!(
            client.query("SELECT one", Consistency::One).is_ok(),
            "still usable"
        );
    }
}

#[test]
fn server_errors_are_typed_and_leave_the_connection_usable() {
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let mut client = connect(&fake, version);
        let error = client.query("FAIL", Consistency::All).expect_err("fails");
        assert_eq!(error.to_string(), "unavailable: too few");
        let hint = error.hint().expect("a hint");
        assert!(hint.starts_with("too few replicas are up"), "{hint}");
        let kind = &error.server().expect("the server's").kind;
        assert!(matches!(
            kind,
            ServerErrorKind::Unavailable {
                consistency: Consistency::All,
                required: 3,
                alive: 1
            }
        ));
        assert!(client.query("SELECT one", Consistency::One).is_ok());
    }
}

#[test]
fn falls_back_to_v4_on_a_new_connection() {
    let fake = Fake::start(Script {
        only_v4: true,
        ..Script::default()
    });
    let client = connect(&fake, Version::V5);
    assert_eq!(client.protocol(), Version::V4);
    let stream = Box::new(TcpStream::connect(fake.addr).expect("listens"));
    let error = Client::over(stream, &options(Version::V5)).expect_err("v5 exactly");
    assert!(
        matches!(
            error,
            ClientError::Version {
                asked: Version::V5,
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn log_in_failures_are_distinguished() {
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let nobody = ConnectOptions {
            credentials: None,
            ..options(version)
        };
        let missing = Client::connect(fake.addr, &nobody).expect_err("nobody");
        assert!(matches!(missing, ClientError::CredentialsMissing { .. }));
        let mut wrong = options(version);
        if let Some(credentials) = &mut wrong.credentials {
            credentials.password = Secret::new("guess");
        }
        assert!(!format!("{wrong:?}").contains("guess"));
        let refused = Client::connect(fake.addr, &wrong).expect_err("wrong");
        assert!(matches!(&refused, ClientError::Refusal { username, .. } if username == "ada"));
        let other = Fake::start(Script {
            authenticator: Some("com.example.Iris"),
            ..Script::default()
        });
        let unknown = Client::connect(other.addr, &options(version)).expect_err("unknown");
        assert!(matches!(unknown, ClientError::Authenticator { .. }));
        let open = Fake::start(Script {
            authenticator: None,
            ..Script::default()
        });
        assert!(Client::connect(open.addr, &nobody).is_ok());
    }
}

#[test]
fn a_late_answer_is_dropped_and_the_connection_stays_usable() {
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let mut client = connect(&fake, version);
        client.set_timeout(Duration::from_millis(40));
        let begun = Instant::now();
        let error = client.query("LATE", Consistency::One).expect_err("late");
        assert!(
            matches!(
                error,
                ClientError::TimedOut {
                    during: "the query",
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(begun.elapsed() >= Duration::from_millis(40));
        client.set_timeout(Duration::from_secs(5));
        let rows = client
            .query("SELECT one", Consistency::One)
            .expect("answers");
        assert_eq!(rows.first().expect("a row").text("name"), Ok("row 0"));
    }
}

#[test]
fn a_cancelled_request_leaves_the_connection_usable() {
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let mut client = connect(&fake, version);
        let flag = Arc::new(AtomicBool::new(false));
        client.cancel_by(Arc::clone(&flag));
        let rows = client.query("SELECT one", Consistency::One);
        assert_eq!(rows.expect("nobody cancelled").len(), 1);
        flag.store(true, Ordering::SeqCst);
        let error = client.query("LATE", Consistency::One).expect_err("late");
        assert!(matches!(error, ClientError::Cancelled { .. }), "{error:?}");
        assert!(!client.is_broken());
        flag.store(false, Ordering::SeqCst);
        let rows = client.query("SELECT one", Consistency::One);
        let rows = rows.expect("the late answer is dropped");
        assert_eq!(rows.first().expect("a row").text("name"), Ok("row 0"));
    }
}

#[test]
fn traces_are_asked_for_and_their_ids_kept() {
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let mut client = connect(&fake, version);
        client.set_tracing(true);
        client.query("SELECT one", Consistency::One).expect("rows");
        client.query("INSERT", Consistency::One).expect("nothing");
        client.set_tracing(false);
        client.query("SELECT one", Consistency::One).expect("rows");
        assert_eq!(client.take_traces(), [[7; 16]; 2]);
        assert!(client.take_traces().is_empty());
        assert_eq!(client.keyspace(), None);
        client.use_keyspace("Ks").expect("set");
        assert_eq!(client.keyspace(), Some("Ks"));
    }
}

#[test]
fn a_server_that_hangs_closes_or_babbles_is_distinguished() {
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let mut client = connect(&fake, version);
        let closed = client.query("CLOSE", Consistency::One).expect_err("closes");
        assert!(
            matches!(
                closed,
                ClientError::Closed {
                    during: "the query"
                }
            ),
            "{closed:?}"
        );
        let broken = client
            .query("SELECT one", Consistency::One)
            .expect_err("broken");
        assert!(matches!(broken, ClientError::Broken));
        let mut client = connect(&fake, version);
        let babble = client
            .query("BABBLE", Consistency::One)
            .expect_err("babbles");
        assert!(matches!(babble, ClientError::Protocol { .. }), "{babble:?}");
    }
    // An address of its own, so that no other test is given the port once it is free again.
    let silent = TcpListener::bind("127.45.67.89:0").expect("a port");
    let addr = silent.local_addr().expect("bound");
    let patience = Duration::from_millis(40);
    let hang = ConnectOptions {
        timeout: patience,
        ..options(Version::V5)
    };
    let error = Client::connect(addr, &hang).expect_err("nobody answers");
    assert!(
        matches!(
            error,
            ClientError::TimedOut {
                during: "STARTUP",
                ..
            }
        ),
        "{error:?}"
    );
    drop(silent);
    let error = Client::connect(addr, &hang).expect_err("nobody listens");
    assert!(matches!(error, ClientError::Refused { .. }), "{error:?}");
    assert!(error.hint().is_some());
}

#[test]
fn a_stream_that_gives_one_byte_at_a_time_is_enough() {
    struct Drip(TcpStream);
    impl std::io::Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(&mut buffer[..1])
        }
    }
    impl std::io::Write for Drip {
        fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
            self.0.write(&buffer[..1])
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    impl Stream for Drip {
        fn limit(&mut self, limit: Duration) -> std::io::Result<()> {
            self.0.limit(limit)
        }
    }
    for version in BOTH {
        let fake = Fake::start(Script::default());
        let stream = Drip(TcpStream::connect(fake.addr).expect("listens"));
        let mut client = Client::over(Box::new(stream), &options(version)).expect("opens");
        assert_eq!(
            client
                .query("SELECT one", Consistency::One)
                .expect("answers")
                .len(),
            1
        );
    }
}
