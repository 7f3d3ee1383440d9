//! A cluster's own authority and what it signs: a certificate a node and one for clients, as PEM and as keystores.
//! Refuses to sign for anybody but the cluster's nodes and clients: its key stays in the cluster's folder, for nodes
//! that join later.

use super::SecureError;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use helenus_model::plan::{ClusterPlan, NodePlan};
use p12_keystore::{
    Certificate as StoredCertificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain,
};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    pub(super) fn make(plan: &ClusterPlan, password: &str) -> Result<Self, SecureError> {
        let (authority, pem) = Authority::new(&plan.name)?;
        let mut files = vec![
            (CA.to_owned(), pem.into_bytes()),
            (CA_KEY.to_owned(), authority.key()),
            ("truststore.p12".to_owned(), authority.truststore(password)?),
        ];
        for node in &plan.nodes {
            files.push(authority.of_node(plan, node, password)?);
        }
        if plan.security.client_auth {
            let name = format!("client of {}", plan.name);
            let client = authority.sign(&name, &[], &BOTH[1..])?;
            let store = authority.keystore("client", &client, password)?;
            files.push(("client.p12".to_owned(), store));
            files.push((
                "client.pem".to_owned(),
                client.certificate.pem().into_bytes(),
            ));
            files.push((
                "client.key".to_owned(),
                client.key.serialize_pem().into_bytes(),
            ));
        }
        Ok(Self { files })
    }

    /// The keystore of a node that joins a cluster whose authority is there already: its certificate and key as PEM.
    pub(super) fn add(
        plan: &ClusterPlan,
        node: &NodePlan,
        (ca, key): (&str, &str),
        password: &str,
    ) -> Result<(String, Vec<u8>), SecureError> {
        Authority::known(&plan.name, ca, key)?.of_node(plan, node, password)
    }
}

/// The authority's certificate.
pub(super) const CA: &str = "ca.pem";

/// The authority's key, for nodes that join later.
pub(super) const CA_KEY: &str = "ca.key";

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

    /// The one of a cluster that is there.
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
    fn of_node(
        &self,
        plan: &ClusterPlan,
        node: &NodePlan,
        password: &str,
    ) -> Result<(String, Vec<u8>), SecureError> {
        let name = format!("{}/{}", plan.name, node.name);
        let holder = self.sign(&name, &[node.address, Ipv4Addr::LOCALHOST], &BOTH)?;
        let store = self.keystore(&node.name, &holder, password)?;
        Ok((format!("{}.p12", node.name), store))
    }

    fn sign(
        &self,
        name: &str,
        addresses: &[Ipv4Addr],
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
        if !addresses.is_empty() {
            let localhost = "localhost".try_into().map_err(failed)?;
            params.subject_alt_names = vec![SanType::DnsName(localhost)];
            let ips = addresses
                .iter()
                .map(|ip| SanType::IpAddress(IpAddr::V4(*ip)));
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
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
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
