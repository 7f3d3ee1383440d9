//! A cluster's own authority and what it signs: a certificate a node and one for clients, as PEM and as keystores.
//! Refuses to sign for anybody but the cluster's nodes and clients: its key stays in the cluster's folder, for nodes
//! that join later.

use super::{Parties, SecureError, Server};
use crate::wall::since_1970;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use p12_keystore::{
    Certificate as StoredCertificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain,
};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use std::net::IpAddr;
use std::time::Duration;

/// Certificates hold for ten years: a cluster for tests does not die of them, and no clock is that wrong.
const HOLDS: Duration = Duration::from_secs(10 * 365 * 86_400);

/// A client whose clock is behind by less than this still takes them.
const CLOCKS_APART: Duration = Duration::from_secs(86_400);

/// Rounds of the keystores' key derivation. They protect guessable passwords; this one has 256 random bits, and a
/// starting JVM reads its stores several times before it compiles anything.
const ROUNDS: u32 = 100;

/// File names and contents.
pub(super) struct Certificates {
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// The authority while it signs.
struct Authority {
    name: String,
    /// Its certificate in DER.
    certificate: Vec<u8>,
    issuer: Issuer<'static, KeyPair>,
}

/// Somebody with a certificate.
struct Holder {
    key: KeyPair,
    certificate: Certificate,
}

impl Certificates {
    /// All that a cluster needs, its keystores closed with `password`.
    pub(super) fn make(parties: &Parties<'_>, password: &str) -> Result<Self, SecureError> {
        let (authority, pem) = Authority::new(parties.cluster)?;
        let mut files = vec![
            (CA.to_owned(), pem.into_bytes()),
            (CA_KEY.to_owned(), authority.key()),
            ("truststore.p12".to_owned(), authority.truststore(password)?),
        ];
        for server in &parties.servers {
            files.push(authority.of_server(parties.cluster, server, password)?);
        }
        if parties.client_auth {
            files.extend(authority.of_client(parties.cluster, password)?);
        }
        Ok(Self { files })
    }

    /// The keystores of nodes that join a cluster whose authority is there already (its certificate and key as PEM), and
    /// what a client shows where none was made.
    pub(super) fn add(
        parties: &Parties<'_>,
        (ca, key): (&str, &str),
        password: &str,
    ) -> Result<Self, SecureError> {
        let authority = Authority::known(parties.cluster, ca, key)?;
        let servers = parties.servers.iter();
        let mut files = servers
            .map(|server| authority.of_server(parties.cluster, server, password))
            .collect::<Result<Vec<_>, _>>()?;
        if parties.client_auth {
            files.extend(authority.of_client(parties.cluster, password)?);
        }
        Ok(Self { files })
    }
}

/// Keystore and truststore of certificates that somebody else made, all PEM: the nodes' chain, its key, and whom they trust.
pub(super) fn stores(
    (chain, key, ca): (&str, &str, &str),
    password: &str,
) -> Result<(Vec<u8>, Vec<u8>), SecureError> {
    const OF: &str = "the nodes";
    let key = of_pem(key, "PRIVATE KEY").into_iter().next();
    let key = PrivateKey::from_der(&key.unwrap_or_default()).map_err(no_store(OF))?;
    let all = |text: &str| {
        let ders = of_pem(text, "CERTIFICATE").into_iter();
        ders.map(|der| stored(&der, OF))
            .collect::<Result<Vec<_>, _>>()
    };
    let mut own = KeyStore::new();
    let chain = PrivateKeyChain::new(OF.as_bytes().to_vec(), key, all(chain)?);
    own.add_entry(OF, KeyStoreEntry::PrivateKeyChain(chain));
    let mut trusted = KeyStore::new();
    for (place, one) in all(ca)?.into_iter().enumerate() {
        trusted.add_entry(&format!("ca{place}"), KeyStoreEntry::Certificate(one));
    }
    Ok((write(&own, password, OF)?, write(&trusted, password, OF)?))
}

/// What PEM has of this kind, as DER.
fn of_pem(text: &str, what: &str) -> Vec<Vec<u8>> {
    let (begin, end) = (
        format!("-----BEGIN {what}-----"),
        format!("-----END {what}-----"),
    );
    let parts = text.split(&begin).skip(1);
    let body = parts.filter_map(|part| part.split(&end).next());
    let lines = body.map(|body| body.split_whitespace().collect::<String>());
    lines
        .filter_map(|text| BASE64_STANDARD.decode(text).ok())
        .collect()
}

/// The authority's certificate.
pub(super) const CA: &str = "ca.pem";

/// The authority's key, for nodes that join later.
pub(super) const CA_KEY: &str = "ca.key";

/// What a client shows.
pub(super) const CLIENT: &str = "client.pem";

/// What a node's certificate is for: it is a client of its peers.
const BOTH: [ExtendedKeyUsagePurpose; 2] = [
    ExtendedKeyUsagePurpose::ServerAuth,
    ExtendedKeyUsagePurpose::ClientAuth,
];

impl Authority {
    /// A new one, with its certificate as PEM.
    fn new(cluster: &str) -> Result<(Self, String), SecureError> {
        let (name, params) = Self::params(cluster);
        let failed = |source| SecureError::Certificate {
            of: name.clone(),
            source,
        };
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        let pem = certificate.pem();
        let authority = Self {
            name,
            certificate: certificate.der().to_vec(),
            issuer: Issuer::new(params, key),
        };
        Ok((authority, pem))
    }

