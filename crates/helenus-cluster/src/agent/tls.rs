//! The encrypted connection between a conductor and an agent that listens: both show a certificate that was made for it.
//! Refuses authorities and names: a server is known by its certificate's fingerprint, a client by what it proves of the
//! token for the two certificates of this connection.

use super::patience::Patience;
use helenus_model::agent::{Fingerprint, Token};
use helenus_model::hex::sha256;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, DistinguishedName,
    ServerConfig, ServerConnection, SignatureScheme,
};
use sha2::{Digest as _, Sha256};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A peer that takes nothing for so long is gone.
const WRITES_WITHIN: Duration = Duration::from_secs(30);

/// Seconds of silence on a connection before the kernel asks whether the peer is still there; between two such questions;
/// and how many of them stay without an answer before it is gone.
const ASKS: (u64, u64, u32) = (10, 5, 3);

/// Bytes that are read from a socket at once.
const PIECE: usize = 16 << 10;

/// A certificate for one command, with its key.
pub(super) struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
    pub(super) fingerprint: Fingerprint,
}

impl Identity {
    pub(super) fn make() -> Result<Self, rcgen::Error> {
        let key = rcgen::KeyPair::generate()?;
        let certificate = rcgen::CertificateParams::default().self_signed(&key)?;
        Ok(Self {
            fingerprint: fingerprint(certificate.der()),
            certificate: certificate.der().clone(),
            key: key.serialize_der().into(),
        })
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone_key())
    }

    /// As a server that wants a certificate of every client.
    pub(super) fn server(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(Arc::new(Shown::new(None)))
            .with_single_cert(vec![self.certificate.clone()], self.key())?;
        Ok(Arc::new(config))
    }

    /// As a client of servers with these certificates.
    pub(super) fn client(
        &self,
        servers: Vec<Fingerprint>,
    ) -> Result<Arc<ClientConfig>, rustls::Error> {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Shown::new(Some(servers))))
            .with_client_auth_cert(vec![self.certificate.clone()], self.key())?;
        Ok(Arc::new(config))
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    Fingerprint(Sha256::digest(certificate.as_ref()).into())
}

/// What a client says to show that it knows the token: worth nothing with any other certificate of either side.
pub(super) fn proof(token: &Token, server: Fingerprint, client: Fingerprint) -> String {
    let parts = [&token.bytes()[..], &server.0, &client.0].concat();
    sha256(parts)
}

/// A certificate by its fingerprint: one of these, or any where there are none; always with the proof that its key is there.
#[derive(Debug)]
struct Shown {
    provider: CryptoProvider,
    wanted: Option<Vec<Fingerprint>>,
}

impl Shown {
    fn new(wanted: Option<Vec<Fingerprint>>) -> Self {
        Self {
            provider: default_provider(),
            wanted,
        }
    }
}

/// What stands in the error of a handshake with a server that is none of those that are wanted, before its fingerprint.
pub(super) const STRANGER: &str = "a certificate that was not expected: ";

