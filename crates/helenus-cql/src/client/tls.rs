//! TLS over a dialled stream: the authority that is trusted, and the certificate that a client shows.
//! Refuses public authorities, names that do not match (but where a node is asked from beside it), and to read files.

use super::dial::{Stream, cut_short};
use super::error::ClientError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::ring::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, DigitallySignedStruct, RootCertStore,
    SignatureScheme, StreamOwned, WantsVerifier,
};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Whom to trust, and what to show: made once, used for many connections.
#[derive(Clone)]
pub struct Tls(Arc<ClientConfig>);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(trust and certificate, not shown)")
    }
}

/// A client's certificate with its private key, both as PEM.
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    /// The certificate, and those between it and the authority.
    pub certificate: &'a [u8],
    /// Its private key.
    pub key: &'a [u8],
}

/// Why texts make no [`Tls`].
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Not the PEM that is wanted.
    #[error("the {what} is not PEM")]
    Pem {
        /// Which text.
        what: &'static str,
        /// What is wrong with it.
        source: rustls::pki_types::pem::Error,
    },
    /// PEM without a certificate.
    #[error("the authority's text contains no certificate")]
    Empty,
    /// Certificate or key cannot be used.
    #[error("the {what} cannot be used")]
    Unusable {
        /// Which text.
        what: &'static str,
        /// Why not.
        source: rustls::Error,
    },
}

impl TlsError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Pem { .. } | Self::Empty => {
                "a PEM file has lines such as -----BEGIN CERTIFICATE-----; `openssl x509` and `openssl pkey` write them"
            }
            Self::Unusable { .. } => {
                "certificate and key must belong together; keys are ECDSA, Ed25519 or RSA"
            }
        }
    }
}

impl Tls {
    /// Trusts what the authorities in `ca` (PEM) have signed, and shows `identity` to a server that asks.
    ///
    /// # Errors
    /// A text is not PEM, or what stands in it cannot be used.
    pub fn new(ca: &[u8], identity: Option<Identity<'_>>) -> Result<Self, TlsError> {
        let builder = builder(AUTHORITY)?.with_root_certificates(roots(ca)?);
        Self::showing(builder, identity)
    }

    /// As [`Self::new`], for servers whose certificates are all for `name`, whatever address is dialled: in pods those
    /// change, and only servers of that name have a certificate of the authority.
    ///
    /// # Errors
    /// As [`Self::new`], or `name` is no name of a host.
    pub fn named(ca: &[u8], name: &str, identity: Option<Identity<'_>>) -> Result<Self, TlsError> {
        let unusable = |source| TlsError::Unusable {
            what: AUTHORITY,
            source,
        };
        let expected = ServerName::try_from(name.to_owned())
            .map_err(|error| unusable(rustls::Error::General(error.to_string())))?;
        let (provider, roots) = (Arc::new(default_provider()), Arc::new(roots(ca)?));
        let authority = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|error| unusable(rustls::Error::General(error.to_string())))?;
        Self::proved(AUTHORITY, Some((authority, expected)), identity)
    }

    /// [`Self::named`] where there is a name, else [`Self::new`].
    ///
    /// # Errors
    /// As those.
    pub fn of(
        ca: &[u8],
        name: Option<&str>,
        identity: Option<Identity<'_>>,
    ) -> Result<Self, TlsError> {
        match name {
            Some(name) => Self::named(ca, name, identity),
            None => Self::new(ca, identity),
        }
    }

    /// Takes whatever certificate the server shows, and shows `identity` to one that asks: for a probe that runs beside
    /// its node, at an address that no other process can have.
    ///
    /// # Errors
    /// The identity is not PEM, or cannot be used.
    pub fn unverified(identity: Option<Identity<'_>>) -> Result<Self, TlsError> {
        Self::proved(CLIENT, None, identity)
    }

    /// Whether this chain of certificates (PEM) proves to a client that trusts `ca` that a server is `name`, now.
    ///
    /// # Errors
    /// It does not, and why.
    pub fn prove(ca: &[u8], chain: &[u8], name: &str) -> Result<(), TlsError> {
        let failed = |source| TlsError::Unusable {
            what: SERVER,
            source,
        };
        let other = |error: String| failed(rustls::Error::General(error));
        let (provider, roots) = (Arc::new(default_provider()), Arc::new(roots(ca)?));
        let authority = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|error| other(error.to_string()))?;
        let name = ServerName::try_from(name).map_err(|error| other(error.to_string()))?;
        match &certificates(chain, SERVER)?[..] {
            [] => Err(TlsError::Empty),
            [own, between @ ..] => authority
                .verify_server_cert(own, between, &name, &[], UnixTime::now())
                .map(drop)
                .map_err(failed),
        }
    }

    fn proved(
        what: &'static str,
        wanted: Option<(Arc<WebPkiServerVerifier>, ServerName<'static>)>,
        identity: Option<Identity<'_>>,
    ) -> Result<Self, TlsError> {
        let provider = Arc::new(default_provider());
        let verifier = Arc::new(Instead { provider, wanted });
        let builder = builder(what)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        Self::showing(builder, identity)
    }

    fn showing(
        builder: ConfigBuilder<ClientConfig, WantsClientCert>,
        identity: Option<Identity<'_>>,
    ) -> Result<Self, TlsError> {
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain = certificates(identity.certificate, CLIENT)?;
                let key = PrivateKeyDer::from_pem_slice(identity.key).map_err(|source| {
                    TlsError::Pem {
                        what: CLIENT,
                        source,
                    }
                })?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|source| TlsError::Unusable {
                        what: CLIENT,
                        source,
                    })?
            }
        };
        Ok(Self(Arc::new(config)))
    }

    /// The same for another client over rustls.
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }

    /// Shakes hands with the server behind a dialled stream, within `limit`.
    pub(super) fn over(
        &self,
        tcp: TcpStream,
        addr: SocketAddr,
        limit: Duration,
    ) -> Result<Box<dyn Stream>, ClientError> {
        const DURING: &str = "the TLS handshake";
        let refused = |source| ClientError::Tls { addr, source };
        // The certificate names addresses: what was dialled is what is proved.
        let name = ServerName::IpAddress(addr.ip().into());
        let connection = ClientConnection::new(self.config(), name)
            .map_err(|error| refused(io::Error::other(error)))?;
        let mut stream = StreamOwned::new(connection, tcp);
        let deadline = Instant::now() + limit;
        while stream.conn.is_handshaking() {
            let left = deadline.saturating_duration_since(Instant::now());
            let turned = if left.is_zero() {
                Err(io::ErrorKind::TimedOut.into())
            } else {
                stream.sock.limit(left).and_then(|()| turn(&mut stream))
            };
            match turned {
                Ok(()) => {}
                Err(error) if cut_short(&error, deadline) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
                    ) =>
                {
                    return Err(ClientError::TimedOut {
                        during: DURING,
                        limit,
                    });
                }
                Err(error) => return Err(refused(error)),
            }
        }
        Ok(Box::new(Encrypted(stream)))
    }
}

