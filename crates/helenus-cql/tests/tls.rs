//! TLS against a rustls server in a thread of this process: who gets in, who does not, and which error each gets.
//! Refuses a JVM: whether Cassandra's own TLS agrees is for the outer ring.

mod fake;

use fake::{Channel, Fake, Script};
use helenus_cql::client::{Identity, Tls, TlsError};
use helenus_cql::{Client, ClientError, ConnectOptions, Consistency, Credentials, Secret, Version};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, SanType};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An authority that signs what a test needs.
struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let issuer = Issuer::new(params, key);
        Self {
            certificate,
            issuer,
        }
    }

    fn sign(&self, address: Ipv4Addr) -> (Certificate, KeyPair) {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![
            SanType::IpAddress(IpAddr::V4(address)),
            SanType::DnsName("demo".try_into().expect("a name")),
        ];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        (certificate, key)
    }

    /// A server whose certificate is for `address`; it wants a client certificate of this authority if `asks`.
    fn server(&self, address: Ipv4Addr, asks: bool) -> Fake {
        let (certificate, key) = self.sign(address);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(self.certificate.der().clone()).expect("a root");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = builder
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("they belong together");
        let config = Arc::new(config);
        Fake::start_over(Script::default(), move |stream| -> Box<dyn Channel> {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            Box::new(StreamOwned::new(connection, stream))
        })
    }
}

fn options(tls: Option<Tls>, protocol: Version) -> ConnectOptions {
    ConnectOptions {
        dialer: None,
        timeout: Duration::from_secs(5),
        credentials: Some(Credentials {
            username: "ada".to_owned(),
            password: Secret::new("love lace"),
        }),
        tls,
        compression: None,
        protocol,
    }
}

fn trusting(authority: &Authority) -> Tls {
    Tls::new(authority.certificate.pem().as_bytes(), None).expect("trust")
}

#[test]
fn one_who_trusts_the_authority_gets_in_and_reads_page_after_page() {
    let authority = Authority::new();
    let server = authority.server(Ipv4Addr::LOCALHOST, false);
    for version in [Version::V4, Version::V5] {
        let options = options(Some(trusting(&authority)), version);
        let mut client = Client::connect(server.addr, &options).expect("gets in");
        let rows = client.query("SELECT many", Consistency::One).expect("rows");
        assert_eq!(rows.rows.len(), 12_001, "more than a TLS record holds");
    }
}

#[test]
fn who_trusts_another_authority_or_dialled_another_address_does_not() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = authority.server(Ipv4Addr::LOCALHOST, false);
    let stranger = options(Some(trusting(&other)), Version::V5);
    let elsewhere = authority.server(Ipv4Addr::new(127, 9, 9, 9), false);
    let trusting = options(Some(trusting(&authority)), Version::V5);
    for (server, options) in [(server, stranger), (elsewhere, trusting)] {
        let error = Client::connect(server.addr, &options).expect_err("not trusted");
        assert!(matches!(error, ClientError::Tls { .. }), "{error:?}");
        assert!(error.hint().is_some_and(|hint| hint.contains("authority")));
    }
}

#[test]
fn where_a_name_is_expected_the_address_does_not_count_and_the_authority_does() {
    let (authority, other) = (Authority::new(), Authority::new());
    // Its certificate is for another address than the one that is dialled, and for the name.
    let server = authority.server(Ipv4Addr::new(127, 9, 9, 9), false);
    let named = |authority: &Authority, name: &str| {
        let pem = authority.certificate.pem();
        let tls = Tls::named(pem.as_bytes(), name, None).expect("trust");
        Client::connect(server.addr, &options(Some(tls), Version::V5))
    };
    named(&authority, "demo").expect("gets in");
    for refused in [named(&authority, "demo2"), named(&other, "demo")] {
        let error = refused.expect_err("not trusted");
        assert!(matches!(error, ClientError::Tls { .. }), "{error:?}");
    }
    let pem = authority.certificate.pem();
    let error = Tls::named(pem.as_bytes(), "no name", None).expect_err("no name");
    assert!(matches!(error, TlsError::Unusable { .. }), "{error:?}");
}

#[test]
fn a_client_certificate_is_asked_for_and_shown() {
    let authority = Authority::new();
    let server = authority.server(Ipv4Addr::LOCALHOST, true);
    let unnamed = options(Some(trusting(&authority)), Version::V5);
    let error = Client::connect(server.addr, &unnamed).expect_err("shows none");
    assert!(
        matches!(
            error,
            ClientError::TlsEnded { .. } | ClientError::Tls { .. } | ClientError::Closed { .. }
        ),
        "{error:?}"
    );
    let shows = |by: &Authority| {
        let (certificate, key) = by.sign(Ipv4Addr::LOCALHOST);
        let (certificate, key) = (certificate.pem(), key.serialize_pem());
        let identity = Identity {
            certificate: certificate.as_bytes(),
            key: key.as_bytes(),
        };
        let ca = authority.certificate.pem();
        Tls::new(ca.as_bytes(), Some(identity)).expect("they belong together")
    };
    let named = options(Some(shows(&authority)), Version::V5);
    assert!(Client::connect(server.addr, &named).is_ok());
    let forged = options(Some(shows(&Authority::new())), Version::V5);
    assert!(Client::connect(server.addr, &forged).is_err());
}

#[test]
fn one_end_without_tls_is_an_error_within_the_time() {
    let authority = Authority::new();
    let tls = || Some(trusting(&authority));
    let open = Fake::start(Script::default());
    let begin = Instant::now();
    let limit = Duration::from_secs(2);
    let hurried = |tls| ConnectOptions {
        timeout: limit,
        ..options(tls, Version::V5)
    };
    assert!(Client::connect(open.addr, &hurried(tls())).is_err());
    let closed = authority.server(Ipv4Addr::LOCALHOST, false);
    assert!(Client::connect(closed.addr, &hurried(None)).is_err());
    // Nobody ever answers there.
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = deaf.local_addr().expect("bound");
    let error = Client::connect(addr, &hurried(tls())).expect_err("deaf");
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error:?}");
    assert!(begin.elapsed() < Duration::from_secs(20), "none hangs");
}

#[test]
fn texts_that_make_no_trust_are_distinguished() {
    let authority = Authority::new();
    let ca = authority.certificate.pem();
    assert!(matches!(Tls::new(b"", None), Err(TlsError::Empty)));
    let broken = ca.replace("-----END", "-----NO");
    let broken = Tls::new(broken.as_bytes(), None);
    assert!(matches!(
        broken,
        Err(TlsError::Pem { .. } | TlsError::Empty)
    ));
    let (certificate, _) = authority.sign(Ipv4Addr::LOCALHOST);
    let (certificate, key) = (certificate.pem(), KeyPair::generate().expect("a key"));
    let key = key.serialize_pem();
    let identity = Identity {
        certificate: certificate.as_bytes(),
        key: key.as_bytes(),
    };
    let unlike = Tls::new(ca.as_bytes(), Some(identity));
    assert!(
        matches!(unlike, Err(TlsError::Unusable { .. })),
        "{unlike:?}"
    );
}