impl ServerCertVerifier for Shown {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = fingerprint(certificate);
        match &self.wanted {
            Some(wanted) if !wanted.contains(&found) => {
                Err(rustls::Error::General(format!("{STRANGER}{found}")))
            }
            _ => Ok(ServerCertVerified::assertion()),
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

impl ClientCertVerifier for Shown {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        // What it proves comes after the handshake.
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        ServerCertVerifier::verify_tls12_signature(self, message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        ServerCertVerifier::verify_tls13_signature(self, message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ServerCertVerifier::supported_verify_schemes(self)
    }
}

/// Both directions of a connection, with the certificate of the other side.
pub(super) type Halves = (ReadHalf, WriteHalf, Fingerprint);

/// Shakes hands as a client, as far as the patience lasts.
pub(super) fn connect(
    tcp: TcpStream,
    config: Arc<ClientConfig>,
    patience: &Patience,
) -> io::Result<Halves> {
    // The name is looked at by nobody.
    let name = ServerName::try_from("helenus").map_err(io::Error::other)?;
    let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
    shake(tcp, connection.into(), patience)
}

/// Shakes hands as a server, as far as the patience lasts.
pub(super) fn accept(
    tcp: TcpStream,
    config: Arc<ServerConfig>,
    patience: &Patience,
) -> io::Result<Halves> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    shake(tcp, connection.into(), patience)
}

fn shake(tcp: TcpStream, mut with: Connection, patience: &Patience) -> io::Result<Halves> {
    tcp.set_nodelay(true)?;
    tcp.set_write_timeout(Some(WRITES_WITHIN))?;
    watch(&tcp)?;
    while with.is_handshaking() {
        if with.wants_write() {
            with.write_tls(&mut &tcp)?;
            continue;
        }
        patience.wait(&tcp)?;
        if with.read_tls(&mut &tcp)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Err(error) = with.process_new_packets() {
            // The alert that says why; the reason reported is the first one.
            let _best_effort = with.write_tls(&mut &tcp);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
    }
    let shown = with.peer_certificates().and_then(<[_]>::first);
    let shown = fingerprint(shown.ok_or(io::ErrorKind::InvalidData)?);
    let shared = Arc::new(Shared {
        tcp,
        with: Mutex::new(with),
    });
    shared.send(&mut shared.lock())?;
    let read = ReadHalf {
        shared: Arc::clone(&shared),
        patience: patience.clone(),
        raw: vec![0; PIECE],
        rest: 0..0,
    };
    Ok((read, WriteHalf { shared }, shown))
}

/// Lets the kernel notice a peer whose machine or network is gone.
fn watch(tcp: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    let (idle_s, between_s, times) = ASKS;
    sockopt::set_socket_keepalive(tcp, true)?;
    sockopt::set_tcp_keepidle(tcp, Duration::from_secs(idle_s))?;
    sockopt::set_tcp_keepintvl(tcp, Duration::from_secs(between_s))?;
    sockopt::set_tcp_keepcnt(tcp, times)?;
    let most = Duration::from_secs(idle_s + between_s * u64::from(times));
    let most_ms = u32::try_from(most.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(tcp, most_ms)?;
    Ok(())
}

#[derive(Debug)]
struct Shared {
    tcp: TcpStream,
    /// Held for no wait but that for the kernel to take what is sent: who reads waits before.
    with: Mutex<Connection>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.with.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, with: &mut Connection) -> io::Result<()> {
        while with.wants_write() {
            with.write_tls(&mut &self.tcp)?;
        }
        Ok(())
    }
}

/// What the other side sends.
#[derive(Debug)]
pub(super) struct ReadHalf {
    shared: Arc<Shared>,
    patience: Patience,
    raw: Vec<u8>,
    /// What of it was received, and not decrypted yet.
    rest: std::ops::Range<usize>,
}

impl Read for ReadHalf {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut with = self.shared.lock();
            match with.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                ended => return ended,
            }
            if self.rest.is_empty() {
                drop(with);
                self.patience.wait(&self.shared.tcp)?;
                let read = (&self.shared.tcp).read(&mut self.raw)?;
                self.rest = 0..read;
                with = self.shared.lock();
            }
            // Nothing received is the end, which it has to see as well.
            let taken = with.read_tls(&mut &self.raw[self.rest.clone()])?;
            self.rest.start += taken;
            with.process_new_packets()
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            self.shared.send(&mut with)?;
        }
    }
}

/// What is sent to the other side; its end is the end of what is sent.
#[derive(Debug)]
pub(super) struct WriteHalf {
    shared: Arc<Shared>,
}

impl WriteHalf {
    /// The connection, to cut it.
    pub(super) fn tcp(&self) -> io::Result<TcpStream> {
        self.shared.tcp.try_clone()
    }
}