    /// The one of an existing cluster.
    fn known(cluster: &str, ca: &str, key: &str) -> Result<Self, SecureError> {
        let (name, params) = Self::params(cluster);
        let failed = |source| SecureError::Certificate {
            of: name.clone(),
            source,
        };
        let lines = ca.lines().filter(|line| !line.starts_with("-----"));
        let certificate = BASE64_STANDARD.decode(lines.collect::<String>());
        let certificate =
            certificate.map_err(|_| failed(rcgen::Error::CouldNotParseCertificate))?;
        let key = KeyPair::from_pem(key).map_err(failed)?;
        Ok(Self {
            name,
            certificate,
            issuer: Issuer::new(params, key),
        })
    }

    fn params(cluster: &str) -> (String, CertificateParams) {
        let name = format!("authority of {cluster}");
        let mut params = params(&name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (name, params)
    }

    fn key(&self) -> Vec<u8> {
        self.issuer.key().serialize_pem().into_bytes()
    }

    /// The name and contents of a node's keystore.
    fn of_server(
        &self,
        cluster: &str,
        server: &Server,
        password: &str,
    ) -> Result<(String, Vec<u8>), SecureError> {
        let name = format!("{cluster}/{}", server.name);
        let holder = self.sign(&name, Some(server), &BOTH)?;
        let store = self.keystore(&server.name, &holder, password)?;
        Ok((server.keystore(), store))
    }

    /// What a client shows, as a keystore and as PEM.
    fn of_client(
        &self,
        cluster: &str,
        password: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, SecureError> {
        let name = format!("client of {cluster}");
        let client = self.sign(&name, None, &BOTH[1..])?;
        let store = self.keystore("client", &client, password)?;
        Ok(vec![
            ("client.p12".to_owned(), store),
            (CLIENT.to_owned(), client.certificate.pem().into_bytes()),
            (
                "client.key".to_owned(),
                client.key.serialize_pem().into_bytes(),
            ),
        ])
    }

    fn sign(
        &self,
        name: &str,
        server: Option<&Server>,
        purposes: &[ExtendedKeyUsagePurpose],
    ) -> Result<Holder, SecureError> {
        let failed = |source| SecureError::Certificate {
            of: name.to_owned(),
            source,
        };
        let mut params = params(name);
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = purposes.to_vec();
        if let Some(server) = server {
            let localhost = ["localhost".to_owned()];
            for name in localhost.iter().chain(&server.dns) {
                let name = name.as_str().try_into().map_err(failed)?;
                params.subject_alt_names.push(SanType::DnsName(name));
            }
            let ips = server.addresses.iter();
            let ips = ips.map(|ip| SanType::IpAddress(IpAddr::V4(*ip)));
            params.subject_alt_names.extend(ips);
        }
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(Holder { key, certificate })
    }

    fn truststore(&self, password: &str) -> Result<Vec<u8>, SecureError> {
        let mut store = KeyStore::new();
        let own = stored(&self.certificate, &self.name)?;
        store.add_entry("ca", KeyStoreEntry::Certificate(own));
        write(&store, password, &self.name)
    }

    fn keystore(&self, of: &str, holder: &Holder, password: &str) -> Result<Vec<u8>, SecureError> {
        let key = PrivateKey::from_der(holder.key.serialized_der()).map_err(no_store(of))?;
        let chain = [
            stored(holder.certificate.der(), of)?,
            stored(&self.certificate, of)?,
        ];
        let entry = PrivateKeyChain::new(of.as_bytes().to_vec(), key, chain);
        let mut store = KeyStore::new();
        store.add_entry(of, KeyStoreEntry::PrivateKeyChain(entry));
        write(&store, password, of)
    }
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    let now = since_1970();
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(CLOCKS_APART);
    params.not_after = epoch + (now + HOLDS);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "Helenus");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn stored(der: &[u8], of: &str) -> Result<StoredCertificate, SecureError> {
    StoredCertificate::from_der(der).map_err(no_store(of))
}

fn write(store: &KeyStore, password: &str, of: &str) -> Result<Vec<u8>, SecureError> {
    store
        .writer(password)
        .encryption_iterations(ROUNDS)
        .mac_iterations(ROUNDS)
        .write()
        .map_err(no_store(of))
}

fn no_store(of: &str) -> impl FnOnce(p12_keystore::error::Error) -> SecureError {
    let of = of.to_owned();
    move |source| SecureError::Keystore { of, source }
}