/// What a client shows.
const CLIENT: &str = "client's certificate or key";

/// What a server shows.
const SERVER: &str = "server's certificate";

/// Whom it trusts.
const AUTHORITY: &str = "authority's certificate";

fn builder(what: &'static str) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, TlsError> {
    let provider = Arc::new(default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|source| TlsError::Unusable { what, source })
}

fn roots(ca: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca, AUTHORITY)? {
        roots
            .add(certificate)
            .map_err(|source| TlsError::Unusable {
                what: AUTHORITY,
                source,
            })?;
    }
    match roots.is_empty() {
        true => Err(TlsError::Empty),
        false => Ok(roots),
    }
}

/// Whom a server has to prove to be, where that is not the address that was dialled.
#[derive(Debug)]
struct Instead {
    provider: Arc<CryptoProvider>,
    /// The authority and the one name that its certificates are for; none believes a server that it has the key of its
    /// certificate, whatever that says.
    wanted: Option<(Arc<WebPkiServerVerifier>, ServerName<'static>)>,
}

impl ServerCertVerifier for Instead {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        _dialled: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.wanted {
            Some((authority, name)) => {
                authority.verify_server_cert(certificate, between, name, ocsp, now)
            }
            None => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}

fn certificates(text: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_slice_iter(text)
        .collect::<Result<_, _>>()
        .map_err(|source| TlsError::Pem { what, source })
}

/// One message of the handshake, out or in; what is sent is sent whole.
fn turn(stream: &mut StreamOwned<ClientConnection, TcpStream>) -> io::Result<()> {
    let StreamOwned { conn, sock } = stream;
    if conn.wants_write() {
        conn.write_tls(sock)?;
        return Ok(());
    }
    if conn.read_tls(sock)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    conn.process_new_packets()
        .map(drop)
        .inspect_err(|_| {
            // The alert that says why; the reason returned is the first one.
            let _best_effort = conn.write_tls(sock);
        })
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// A stream whose bytes nobody between can read.
struct Encrypted(StreamOwned<ClientConnection, TcpStream>);

impl Read for Encrypted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Encrypted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Stream for Encrypted {
    fn limit(&mut self, limit: Duration) -> io::Result<()> {
        self.0.sock.limit(limit)
    }

    fn stop_waiting(&mut self) -> io::Result<()> {
        self.0.sock.stop_waiting()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.sock.descriptor()
    }

    fn holds_back(&self) -> bool {
        self.0.conn.wants_write()
    }
}

/// Whether TLS itself is what failed, such as an alert for a certificate that was not shown.
pub(super) fn is_of_tls(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| inner.is::<rustls::Error>())
}