impl Write for WriteHalf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut with = self.shared.lock();
        let written = with.writer().write(bytes)?;
        self.shared.send(&mut with)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut with = self.shared.lock();
        self.shared.send(&mut with)
    }
}

impl Drop for WriteHalf {
    fn drop(&mut self) {
        let mut with = self.shared.lock();
        with.send_close_notify();
        let _gone = self.shared.send(&mut with);
        let _gone = self.shared.tcp.shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::secret::same;
    use std::net::TcpListener;

    #[test]
    fn a_proof_is_worth_something_for_its_two_certificates_only() {
        let (token, a, b) = (
            Token::new([1; 32]),
            Fingerprint([2; 32]),
            Fingerprint([3; 32]),
        );
        let own = proof(&token, a, b);
        assert!(same(&own, &proof(&token, a, b)));
        for other in [
            proof(&token, b, a),
            proof(&token, a, a),
            proof(&Token::new([4; 32]), a, b),
        ] {
            assert!(!same(&own, &other));
        }
        assert!(!same(&own, &own[1..]) && !same(&own, ""));
    }

    /// Both ends of a connection, and what the client made of the server.
    fn pair(
        trusted: impl Fn(Fingerprint) -> Vec<Fingerprint>,
    ) -> (io::Result<Halves>, io::Result<Halves>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("bound");
        let (server, client) = (Identity::make(), Identity::make());
        let (server, client) = (server.expect("made"), client.expect("made"));
        let config = client.client(trusted(server.fingerprint)).expect("config");
        std::thread::scope(|scope| {
            let accepted = scope.spawn(|| {
                let (tcp, _) = listener.accept()?;
                accept(
                    tcp,
                    server.server().expect("config"),
                    &Patience::of(Duration::from_secs(20)),
                )
            });
            let tcp = TcpStream::connect(at).expect("connects");
            let connected = connect(tcp, config, &Patience::of(Duration::from_secs(20)));
            let accepted = accepted.join().expect("no panic");
            if let (Ok(connected), Ok(accepted)) = (&connected, &accepted) {
                assert_eq!(connected.2, server.fingerprint);
                assert_eq!(accepted.2, client.fingerprint);
            }
            (connected, accepted)
        })
    }

    #[test]
    fn both_directions_carry_what_was_written_and_end() {
        let (connected, accepted) = pair(|server| vec![server]);
        let (mut from_server, mut to_server, _) = connected.expect("shakes hands");
        let (mut from_client, mut to_client, _) = accepted.expect("shakes hands");
        // More than a record, and than a socket's buffers at once, in both directions.
        let many: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                to_client.write_all(&many).expect("writes");
                drop(to_client);
            });
            let read = scope.spawn(|| {
                let mut all = Vec::new();
                from_server.read_to_end(&mut all).map(|_| all)
            });
            to_server.write_all(b"plan\n").expect("writes");
            drop(to_server);
            let mut all = Vec::new();
            from_client.read_to_end(&mut all).expect("reads");
            assert_eq!(all, b"plan\n");
            assert!(read.join().expect("no panic").expect("reads") == many);
        });
    }

    #[test]
    fn a_server_with_another_certificate_is_none() {
        let (connected, accepted) = pair(|_| vec![Fingerprint([0; 32])]);
        let said = connected.expect_err("a stranger").to_string();
        assert!(said.contains(STRANGER), "{said}");
        assert!(accepted.is_err());
    }

    #[test]
    fn words_in_the_clear_are_no_handshake() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("bound");
        let server = Identity::make().expect("made");
        let mut tcp = TcpStream::connect(at).expect("connects");
        tcp.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("writes");
        let (accepted, _) = listener.accept().expect("accepts");
        let patience = Patience::of(Duration::from_secs(20));
        let error = accept(accepted, server.server().expect("config"), &patience);
        assert_eq!(
            error.expect_err("in the clear").kind(),
            io::ErrorKind::InvalidData
        );
    }
}
